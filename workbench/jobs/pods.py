"""Gangs made from pods without a Job: those of a PodGroup, those of a GPU group, and pods on their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench.jobs.group_pods import SubGroups, min_sub_groups
from workbench.jobs.membership import gang_name, role_of
from workbench.jobs.min_resources import min_resources_of_pods
from workbench.jobs.roles import (
    JOB_CLASS_LABEL,
    Priorities,
    first_gang_groups,
    first_gather,
    gates,
    make_role,
    nominations,
    notes_about,
    read_gpu_group,
)
from workbench.model.extras import AscendWish, GpuGroup, KoordinatorWish, VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, pod_index
from workbench.model.notice import Notice
from workbench.model.number_text import whole_number
from workbench.objects.admission.gpu_group import GANG_MINIMUM_ANNOTATION
from workbench.objects.deployment import QUEUE_ANNOTATION
from workbench.objects.fields import shown
from workbench.objects.partition import SubGroupPolicy
from workbench.objects.pod import Pod, PodTemplate
from workbench.objects.pod_group import PodGroup, labelled_pod_group
from workbench.objects.topology_spec import constraint_from_annotations

if TYPE_CHECKING:
    from workbench.model.kube_group import KubeGroup

__all__ = ["gang_of_koordinator_group", "gang_of_pod_group", "gangs_of_lone_pods", "group_of_lone_pod"]

#: Role of pods that name none.
UNNAMED_ROLE = "pod"

#: Endings of the names of labels whose value is different for each pod of a job, such as its index.
_OF_ONE_POD = ("-index", "/pod-name")

_NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})


def gang_of_pod_group(key: str, group: PodGroup | None, pods: Sequence[Pod], priorities: Priorities) -> Gang | None:
    """The pending pods of a PodGroup as a gang; None if no pod is pending.

    `key`: ``namespace/name`` of the group. `group`: None if pods name the group, but it is not in the input; it then
    counts as one without a minimum.
    """
    kube = group.kube if group is not None else _absent(pods)
    pending = sorted((pod for pod in pods if pod.pending), key=_task_key if kube is None else _arrival_key)
    if not pending:
        return None
    namespace, _, name = key.partition("/")
    notes = notes_about((role_of(pod) or UNNAMED_ROLE, pod.spec) for pod in pending) + nominations(pending)
    notes += gates(pods)
    if group is None:
        text = f"PodGroup {key} is not in the input: min_available 1, no topology constraint, queue default"
        notes.append(Notice("unknown-pod-group", text, f"PodGroup {key}"))
    minimums = group.min_task_member if group else {}
    policies = group.sub_group_policies if group else ()
    # kube-scheduler does not hear of pods that have ended.
    started = [pod for pod in pods if (pod.counts if kube is None else pod.runs)]
    # Volcano stores a negative minMember and has no use for it.
    min_available = 1 if group is None or group.min_member is None else max(0, group.min_member)
    roles = _roles(pending, minimums, priorities, notes, started, min_available, by_labels=kube is not None)
    groups = _sub_groups(policies, roles, pods)
    sub_groups = groups.make()
    annotations = [*([group.metadata.annotations] if group else []), *_annotations(pending)]
    gather, gang_groups = first_gather(annotations, notes), first_gang_groups(annotations, notes)
    priority = priorities.of(group.priority_class, notes) if group else 0
    if kube is not None and kube.priority is not None:
        priority = kube.priority
    gpu_group = _common_gpu_group(pending, notes)
    return Gang(
        namespace=namespace,
        name=name,
        roles=roles,
        min_available=min_available,
        constraint=group.constraint if group else None,
        queue=group.queue if group else "default",
        priority=priority,
        kind="PodGroup",
        ready=len(started),
        succeeded=tuple(groups.succeeded),
        failed=tuple(groups.failed),
        gated=tuple(groups.gated),
        sub_groups=sub_groups,
        min_subgroups=min_sub_groups(policies),
        sub_grouped=bool(policies),
        created=group.metadata.created if group else "",
        order=_order(roles, pending),
        uid=group.metadata.uid if group else "",
        resource_version=group.metadata.resource_version if group else "",
        notes=tuple(notes),
        extras=extras_of(
            VolcanoMemory(group.record, group.min_resources, group.inqueue) if group is not None else VolcanoMemory(),
            KoordinatorWish(gpu_group, gather, gang_groups),
            AscendWish(_job_class(pending)),
            *([kube.since(pod.metadata.created for pod in pending)] if kube is not None else []),
        ),
    )


def _absent(pods: Sequence[Pod]) -> KubeGroup | None:
    """What is known of a PodGroup that is not in the input, if pods name it as one of scheduling.k8s.io."""
    if not any(pod.group for pod in pods):
        return None
    from workbench.model.kube_group import KubeGroup

    return KubeGroup(absent=True)


def gangs_of_lone_pods(pods: Iterable[Pod], priorities: Priorities) -> list[Gang]:
    """Gangs of pending pods without an owner: one per GPU group, one per Koordinator gang, and one per other pod.

    The minimum is 1 for a GPU group without gang annotations (docs/koordinator.md), and for a gang without
    min-available.
    """
    gangs = []
    groups: dict[tuple[str, GpuGroup | str], list[Pod]] = {}
    running: dict[tuple[str, GpuGroup | str], int] = {}
    for pod in pods:
        notes = notes_about([(pod.metadata.name, pod.spec)]) + nominations([pod])
        key = (pod.metadata.namespace, group_of_lone_pod(pod, notes))
        if key[1] and pod.runs:
            running[key] = running.get(key, 0) + 1
        if not pod.pending:
            continue
        if key[1]:
            groups.setdefault(key, []).append(pod)
        else:
            gangs.append(_single(pod, priorities, notes))
    for key, members in groups.items():
        gangs.append(_group(*key, members, running.get(key, 0), priorities))
    return gangs


def gang_of_koordinator_group(group: PodGroup, pods: Sequence[Pod], priorities: Priorities) -> Gang | None:
    """The pending pods of a PodGroup of Koordinator as a gang, like pods with its annotations; None without any."""
    pending = sorted((pod for pod in pods if pod.pending), key=lambda pod: pod.metadata.name.encode())
    if not pending:
        return None
    notes = notes_about((pod.metadata.name, pod.spec) for pod in pending) + nominations(pending) + gates(pods)
    return _gang_of(
        group.metadata.namespace,
        group.metadata.name,
        pending,
        priorities,
        notes,
        kind="Gang",
        min_available=1 if group.min_member is None else group.min_member,
        gpu_group=_common_gpu_group(pending, notes),
        ready=sum(pod.runs for pod in pods),
        group_annotations=group.metadata.annotations,
    )


def group_of_lone_pod(pod: Pod, notes: list[Notice]) -> GpuGroup | str:
    """The GPU group of a pod without an owner, or else the name of its Koordinator gang; empty if it has neither.

    A notice about labels that name no valid group is appended to `notes`.
    """
    return read_gpu_group(pod.metadata.labels, notes) or gang_name(pod.metadata)


def _single(pod: Pod, priorities: Priorities, notes: list[Notice]) -> Gang:
    return _gang_of(
        pod.metadata.namespace,
        pod.metadata.name,
        [pod],
        priorities,
        notes,
        kind="Pod",
        min_available=1,
        min_resources=min_resources_of_pods(PodTemplate(pod.spec, {}, {}), 1),
    )


def _group(namespace: str, group: GpuGroup | str, pods: Sequence[Pod], ready: int, priorities: Priorities) -> Gang:
    notes = notes_about((pod.metadata.name, pod.spec) for pod in pods)
    name = group if isinstance(group, str) else group.name
    if isinstance(group, GpuGroup) and ready + len(pods) != group.replica:
        text = f"GPU group {name} wants {group.replica} pods, the input has {ready + len(pods)}"
        numbers = {"wants": group.replica, "has": ready + len(pods)}
        notes.append(Notice("gpu-group-size", text, f"GPU group {name}", numbers))
    written = pods[0].metadata.annotations.get(GANG_MINIMUM_ANNOTATION)
    minimum = whole_number(written or "")
    if written is not None and minimum is None:
        pod = pods[0].metadata.name
        text = f"{GANG_MINIMUM_ANNOTATION} of {pod} is {shown(written)}, no whole number: 1 is taken"
        notes.append(Notice("invalid-annotation", text, f"Pod {namespace}/{pod}"))
    if written is None and name == labelled_pod_group(pods[0].metadata.labels):
        text = f"the input has no PodGroup {name} of Koordinator, so minMember is unknown: one pod is enough"
        notes.append(Notice("gang-minimum-unknown", text, f"PodGroup {namespace}/{name}"))
    return _gang_of(
        namespace,
        name,
        pods,
        priorities,
        notes,
        kind="Gang" if isinstance(group, str) else "GpuGroup",
        min_available=1 if minimum is None else minimum,
        gpu_group=None if isinstance(group, str) else group,
        ready=ready,
    )


def _gang_of(
    namespace: str,
    name: str,
    pods: Sequence[Pod],
    priorities: Priorities,
    notes: list[Notice],
    *,
    kind: str,
    min_available: int,
    gpu_group: GpuGroup | None = None,
    ready: int = 0,
    min_resources: Mapping[str, int] | None = None,
    group_annotations: Mapping[str, str] = _NO_ANNOTATIONS,
) -> Gang:
    """Make a gang of pods without a Job; settings of the whole gang are read from its first pod.

    Koordinator's settings are read from `group_annotations` first, which are those of the gang's PodGroup. `notes`
    become the gang's notices. The other arguments are the fields of `Gang` and `Role` of these names.
    """
    roles = _roles(pods, {}, priorities, notes)
    annotations = pods[0].metadata.annotations
    every = [group_annotations, *_annotations(pods)]
    gather, gang_groups = first_gather(every, notes), first_gang_groups(every, notes)
    return Gang(
        namespace=namespace,
        name=name,
        roles=roles,
        min_available=min_available,
        constraint=constraint_from_annotations(annotations),
        queue=annotations.get(QUEUE_ANNOTATION) or "default",
        priority=max(role.priority for role in roles),
        kind=kind,
        ready=ready,
        created=pods[0].metadata.created if kind == "Pod" else "",
        notes=tuple(notes),
        uid=pods[0].metadata.uid if kind == "Pod" else "",
        resource_version=pods[0].metadata.resource_version if kind == "Pod" else "",
        extras=extras_of(
            VolcanoMemory(min_resources=min_resources),
            KoordinatorWish(gpu_group, gather, gang_groups),
            AscendWish(_job_class(pods)),
        ),
    )


def _annotations(pods: Sequence[Pod]) -> list[Mapping[str, str]]:
    return [pod.metadata.annotations for pod in pods]


def _roles(
    pods: Sequence[Pod],
    minimums: Mapping[str, int],
    priorities: Priorities,
    notes: list[Notice],
    started: Sequence[Pod] = (),
    min_available: int = 0,
    *,
    by_labels: bool = False,
) -> tuple[Role, ...]:
    """Group pods with equal specs into roles; a second spec under one role name becomes the role ``role#2``.

    With `by_labels` the pods of a role have equal labels, too, but for those that tell single pods apart.

    Pods that name no role become roles ``pod``, ``pod-2`` and so on, without a minimum. `started` are the pods that
    already count towards the gang's minimum. `minimums` are the minimums of the role names; if their sum exceeds
    `min_available` they are ignored, except that the sum still exceeds it.
    """
    counted = Counter(map(role_of, started))
    succeeded = Counter(role_of(pod) for pod in started if pod.phase == "Succeeded")
    looked_at = sum(minimums.values()) <= min_available
    shapes: dict[str, list[list[Pod]]] = {}
    labels: dict[str, Mapping[str, str]] = {}
    for pod in pods:
        of_role = shapes.setdefault(role_of(pod), [])
        mine = labels[pod.metadata.name] = _shared_labels(pod) if by_labels else _NO_ANNOTATIONS
        alike = next((s for s in of_role if s[0].spec == pod.spec and labels[s[0].metadata.name] == mine), None)
        if alike is None:
            of_role.append([pod])
        else:
            alike.append(pod)
    roles = []
    for name, groups in shapes.items():
        of_shapes = _minimums(minimums.get(name), counted[name], [len(alike) for alike in groups])
        if of_shapes is None and not looked_at:
            of_shapes = [minimums[name], *[None] * (len(groups) - 1)]
        elif of_shapes is None:
            text = (
                f"the pods of role {name} differ, so its minimum of {minimums[name]} is not kept for the whole role; "
                "give them equal specs or roles of different names"
            )
            notes.append(Notice("role-minimum-not-kept", text, f"role {name}", {"minimum": minimums[name]}))
        for number, alike in enumerate(groups, 1):
            first = alike[0]
            roles.append(
                make_role(
                    (name or UNNAMED_ROLE) + (f"{'#' if name else '-'}{number}" if number > 1 else ""),
                    first.spec,
                    len(alike),
                    priorities,
                    notes,
                    labels=first.metadata.labels,
                    annotations=first.metadata.annotations,
                    min_available=of_shapes[number - 1] if of_shapes else None,
                    pod_names=tuple(pod.metadata.name for pod in alike),
                    pods=[pod.metadata for pod in alike],
                    succeeded=succeeded[name] if number == 1 else 0,
                )
            )
    # A role without pending pods still has its minimum: running pods meet it, or nobody does.
    roles += [
        Role(name, 0, {}, min_available=minimum, succeeded=succeeded[name])
        for name, minimum in minimums.items()
        if name not in shapes and minimum > 0
    ]
    return tuple(roles)


def _task_key(pod: Pod) -> tuple[bool, int, str, bytes]:
    """Sort key of a pod among those of equal priority: index in its name, creation time, name (Volcano: uid).

    Volcano compares indices only between two pods that both have one; here pods without an index come last. A pod that
    does not exist yet counts as younger than all others.
    """
    index = pod_index(pod.metadata.name)
    return index is None, index or 0, pod.metadata.created or "~", pod.metadata.name.encode()


def _arrival_key(pod: Pod) -> tuple[str, bytes]:
    """Sort key of a pod as kube-scheduler tries a group: creation time, then name; one still to be made is last."""
    return pod.metadata.created or "~", pod.metadata.name.encode()


def _shared_labels(pod: Pod) -> Mapping[str, str]:
    """Labels of a pod without those that number or name a single pod, such as its index in a StatefulSet."""
    return {key: value for key, value in pod.metadata.labels.items() if not key.endswith(_OF_ONE_POD)}


def _order(roles: Sequence[Role], pending: Sequence[Pod]) -> tuple[str, ...]:
    """Names of the pending pods in the order in which they are tried; empty if all have one role."""
    if len([role for role in roles if role.count]) < 2:
        return ()
    return tuple(pod.metadata.name for pod in pending)


def _minimums(minimum: int | None, started: int, counts: Sequence[int]) -> list[int | None] | None:
    """Split the minimum of a role name among the roles into which its pods were divided by spec.

    `started` is the number of pods that already count; they count for the first role. `counts` is the number of pods of
    each role. None if there is no such split, because some pods are needed of whichever spec.
    """
    if minimum is None or len(counts) == 1 or minimum <= started:
        return [minimum, *[None] * (len(counts) - 1)]
    if minimum >= started + sum(counts):
        return [minimum - sum(counts[1:]), *counts[1:]]
    return None


def _sub_groups(policies: Sequence[SubGroupPolicy], roles: Sequence[Role], pods: Sequence[Pod]) -> SubGroups:
    found = SubGroups(policies)
    labels = {pod.metadata.name: pod.metadata.labels for pod in pods}
    for pod in pods:
        found.add_started(pod, pod.metadata.labels)
    position = 0
    for role in roles if policies else ():
        for name in role.pod_names or ():
            found.add_pending(position, labels[name])
            position += 1
    return found


def _job_class(pods: Sequence[Pod]) -> str:
    return next((p.metadata.labels[JOB_CLASS_LABEL] for p in pods if JOB_CLASS_LABEL in p.metadata.labels), "")


def _common_gpu_group(pods: Sequence[Pod], notes: list[Notice]) -> GpuGroup | None:
    groups = {read_gpu_group(pod.metadata.labels, notes) for pod in pods}
    return groups.pop() if len(groups) == 1 else None
