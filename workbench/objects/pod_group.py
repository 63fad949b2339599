"""`PodGroup` of Volcano, of Koordinator and of the scheduler plugins, read from a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.model.gang import TopologyConstraint
from workbench.objects.fields import child, get_int, get_map, get_text, wrong
from workbench.objects.metadata import Metadata, StatusCondition, read_metadata, read_status_conditions
from workbench.objects.partition import SubGroupPolicy, read_sub_group_policies
from workbench.objects.quantity import read_resources
from workbench.objects.topology_spec import read_constraint

if TYPE_CHECKING:
    from workbench.model.kube_group import KubeGroup

__all__ = [
    "ALLOCATED_HYPERNODE_ANNOTATION",
    "GROUP_NAME_ANNOTATION",
    "KOORDINATOR_GROUPS",
    "POD_GROUP_LABELS",
    "PodGroup",
    "labelled_pod_group",
    "read_counts",
    "read_koordinator_pod_group",
    "read_pod_group",
]

#: Annotation of a pod: the PodGroup that it belongs to.
GROUP_NAME_ANNOTATION = "scheduling.k8s.io/group-name"
#: API groups of the PodGroups of Koordinator and the scheduler plugins.
KOORDINATOR_GROUPS = ("scheduling.sigs.k8s.io", "scheduling.x-k8s.io")
#: Labels of a pod, the first that is there counts: the PodGroup of Koordinator that it belongs to.
POD_GROUP_LABELS = ("pod-group.scheduling.sigs.k8s.io", "scheduling.x-k8s.io/pod-group")
#: Annotation of a PodGroup: the HyperNode where 1.13 placed it before (docs/reference/volcano-topology.md, section 4).
ALLOCATED_HYPERNODE_ANNOTATION = "volcano.sh/job-allocated-hypernode"


@dataclass(frozen=True)
class PodGroup:
    """A PodGroup as read from a manifest.

    `min_member` None means absent, which counts as 1; `min_resources` is None and `phase` empty if absent.
    `koordinator` tells whether it is Koordinator's, whose pods name it by a label, and of which only `metadata` and
    `min_member` are read. `kube` is what a PodGroup of scheduling.k8s.io says beside, whose pods name it in
    spec.schedulingGroup; None: it is of another API group.
    """

    metadata: Metadata
    min_member: int | None
    min_task_member: Mapping[str, int]
    queue: str
    priority_class: str
    constraint: TopologyConstraint | None
    sub_group_policies: tuple[SubGroupPolicy, ...] = ()
    min_resources: Mapping[str, int] | None = None
    phase: str = ""
    conditions: tuple[StatusCondition, ...] = ()
    koordinator: bool = False
    kube: KubeGroup | None = None

    @property
    def inqueue(self) -> bool:
        """Whether Volcano's action enqueue has admitted the PodGroup to its queue."""
        return self.phase == "Inqueue"

    @property
    def record(self) -> str:
        """Name of the HyperNode in which an earlier session allocated the PodGroup, from its annotation.

        Empty if none.
        """
        return self.metadata.annotations.get(ALLOCATED_HYPERNODE_ANNOTATION, "")


def read_pod_group(data: Mapping[str, Any]) -> PodGroup:
    """Read a PodGroup from a parsed manifest; raises InputError for a field of the wrong type."""
    spec = get_map(data, "spec", "")
    metadata = read_metadata(data, namespaced=True)
    submitted = not metadata.stored
    return PodGroup(
        metadata=metadata,
        min_member=get_int(spec, "minMember", "spec"),
        min_task_member=read_counts(spec, "minTaskMember", "spec"),
        queue=get_text(spec, "queue", "spec") or "default",
        priority_class=get_text(spec, "priorityClassName", "spec"),
        constraint=read_constraint(spec, "spec", submitted=submitted),
        sub_group_policies=read_sub_group_policies(spec, "spec", submitted=submitted),
        min_resources=read_resources(spec, "minResources", "spec") or None,
        phase=get_text(get_map(data, "status", ""), "phase", "status"),
        conditions=read_status_conditions(data),
    )


def labelled_pod_group(labels: Mapping[str, str]) -> str:
    """The name of the PodGroup of Koordinator or the scheduler plugins in a pod's labels; empty: none."""
    return next((name for label in POD_GROUP_LABELS if (name := labels.get(label))), "")


def read_koordinator_pod_group(data: Mapping[str, Any]) -> PodGroup:
    """Read a PodGroup of Koordinator or of the scheduler plugins from a parsed manifest.

    The timeout of waiting pods (scheduleTimeoutSeconds) is checked and has no effect: a session takes no time.

    Raises InputError: a field of the wrong type, or a negative number.
    """
    spec = get_map(data, "spec", "")
    for name in ("minMember", "scheduleTimeoutSeconds"):
        if (get_int(spec, name, "spec") or 0) < 0:
            raise wrong(child("spec", name), spec[name], "0 or more")
    read_resources(spec, "minResources", "spec")
    minimum = get_int(spec, "minMember", "spec")
    return PodGroup(read_metadata(data, namespaced=True), minimum, {}, "default", "", None, koordinator=True)


def read_counts(data: Mapping[str, Any], key: str, where: str) -> dict[str, int]:
    """Read a field that maps names to whole numbers, such as minTaskMember; returns an empty dict if it is absent.

    `data`: the mapping that has the field. `where`: path of `data`, for error messages.
    """
    counts = get_map(data, key, where)
    for name, value in counts.items():
        if type(value) is not int:
            raise wrong(f"{child(where, key)}[{name!r}]", value, "a whole number")
    return counts
