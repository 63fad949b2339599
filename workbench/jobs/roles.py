"""Helpers for making gangs from pods: roles from pod specs, their templates, priorities, GPU groups, and notices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from workbench.errors import InputError
from workbench.model.extras import Gather, GpuGroup
from workbench.model.gang import Role
from workbench.model.notice import Notice
from workbench.model.number_text import whole_number
from workbench.objects.admission.gpu_group import GPU_GROUP_NAME_LABEL, GPU_GROUP_REPLICA_LABEL
from workbench.objects.gather import read_gang_groups, read_gather
from workbench.objects.metadata import Metadata
from workbench.objects.pod import Pod, PodSpec, PodTemplate
from workbench.objects.pod_rules import RULES
from workbench.objects.queue import PriorityClass

__all__ = [
    "JOB_CLASS_LABEL",
    "Priorities",
    "RoleTemplate",
    "first_gang_groups",
    "first_gather",
    "gates",
    "gpu_group_of",
    "make_role",
    "nominations",
    "notes_about",
    "read_gpu_group",
]

T = TypeVar("T")

#: Switch affinity: the class of a job (design document "Ascend switch affinity").
JOB_CLASS_LABEL = "tor-affinity"

# Kubernetes creates these two itself, so they are usually not in the input.
_BUILT_IN = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class Priorities:
    """The PriorityClasses of a cluster by name; also remembers unknown names that were looked up."""

    def __init__(self, classes: Mapping[str, PriorityClass]) -> None:
        self._values = _BUILT_IN | {name: c.value for name, c in classes.items()}
        # Of several global defaults the API server takes the smallest.
        self._default = min((c.value for c in classes.values() if c.global_default), default=0)

    def of(self, name: str, notes: list[Notice]) -> int:
        """Value of the PriorityClass `name`; for an unknown class 0, and a notice is appended to `notes`."""
        if not name:
            return self._default
        if name not in self._values:
            text = f"PriorityClass {name} is not in the input: priority 0"
            note = Notice("unknown-priority-class", text, f"PriorityClass {name}")
            if note not in notes:
                notes.append(note)
        return self._values.get(name, 0)


def make_role(
    name: str,
    spec: PodSpec,
    count: int,
    priorities: Priorities,
    notes: list[Notice],
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    min_available: int | None = None,
    first_index: int = 0,
    pod_names: tuple[str, ...] | None = None,
    succeeded: int = 0,
    pods: Sequence[Metadata | None] = (),
) -> Role:
    """Make a role of `count` pending pods that all have one pod spec.

    Parameters
    ----------
    priorities : Priorities
        The cluster's PriorityClasses, for a spec that names a class and has no number.
    notes : list of Notice
        Receives a notice about an unknown PriorityClass.
    labels, annotations : mapping of str to str
        Labels and annotations of the pod template.
    min_available : int, optional
        Pods of the role that have to run; None: the role has no minimum of its own.
    first_index : int
        Number of the first pending pod within the role.
    pod_names : tuple of str, optional
        Names of the pending pods; None: they follow from the role's name and `first_index`.
    succeeded : int
        Pods of the role that have succeeded.
    pods : sequence of Metadata or None
        Metadata of each pending pod, None for a pod that does not exist yet; empty if none exists.
    """
    uids = tuple(pod.uid if pod else "" for pod in pods)
    versions = tuple(pod.resource_version if pod else "" for pod in pods)
    return Role(
        name=name,
        count=count,
        requests=spec.requests,
        container_gpus=spec.container_gpus,
        min_available=min_available,
        filter=spec.filter,
        priority=priorities.of(spec.priority_class, notes) if spec.priority is None else spec.priority,
        first_index=first_index,
        pod_names=pod_names,
        labels=labels,
        annotations=annotations,
        succeeded=succeeded,
        assumed=spec.assumed,
        rules=spec.rules,
        pod_uids=uids if any(uids) else None,
        pod_resource_versions=versions if any(versions) else None,
    )


def notes_about(roles: Iterable[tuple[str, PodSpec]]) -> list[Notice]:
    """One notice for each field of the pods' specs that restricts the choice of nodes but is not modelled.

    Fields that some policies read (`PodRules`) have a code of their own, and those policies leave their notices out.

    `roles` gives the name and pod spec of each role.
    """
    found: dict[str, list[str]] = {}
    for name, spec in roles:
        for field in spec.not_read:
            found.setdefault(field, [])
            if name not in found[field]:
                found[field].append(name)
    told = {field: f"{field} of {', '.join(names)} is not read" for field, names in found.items()}
    return [
        Notice(
            "pod-rules-not-read" if field in RULES else "field-not-read", f"{text} and may narrow the choice of nodes"
        )
        for field, text in told.items()
    ]


def nominations(pods: Iterable[Pod]) -> list[Notice]:
    """A notice if pending pods have a nominated node, because nominations are not followed; otherwise an empty list."""
    names = [pod.metadata.name for pod in pods if pod.nominated and not pod.spec.node_name]
    if not names:
        return []
    text = f"status.nominatedNodeName of {', '.join(names)} is not followed: Volcano tries that node first"
    return [Notice("nomination-not-followed", text, numbers={"count": len(names)})]


def gates(pods: Iterable[Pod]) -> list[Notice]:
    """A notice with the number of pods left out because of a scheduling gate; an empty list if there are none."""
    names = [pod.metadata.name for pod in pods if pod.waits and pod.gated]
    if not names:
        return []
    shown = names if len(names) <= 6 else [*names[:5], f"{len(names) - 5} more"]
    return [
        Notice(
            "scheduling-gates",
            f"scheduling gates hold back {', '.join(shown)}: not tried",
            numbers={"count": len(names)},
        )
    ]


def gpu_group_of(labels: Mapping[str, str]) -> GpuGroup | None:
    """The GPU topology group that a pod's labels name; None if they name none.

    They name none where a label is missing or the replica is no whole number above 0 (docs/reference/gpu-topology.md,
    section A1).
    """
    name, replica = labels.get(GPU_GROUP_NAME_LABEL), whole_number(labels.get(GPU_GROUP_REPLICA_LABEL, ""))
    return GpuGroup(name, replica) if name and replica else None


def read_gpu_group(labels: Mapping[str, str], notes: list[Notice]) -> GpuGroup | None:
    """Return `gpu_group_of` the labels, and add a notice to `notes` if they try in vain to name a group.

    They do where one label stands alone, or the replica is no whole number above 0.
    """
    name, replica = labels.get(GPU_GROUP_NAME_LABEL), labels.get(GPU_GROUP_REPLICA_LABEL)
    if name is None and replica is None:
        return None
    group = gpu_group_of(labels)
    if group is not None:
        return group
    text = f"the labels {GPU_GROUP_NAME_LABEL}={name or ''} and replica={replica or ''} name no GPU group"
    note = Notice("invalid-gpu-group", text)
    if note not in notes:
        notes.append(note)
    return None


def first_gather(annotations: Iterable[Mapping[str, str]], notes: list[Notice]) -> tuple[Gather, ...]:
    """Koordinator's gather rules from the first of several annotation mappings that has any; empty if none has.

    Unreadable rules count as none, and a notice is appended to `notes`.
    """
    return _first_read(annotations, read_gather, "invalid-gather", "no gather rule is followed", notes)


def first_gang_groups(annotations: Iterable[Mapping[str, str]], notes: list[Notice]) -> tuple[str, ...]:
    """Koordinator's gang group from the first of several annotation mappings that names one; empty if none does.

    An unreadable list counts as none, and a notice is appended to `notes`.
    """
    effect = "the gang is placed without its gang group"
    return _first_read(annotations, read_gang_groups, "invalid-gang-groups", effect, notes)


def _first_read(
    annotations: Iterable[Mapping[str, str]],
    read: Callable[[Mapping[str, str]], tuple[T, ...]],
    code: str,
    effect: str,
    notes: list[Notice],
) -> tuple[T, ...]:
    """The first values that `read` finds; what it refuses becomes one notice of this code that says the effect."""
    for row in annotations:
        try:
            values = read(row)
        except InputError as error:
            note = Notice(code, f"{effect}: {error}")
            if note not in notes:
                notes.append(note)
            continue
        if values:
            return values
    return ()


@dataclass(frozen=True)
class RoleTemplate:
    """The pod template of one role of a gang.

    Attributes
    ----------
    role : str
        Name of the role.
    pods : int
        Pods that the object makes of the template, running ones included.
    template : PodTemplate
        Labels, annotations, node selector and affinity.
    pod_index_label : str
        Label with which the controller numbers the pods; empty: it does not.
    sub_group_label : str
        Label with which the controller numbers equal parts of the role, such as the Jobs of an entry of a JobSet;
        empty: the role has no parts.
    sub_groups : int
        Number of these parts; 0: the role has none.
    """

    role: str
    pods: int
    template: PodTemplate
    pod_index_label: str = ""
    sub_group_label: str = ""
    sub_groups: int = 0
