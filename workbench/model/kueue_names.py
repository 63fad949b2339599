"""Names of Kueue's annotations and labels on pods."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "CONSTRAINTS",
    "GROUP_NAME",
    "INDEX_OFFSET",
    "MIN_PARALLELISM",
    "POD_SET_LABEL",
    "PREFERRED",
    "QUEUE_NAME",
    "REQUIRED",
    "SLICE_REQUIRED",
    "SLICE_SIZE",
    "TOPOLOGY_GATE",
    "UNCONSTRAINED",
    "WORKLOAD",
    "is_placed_by_topology",
]

_PREFIX = "kueue.x-k8s.io/"

REQUIRED = f"{_PREFIX}podset-required-topology"
PREFERRED = f"{_PREFIX}podset-preferred-topology"
UNCONSTRAINED = f"{_PREFIX}podset-unconstrained-topology"
SLICE_REQUIRED = f"{_PREFIX}podset-slice-required-topology"
SLICE_SIZE = f"{_PREFIX}podset-slice-size"
CONSTRAINTS = f"{_PREFIX}podset-slice-required-topology-constraints"
GROUP_NAME = f"{_PREFIX}podset-group-name"
INDEX_OFFSET = f"{_PREFIX}pod-index-offset"

#: Annotation of a Job: fewest pods with which it may be admitted.
MIN_PARALLELISM = f"{_PREFIX}job-min-parallelism"
#: Label of a job and its pods: the LocalQueue.
QUEUE_NAME = f"{_PREFIX}queue-name"
#: Annotation of a pod: its Workload.
WORKLOAD = f"{_PREFIX}workload"
#: Label of a pod: its pod set.
POD_SET_LABEL = f"{_PREFIX}podset"
#: Scheduling gate of pods that wait for their topology.
TOPOLOGY_GATE = f"{_PREFIX}topology"

#: Annotations of the pods that Kueue places by topology.
_PLACED = (REQUIRED, PREFERRED, SLICE_REQUIRED, CONSTRAINTS, UNCONSTRAINED)


def is_placed_by_topology(annotations: Mapping[str, str]) -> bool:
    """Whether a pod with these annotations is one of those that Kueue places by topology."""
    return any(name in annotations for name in _PLACED)
