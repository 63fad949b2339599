"""`gang_of_job`: convert a Volcano Job to a gang; dependsOn of its tasks decides which pods that can have at first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.jobs.group_pods import SubGroups, min_sub_groups
from workbench.jobs.lifecycle.dependencies import is_met
from workbench.jobs.membership import ROLE_LABEL, role_of
from workbench.jobs.pod_group_of_job import pod_group_of_job
from workbench.jobs.roles import Priorities, RoleTemplate, gates, make_role, nominations, notes_about
from workbench.jobs.sub_groups import PARTITION_LABEL, partition_id
from workbench.jobs.template_extras import extras_of_templates
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role
from workbench.model.notice import Notice
from workbench.objects.job import Job, Task
from workbench.objects.metadata import Metadata
from workbench.objects.partition import SubGroupPolicy
from workbench.objects.pod import Pod
from workbench.objects.pod_group import ALLOCATED_HYPERNODE_ANNOTATION, PodGroup

__all__ = ["gang_of_job"]


def gang_of_job(job: Job, pods: Sequence[Pod], group: PodGroup | None, priorities: Priorities) -> Gang | None:
    """The pending pods of a Volcano Job as a gang.

    Returns None if no pod is pending.

    Parameters
    ----------
    job : Job
        The Job, which admission must have accepted.
    pods : sequence of Pod
        The Job's existing pods. Those with a node and those that succeeded count towards the minimum; failed and
        terminating ones neither count nor are placed again; pending ones are placed, except gated ones.
    group : PodGroup, optional
        The Job's PodGroup, which records the HyperNode where the Job was allocated before; None if it does not exist.
    """
    notes = notes_about((task.name, task.template.spec) for task in job.tasks) + nominations(pods) + gates(pods)
    started = [pod for pod in pods if pod.spec.node_name or pod.finished]
    gated = [pod for pod in pods if pod.waits and pod.gated]
    # Upstream defaults every task's minimum to its replicas; only where some task sets one can that matter, because
    # otherwise the minimums add up to more than minAvailable and are not looked at, or to exactly all pods.
    own_minimums = any(task.min_available is not None or task.minimum < task.replicas for task in job.tasks)
    waiting = {pod.metadata.name: pod.metadata for pod in pods if pod.pending}
    roles = [_role(job, task, [*started, *gated], waiting, own_minimums, priorities, notes) for task in job.tasks]
    if not any(role.count for role in roles):
        return None
    roles = _with_dependencies(job, roles, pods)
    made = pod_group_of_job(job, priorities)
    policies = made.sub_group_policies
    parts = _sub_groups(job, policies, roles, [*started, *gated])
    sub_groups = parts.make()
    templates = [RoleTemplate(task.name, task.replicas, task.template) for task in job.tasks]
    extras = extras_of(
        VolcanoMemory(
            record=(group.record if group else "") or job.metadata.annotations.get(ALLOCATED_HYPERNODE_ANNOTATION, ""),
            min_resources=(group or made).min_resources,
            inqueue=group is not None and group.inqueue,
        ),
        *extras_of_templates(job.metadata, templates, notes),
    )
    return Gang(
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        roles=tuple(roles),
        min_available=job.min_available,
        constraint=job.constraint,
        queue=job.queue,
        priority=priorities.of(job.priority_class, notes),
        kind="Job",
        ready=sum(pod.phase != "Failed" and not pod.terminating for pod in started),
        succeeded=tuple(parts.succeeded),
        failed=tuple(parts.failed),
        gated=tuple(parts.gated),
        sub_groups=sub_groups,
        min_subgroups=min_sub_groups(policies),
        sub_grouped=bool(policies),
        created=(group.metadata.created if group else "") or job.metadata.created,
        notes=tuple(notes),
        uid=job.metadata.uid,
        resource_version=job.metadata.resource_version,
        extras=extras,
    )


def _sub_groups(
    job: Job, policies: Sequence[SubGroupPolicy], roles: Sequence[Role], existing: Sequence[Pod]
) -> SubGroups:
    """The sub-groups of a Job's pods; a pending pod counts with the partition label it will get."""
    found = SubGroups(policies)
    for pod in existing:
        found.add_started(pod, {**pod.metadata.labels, ROLE_LABEL: role_of(pod)})
    position = 0
    for task, role in zip(job.tasks, roles, strict=True):
        size = task.partition.partition_size if task.partition else 0
        for offset in range(role.count if size else 0):
            name = role.pod_names[offset] if role.pod_names else ""
            index = int(name.rpartition("-")[2]) if name else role.first_index + offset
            labels = {ROLE_LABEL: task.name, PARTITION_LABEL: partition_id(index, size)}
            found.add_pending(position + offset, labels)
        position += role.count
    return found


def _role(
    job: Job,
    task: Task,
    not_tried: Sequence[Pod],
    waiting: Mapping[str, Metadata],
    own_minimums: bool,
    priorities: Priorities,
    notes: list[Notice],
) -> Role:
    """The pending pods of a Job's task as a role; notices about the pods are appended to `notes`.

    `not_tried`: existing pods of the Job that are not placed again; the role has one pending pod less for each of the
    task's. `waiting`: metadata of the pending pods that exist already, by name. `own_minimums`: the minimums of single
    tasks apply in addition to the Job's.
    """
    prefix = f"{job.metadata.name}-{task.name}-"
    taken = {pod.metadata.name for pod in not_tried if (role_of(pod) or task.name) == task.name}
    if not taken:
        free: Sequence[int] = range(task.replicas)
    else:
        mine = {name for name in taken if name.startswith(prefix) or len(job.tasks) == 1}
        free = [i for i in range(task.replicas) if f"{prefix}{i}" not in mine]
        # Pods with names of their own also stand for one index each: the last ones.
        strangers = sum(1 for name in mine if not name.removeprefix(prefix).isdigit())
        free = free[: max(len(free) - strangers, 0)]
    contiguous = len(free) == 0 or free[-1] - free[0] + 1 == len(free)
    return make_role(
        task.name,
        task.template.spec,
        len(free),
        priorities,
        notes,
        labels=task.template.labels,
        annotations=task.template.annotations,
        min_available=task.minimum if own_minimums else None,
        first_index=free[0] if free else 0,
        pod_names=None if contiguous else tuple(f"{prefix}{i}" for i in free),
        succeeded=sum(pod.phase == "Succeeded" and (role_of(pod) or task.name) == task.name for pod in not_tried),
        pods=[waiting.get(f"{prefix}{i}") for i in free] if waiting else (),
    )


def _with_dependencies(job: Job, roles: Sequence[Role], pods: Sequence[Pod]) -> list[Role]:
    """The roles of a Job, one for each task in order, with the dependencies that are not met yet.

    A dependency is met if minAvailable pods of its task have a node or succeeded: they run or are about to.
    """
    if not any(task.depends_on for task in job.tasks):
        return list(roles)
    started: dict[str, int] = {}
    pending: dict[str, int] = {}
    for pod in pods:
        if pod.pending:
            pending[role_of(pod)] = pending.get(role_of(pod), 0) + 1
        elif pod.counts:
            started[role_of(pod)] = started.get(role_of(pod), 0) + 1
    minimums = {task.name: task.minimum for task in job.tasks}
    found = []
    for task, role in zip(job.tasks, roles, strict=True):
        needs = task.depends_on
        if needs is not None and not is_met(needs, lambda name: _runs(name, started, minimums)):
            role = replace(
                role,
                depends_on=needs.names,
                depends_on_any=needs.any_of and len(needs.names) > 1,
                n_created=min(pending.get(task.name, 0), role.count),
            )
        found.append(role)
    return found


def _runs(name: str, started: Mapping[str, int], minimums: Mapping[str, int]) -> bool:
    return name in minimums and started.get(name, 0) >= minimums[name]
