"""Kinds of apps/v1 read from manifests: `Deployment` (StatefulSets too) with Volcano's gang annotations, and
`ReplicaOwner`, a ReplicaSet or StatefulSet that creates pods without a Volcano Job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workbench.model.labels import Requirement
from workbench.model.notice import Notice
from workbench.objects.fields import get_count, get_map, get_text
from workbench.objects.metadata import Metadata, read_metadata
from workbench.objects.pod import PodTemplate, read_template
from workbench.objects.selectors import read_label_selector

__all__ = [
    "MIN_MEMBER_ANNOTATION",
    "QUEUE_ANNOTATION",
    "Deployment",
    "ReplicaOwner",
    "min_member_notes",
    "min_member_of",
    "read_deployment",
    "read_replica_owner",
    "scheduler_notes",
]

#: Annotation of the Deployment itself: number of pods that must be placed together.
MIN_MEMBER_ANNOTATION = "scheduling.volcano.sh/group-min-member"
#: Annotations of the pod template.
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
_INT32_MAX = 2**31 - 1
# An integer as Go reads it: a sign, no blanks, no underscores. With more digits it is out of range or has leading
# zeros.
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True)
class Deployment:
    """A Deployment or a StatefulSet as read from a manifest; `replicas` is 1 if absent."""

    metadata: Metadata
    replicas: int
    template: PodTemplate
    kind: Literal["Deployment", "StatefulSet"] = "Deployment"

    @property
    def min_member(self) -> int:
        """Number of the Deployment's pods that must be placed together, from the annotation group-min-member
        (`min_member_of`).
        """
        return min_member_of(self.metadata.annotations)


def min_member_of(annotations: Mapping[str, str]) -> int:
    """Value of the annotation group-min-member; 1 if it is absent, negative or not a 32-bit integer, and 0 if it is 0.

    `annotations` are those of the object that owns the pods; the template's are not read. Source:
    docs/reference/volcano-jobs.md, section 6.
    """
    number = _min_member(annotations)
    return 1 if number is None else number


def min_member_notes(annotations: Mapping[str, str]) -> list[Notice]:
    """A notice if the annotation group-min-member is no number of pods, with the value used instead.

    Else an empty list.
    """
    if MIN_MEMBER_ANNOTATION not in annotations or _min_member(annotations) is not None:
        return []
    text = annotations[MIN_MEMBER_ANNOTATION]
    message = f"annotation {MIN_MEMBER_ANNOTATION} is {text!r}, no whole number from 0 to {_INT32_MAX}: 1 is taken"
    return [Notice("invalid-annotation", message)]


def _min_member(annotations: Mapping[str, str]) -> int | None:
    text = annotations.get(MIN_MEMBER_ANNOTATION, "")
    number = int(text) if _INTEGER.fullmatch(text) else -1
    return number if 0 <= number <= _INT32_MAX else None


def read_deployment(data: Mapping[str, Any]) -> Deployment:
    """Read a Deployment or a StatefulSet from a parsed manifest; raises InputError for a field of the wrong type."""
    spec = get_map(data, "spec", "")
    replicas = get_count(spec, "replicas", "spec", default=1)
    template = read_template(spec, "spec")
    kind: Literal["Deployment", "StatefulSet"] = "StatefulSet" if data.get("kind") == "StatefulSet" else "Deployment"
    return Deployment(read_metadata(data, namespaced=True), replicas, template, kind)


def scheduler_notes(template: PodTemplate) -> list[Notice]:
    """A notice if the pods of a Deployment or StatefulSet name no scheduler, so that a cluster's own takes them."""
    if template.spec.scheduler:
        return []
    text = "spec.template.spec.schedulerName is missing: in a cluster Kubernetes' own scheduler takes the pods"
    return [Notice("no-scheduler-name", f"{text}; they are placed here all the same", "spec.template.spec")]


_REVISION_LABEL = "controller-revision-hash"


@dataclass(frozen=True)
class ReplicaOwner:
    """A ReplicaSet or StatefulSet as read from a manifest.

    `revision`: the newest revision of a StatefulSet (status.updateRevision); None for a ReplicaSet.
    """

    metadata: Metadata
    replicas: int
    selector: tuple[Requirement, ...]
    revision: str | None = None

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether the selector matches a pod's labels.

        For a StatefulSet the pod must also be of the newest revision.
        """
        newest = self.revision is None or labels.get(_REVISION_LABEL) == self.revision
        return newest and all(requirement.holds(labels) for requirement in self.selector)


def read_replica_owner(data: Mapping[str, Any]) -> ReplicaOwner:
    """Read a ReplicaSet or StatefulSet from a parsed manifest; raises InputError for a field of the wrong type."""
    spec, status = get_map(data, "spec", ""), get_map(data, "status", "")
    return ReplicaOwner(
        metadata=read_metadata(data, namespaced=True),
        replicas=get_count(spec, "replicas", "spec", default=1),
        selector=read_label_selector(get_map(spec, "selector", "spec"), "spec.selector"),
        revision=get_text(status, "updateRevision", "status") if data.get("kind") == "StatefulSet" else None,
    )
