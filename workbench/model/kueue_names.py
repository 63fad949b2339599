"""Names that Kueue knows: its annotations and labels on pods, and the levels of a topology."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.model.labels import HOSTNAME_LABEL
from workbench.model.topology import Topology

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
    "TOPOLOGY_ANNOTATIONS",
    "TOPOLOGY_GATE",
    "UNCONSTRAINED",
    "WORKLOAD",
    "is_placed_by_topology",
    "level_names",
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
#: Annotations by which a pod template asks something of the topology.
TOPOLOGY_ANNOTATIONS = (REQUIRED, PREFERRED, UNCONSTRAINED, SLICE_REQUIRED, SLICE_SIZE, CONSTRAINTS, GROUP_NAME)

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


def level_names(topology: Topology, tiers: Sequence[int]) -> list[str]:
    """Name of each tier as a level: the one that its HyperNodes share, else ``tier-2``; no name twice.

    `tiers`: widest first.
    """
    found: list[str] = []
    for tier in tiers:
        names = {topology.tier_names[domain] for domain in topology.domains_at(tier)}
        name = names.pop() if len(names) == 1 else ""
        found.append(name if name and name not in (*found, HOSTNAME_LABEL) else f"tier-{tier}")
    return found
