"""`owned_gangs`: the gangs of a top owner, of which some pods may exist already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.jobs.group_pods import SubGroups, min_sub_groups
from workbench.jobs.membership import role_of
from workbench.jobs.owned.plan import PlannedGang, PlannedRole
from workbench.jobs.owned.rules import planned_gangs, pod_group_of, pods_by_gang
from workbench.jobs.roles import Priorities, gates, make_role, nominations, notes_about
from workbench.jobs.template_extras import extras_of_templates
from workbench.model.extras import RoleSize, RoleSizes, VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.notice import Notice
from workbench.objects.deployment import QUEUE_ANNOTATION
from workbench.objects.metadata import Metadata
from workbench.objects.pod import Pod
from workbench.objects.pod_group import PodGroup
from workbench.objects.top_owner import TopOwner
from workbench.objects.topology_spec import constraint_from_annotations

__all__ = ["OwnedGang", "owned_gangs"]


@dataclass(frozen=True)
class OwnedGang:
    """One gang of a top owner.

    `key`: ``namespace/name`` of the gang. `pods`: its existing pods, in any state. `group`: the PodGroup that its pods
    name; None: they name none that exists, or several. `gang`: its pending pods; None: none is pending.
    """

    key: str
    pods: tuple[Pod, ...]
    group: PodGroup | None
    queue: str
    gang: Gang | None


def owned_gangs(
    owner: TopOwner, pods: Sequence[Pod], groups: Mapping[str, PodGroup], priorities: Priorities
) -> Iterator[OwnedGang]:
    """The gangs of a top owner, with those that run or that it does not ask for any more.

    Minimum, queue, priority, topology constraint and sub-groups are those of the PodGroup that the pods name, if there
    is one; else those that the object and its templates give.

    `pods`: its existing pods, in any state. `groups`: PodGroups by ``namespace/name``.
    """
    plans = {plan.name: plan for plan in planned_gangs(owner, pods)}
    for name, mine in pods_by_gang(owner, pods).items():
        plan, group = plans.get(name), pod_group_of(mine, groups)
        gang = None if plan is None else _gang(owner, plan, mine, group, priorities)
        key = f"{owner.metadata.namespace}/{name}"
        yield OwnedGang(key, tuple(mine), group, _queue(owner, plan, group), gang)


def _is_volcanos(group: PodGroup | None) -> bool:
    """Whether a PodGroup is one of Volcano, which alone have a queue and a topology constraint."""
    return group is not None and not group.koordinator and group.kube is None


def _queue(owner: TopOwner, plan: PlannedGang | None, group: PodGroup | None) -> str:
    if group is not None and _is_volcanos(group):
        return group.queue
    if plan is not None and plan.queue:
        return plan.queue
    rows = [owner.metadata.annotations, *(template.annotations for template in owner.templates)]
    return next((row[QUEUE_ANNOTATION] for row in rows if row.get(QUEUE_ANNOTATION)), "default")


def _gang(
    owner: TopOwner, plan: PlannedGang, pods: Sequence[Pod], group: PodGroup | None, priorities: Priorities
) -> Gang | None:
    notes = [*owner.notes, *plan.notes]
    notes += notes_about((role.of.role, role.of.template.spec) for role in plan.roles)
    notes += nominations(pods) + gates(pods)
    of_role: dict[str, list[Pod]] = {}
    for pod in pods:
        of_role.setdefault(role_of(pod), []).append(pod)
    if len(plan.roles) == 1:
        # Whatever their labels say, they are of this one.
        of_role = {plan.roles[0].of.role: list(pods)}
    places = [_Places(role, of_role.pop(role.of.role, [])) for role in plan.roles]
    roles = [one.role(priorities, notes) for one in places]
    roles += [_role_of_pods(name, mine, priorities, notes) for name, mine in of_role.items() if _pending(mine)]
    if not any(role.count for role in roles):
        return None
    volcano = group if _is_volcanos(group) else None
    kube = group.kube if group is not None else None
    sub_groups, minimums = _sub_groups(volcano, roles, pods)
    return Gang(
        namespace=owner.metadata.namespace,
        name=plan.name,
        roles=tuple(roles),
        min_available=_minimum(plan, group),
        constraint=volcano.constraint if volcano else _constraint(plan),
        queue=_queue(owner, plan, group),
        priority=_priority(plan, group, roles, priorities, notes),
        sub_groups=sub_groups,
        min_subgroups=minimums,
        sub_grouped=bool(volcano and volcano.sub_group_policies),
        kind=owner.kind,
        ready=sum(one.running for one in places),
        created=(volcano.metadata.created if volcano else "") or owner.metadata.created,
        uid=owner.metadata.uid,
        resource_version=owner.metadata.resource_version,
        notes=tuple(dict.fromkeys(notes)),
        extras=extras_of(
            VolcanoMemory(volcano.record, volcano.min_resources, volcano.inqueue) if volcano else VolcanoMemory(),
            *([kube.since(pod.metadata.created for pod in _pending(pods))] if kube is not None else []),
            RoleSizes(
                tuple(
                    RoleSize(each.name, each.field, each.count, each.unit, each.beside)
                    for each in owner.pods
                    if each.field
                )
            ),
            *extras_of_templates(owner.metadata, [role.of for role in plan.roles], notes),
        ),
    )


class _Places:
    """The pods of a role that are to run, of which some exist already.

    `pods`: existing pods of the role. Finished and terminating ones are replaced by new ones. `running`: pods that have
    a node, at most as many as are to run.
    """

    def __init__(self, planned: PlannedRole, pods: Sequence[Pod]) -> None:
        self._planned = planned
        self._free: dict[str, Metadata | None] = dict.fromkeys(planned.pod_names)
        self.running = 0
        left = []
        for pod in pods:
            if pod.finished or pod.terminating:
                continue
            name = pod.metadata.name
            # Many controllers add random characters to the name of a place.
            place = next((one for one in (name, name.rpartition("-")[0]) if self._is_free(one)), None)
            if place is None:
                left.append(pod)
            else:
                self._put(place, pod)
        spare = [place for place, pod in self._free.items() if pod is None] if left else []
        for pod in left:
            if spare:
                self._put(spare.pop(), pod)
            elif pod.pending:
                # One more than the object asks for: its controller will delete one, nobody knows which.
                self._free[pod.metadata.name] = pod.metadata

    def _is_free(self, place: str) -> bool:
        return place in self._free and self._free[place] is None

    def _put(self, place: str, pod: Pod) -> None:
        if pod.pending:
            self._free[place] = pod.metadata
        else:
            del self._free[place]
            self.running += pod.runs

    def role(self, priorities: Priorities, notes: list[Notice]) -> Role:
        """The pending pods as a role; what its spec leaves open becomes notices in `notes`."""
        of, waiting = self._planned.of, list(self._free.values())
        return make_role(
            of.role,
            of.template.spec,
            len(waiting),
            priorities,
            notes,
            labels=of.template.labels,
            annotations=of.template.annotations,
            min_available=self._planned.min_available,
            first_index=max(len(self._planned.pod_names) - len(waiting), 0),
            pod_names=tuple(pod.name if pod else place for place, pod in self._free.items()),
            pods=waiting if any(waiting) else (),
        )


def _pending(pods: Sequence[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.pending]


def _role_of_pods(name: str, pods: Sequence[Pod], priorities: Priorities, notes: list[Notice]) -> Role:
    """A role of the pending ones among pods of which the object says nothing, such as the one that submits a RayJob."""
    pending = _pending(pods)
    first = pending[0]
    return make_role(
        name or "pod",
        first.spec,
        len(pending),
        priorities,
        notes,
        labels=first.metadata.labels,
        annotations=first.metadata.annotations,
        pod_names=tuple(pod.metadata.name for pod in pending),
        pods=[pod.metadata for pod in pending],
    )


def _minimum(plan: PlannedGang, group: PodGroup | None) -> int:
    """Pods that have to run: what was asked for, but no more than are to run once some have succeeded."""
    asked = plan.min_available if group is None else max(1 if group.min_member is None else group.min_member, 0)
    if asked is None:
        return plan.pods
    return asked if asked > sum(role.of.pods for role in plan.roles) else min(asked, plan.pods)


def _constraint(plan: PlannedGang) -> TopologyConstraint | None:
    if plan.constraint is not None:
        return plan.constraint
    found = (constraint_from_annotations(role.of.template.annotations) for role in plan.roles)
    return next((one for one in found if one is not None), None)


def _priority(
    plan: PlannedGang, group: PodGroup | None, roles: Sequence[Role], priorities: Priorities, notes: list[Notice]
) -> int:
    """Priority of the gang: that of the PodGroup or of its PriorityClass, else that of the first role that has one."""
    if group is not None and group.kube is not None and group.kube.priority is not None:
        return group.kube.priority
    name = (group.priority_class if group else "") or plan.priority_class
    if name:
        return priorities.of(name, notes)
    specs = (role.of.template.spec for role in plan.roles)
    own = (number for number, spec in enumerate(specs) if spec.priority is not None or spec.priority_class)
    return roles[next(own, 0)].priority


def _sub_groups(
    group: PodGroup | None, roles: Sequence[Role], pods: Sequence[Pod]
) -> tuple[tuple[SubGroup, ...], dict[str, int]]:
    """Sub-groups of the PodGroup, and how many of each policy are needed; a pod counts once it exists."""
    policies = group.sub_group_policies if group else ()
    found = SubGroups(policies)
    labels = {pod.metadata.name: pod.metadata.labels for pod in pods}
    for pod in pods if policies else ():
        found.add_started(pod, pod.metadata.labels)
    position = 0
    for role in roles if policies else ():
        for name in role.pod_names or ():
            if name in labels:
                found.add_pending(position, labels[name])
            position += 1
    return found.make(), min_sub_groups(policies)
