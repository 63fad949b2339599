"""`GangTree`: gangs as a tree of groups of kube-scheduler, and their pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat

from workbench.model.cluster_facts import ClusterFacts
from workbench.model.gang import Gang, SubGroup
from workbench.model.kube_group import KubeGroup
from workbench.model.notice import Notice
from workbench.policies.kube.groups.group_pods import GroupPod
from workbench.policies.kube.groups.hierarchy import Hierarchy, KubePodGroup, group_key
from workbench.policies.kube.groups.levels import level_key
from workbench.policies.kube.reading import leaving_pods, minimum, positions_in_order
from workbench.policies.kube.shape import PodShape

__all__ = ["GangTree", "root_of"]

#: Name of the group of pods that belong to no sub-group, behind that of the gang.
_REST = "/others"


def root_of(gang: Gang) -> str:
    """Name of the root of the tree that a gang belongs to: the uppermost composite, or the gang itself."""
    parents = gang.extra(KubeGroup).parents
    return parents[-1].name if parents else gang.name


@dataclass
class GangTree:
    """Gangs of one root group.

    `pods`: pending pods, and those that run. `place`: dict of GroupPod to (int, int); position of the gang in `gangs`,
    and of a pending pod in the gang. `counted`: pods of each PodGroup that count towards its minimum and have no node
    here, such as succeeded ones. `notices`: what kube-scheduler cannot express of a gang, by its position.
    """

    gangs: tuple[Gang, ...]
    groups: Hierarchy = field(init=False)
    root: KubePodGroup = field(init=False)
    pods: list[GroupPod] = field(default_factory=list)
    place: dict[GroupPod, tuple[int, int]] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    notices: dict[int, tuple[Notice, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, gangs: Sequence[Gang], snapshot: ClusterFacts) -> GangTree:
        """The tree of gangs that have one root (`root_of`) in one namespace.

        `snapshot`: its running pods of the gangs pin the domain.
        """
        tree = cls(tuple(gangs))
        groups: dict[str, KubePodGroup] = {}
        for number, gang in enumerate(tree.gangs):
            for group in (*_composites(gang), *tree._read(number, snapshot)):
                groups.setdefault(group.key, group)
        created = {group_key(gang.namespace, gang.name): gang.created for gang in gangs}
        for gang in gangs:
            for parent in gang.extra(KubeGroup).parents:
                created[group_key(gang.namespace, parent.name, composite=True)] = parent.created
        if len(created) > 1:
            # Children are tried by the time at which they were created, then by name; sub-groups stay in their order.
            order = sorted(groups, key=lambda key: (created.get(key) or "~", groups[key].name.encode()))
            groups = {key: groups[key] for key in order}
        tree.groups = Hierarchy(groups.values())
        name, first = root_of(gangs[0]), gangs[0]
        composite = bool(first.extra(KubeGroup).parents or first.sub_groups)
        tree.root = tree.groups[group_key(first.namespace, name, composite)]
        return tree

    def _read(self, number: int, snapshot: ClusterFacts) -> list[KubePodGroup]:
        """Groups of one gang, and its pods."""
        gang = self.gangs[number]
        wish = gang.extra(KubeGroup)
        key, notices = level_key(gang.constraint, snapshot.topology)
        key = wish.topology_key or key
        members = snapshot.running_index.gangs.get(gang.key, ())
        running = [pod for pod in members if pod.node >= 0 and not pod.terminating]
        if not gang.sub_groups:
            needed = None if wish.basic else minimum(gang)
            group = KubePodGroup(
                gang.name,
                gang.namespace,
                min_count=needed,
                topology_key=key,
                parent=wish.parent,
                priority=gang.priority,
                preemption_policy=wish.preemption_policy,
                falls_whole=wish.falls_whole,
            )
            self._add(number, range(gang.n_pods), group)
            leaving = leaving_pods(gang, snapshot)
            running += [pod for pod in leaving if pod.node >= 0]
            self.pods += [
                GroupPod(pod.name, PodShape.of_running(pod), group.key, gang.priority, node=pod.node) for pod in running
            ]
            self.notices[number] = notices
            self.counted[group.key] = max(gang.ready + len(leaving) - len(running), 0)
            return [group]
        children = []
        for each in sorted(gang.sub_groups, key=lambda one: (one.match_index, one.name.encode())):
            own, more = level_key(each.constraint, snapshot.topology)
            notices += tuple(notice for notice in more if notice not in notices)
            children.append(self._child(gang, each.name, own, each.min_available))
            self._add(number, each.pods, children[-1])
            names = frozenset(each.running)
            self.counted[children[-1].key] = len(each.succeeded)
            self.pods += [
                GroupPod(pod.name, PodShape.of_running(pod), children[-1].key, gang.priority, node=pod.node)
                for pod in running
                if pod.name in names
            ]
        inside = {pod for each in gang.sub_groups for pod in each.pods}
        rest = [pod for pod in range(gang.n_pods) if pod not in inside]
        if rest:
            children.append(self._child(gang, gang.name + _REST, "", 1))
            self._add(number, rest, children[-1])
        if any(each.exclusive_domain for each in gang.sub_groups):
            text = "kube-scheduler keeps no domain for one sub-group: exclusive domains have no effect"
            notices += (Notice("not-expressed", text),)
        self.notices[number] = notices
        least = _least_sub_groups(gang, len(children))
        root = KubePodGroup(
            gang.name, gang.namespace, composite=True, min_count=least, topology_key=key, priority=gang.priority
        )
        return [root, *children]

    def _child(self, gang: Gang, name: str, key: str, needed: int) -> KubePodGroup:
        return KubePodGroup(
            name,
            gang.namespace,
            min_count=max(needed, 1),
            topology_key=key,
            parent=gang.name,
            priority=gang.priority,
        )

    def _add(self, number: int, positions: Sequence[int], group: KubePodGroup) -> None:
        """Pending pods of a gang, as members of a group."""
        gang = self.gangs[number]
        where = list(positions)
        turns = where
        if gang.order:
            turn_of = {position: turn for turn, position in enumerate(positions_in_order(gang))}
            turns = [turn_of[position] for position in where]
        roles = gang.role_of_pod[where].tolist()
        shapes = {role: PodShape.of_role(gang, gang.roles[role]) for role in dict.fromkeys(roles)}
        key, priorities = group.key, [role.priority for role in gang.roles]
        pods = [
            GroupPod(str(position), shapes[role], key, priorities[role], 0, turn, role=role)
            for position, role, turn in zip(where, roles, turns, strict=True)
        ]
        self.pods += pods
        self.place.update(zip(pods, zip(repeat(number), where), strict=True))


def _composites(gang: Gang) -> list[KubePodGroup]:
    """The CompositePodGroups above a gang."""
    return [
        KubePodGroup(
            parent.name,
            gang.namespace,
            composite=True,
            min_count=parent.min_count,
            topology_key=parent.topology_key,
            parent=parent.parent,
            priority=parent.priority or 0,
            preemption_policy=parent.preemption_policy,
            falls_whole=parent.falls_whole,
        )
        for parent in gang.extra(KubeGroup).parents
    ]


def _least_sub_groups(gang: Gang, n_children: int) -> int:
    """Sub-groups that must be placed: as many as the gang says, and enough of the largest to have its minimum."""
    sizes = sorted((_size(each) for each in gang.sub_groups), reverse=True)
    needed, pods = 0, 0
    while needed < len(sizes) and pods < gang.min_available:
        pods += sizes[needed]
        needed += 1
    said = sum(gang.min_subgroups.values())
    return min(max(needed, said, 1), n_children)


def _size(group: SubGroup) -> int:
    return len(group.pods) + len(group.running)
