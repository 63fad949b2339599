"""`KubePodGroup`, the group object of scheduling.k8s.io, and `Hierarchy`, the trees that they form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Hierarchy", "KubePodGroup"]


@dataclass(frozen=True)
class KubePodGroup:
    """A PodGroup (whose members are pods) or a CompositePodGroup (whose members are groups).

    Attributes
    ----------
    composite : bool
        Whether it is a CompositePodGroup.
    min_count : int, optional
        Members that must be placed together: minCount of a gang, minGroupCount of a composite one; None: a basic group,
        for which one member is enough.
    topology_key : str
        Label key of the nodes that all members must share a value of; empty: no constraint.
    parent : str
        Name of the CompositePodGroup that the group belongs to; empty: it is a root.
    preemption_policy : str
        ``Never`` or ``PreemptLowerPriority``; empty: the latter.
    falls_whole : bool
        disruptionMode all: preemption removes all pods of the group or none.
    """

    name: str
    namespace: str = ""
    composite: bool = False
    min_count: int | None = None
    topology_key: str = ""
    parent: str = ""
    priority: int = 0
    preemption_policy: str = ""
    falls_whole: bool = False

    @property
    def minimum(self) -> int:
        """Members that must be placed; one for a basic group."""
        return 1 if self.min_count is None else self.min_count

    @cached_property
    def key(self) -> str:
        """Identity of the group: kind, namespace and name, as the scheduler's messages write it."""
        return group_key(self.namespace, self.name, self.composite)

    @property
    def parent_key(self) -> str:
        """Identity of the parent; empty: the group is a root."""
        return group_key(self.namespace, self.parent, True) if self.parent else ""


def group_key(namespace: str, name: str, composite: bool = False) -> str:
    """Identity of a group by its names.

    `namespace`, `name`, `composite`: of the group; whether it is a CompositePodGroup.
    """
    return f"{'compositepodgroup' if composite else 'podgroup'}/{namespace}/{name}"


class Hierarchy:
    """The groups that exist, and the trees that they form.

    `groups`: in order of creation, in which the children of a composite are tried.
    """

    def __init__(self, groups: Iterable[KubePodGroup] = ()) -> None:
        self._groups: dict[str, KubePodGroup] = {}
        for group in groups:
            self._groups[group.key] = group

    def __contains__(self, key: str) -> bool:
        return key in self._groups

    def __getitem__(self, key: str) -> KubePodGroup:
        return self._groups[key]

    def __iter__(self) -> Iterator[KubePodGroup]:
        return iter(self._groups.values())

    @cached_property
    def _children(self) -> dict[str, list[KubePodGroup]]:
        found: dict[str, list[KubePodGroup]] = {}
        for group in self:
            if group.parent:
                found.setdefault(group.parent_key, []).append(group)
        return found

    def children(self, group: KubePodGroup) -> list[KubePodGroup]:
        """Children of a composite in order of creation; none of a PodGroup."""
        return self._children.get(group.key, [])

    def path(self, key: str) -> list[KubePodGroup] | str:
        """Groups from one of them up to its root.

        Returns list of PodGroup, or str: identity of the first group on the way that does not exist.
        """
        found: list[KubePodGroup] = []
        while key:
            if key not in self._groups or any(group.key == key for group in found):
                return key
            found.append(self._groups[key])
            key = found[-1].parent_key
        return found

    def root(self, key: str) -> KubePodGroup | None:
        """Root of the tree that a group belongs to; None: the group, or one above it, does not exist."""
        path = self.path(key)
        return None if isinstance(path, str) else path[-1]

    def leaves(self, group: KubePodGroup) -> list[KubePodGroup]:
        """PodGroups of the tree below a group, itself if it is one, in the order in which they are tried."""
        if not group.composite:
            return [group]
        return [leaf for child in self.children(group) for leaf in self.leaves(child)]

    def below(self, group: KubePodGroup) -> list[KubePodGroup]:
        """The group and all groups under it, parents first."""
        return [group, *(each for child in self.children(group) for each in self.below(child))]
