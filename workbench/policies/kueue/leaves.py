"""`Leaves`: the tree of a topology with its lowest domains, the leaves, which assignments name by their values.

Source: Kueue 0.19, pkg/cache/scheduler/tas_topology_tree.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.model.labels import HOSTNAME_LABEL
from workbench.model.value import Value
from workbench.policies.kueue.level_tree import LevelTree, Path

__all__ = ["Leaves", "leaf_id"]


@dataclass(frozen=True, eq=False)
class Leaves(Value):
    """The tree of a topology and its leaves.

    Nodes whose values down to the lowest level are equal are one leaf. If the lowest level is the hostname, its value
    alone tells leaves apart.

    `levels`: node label keys, widest first. `tree`: the leaves are the domains of its last level. `leaf_of`: leaf of
    each id (`leaf_id`), in the order of the leaves.
    """

    levels: tuple[str, ...]
    tree: LevelTree
    leaf_of: Mapping[str, int]

    @classmethod
    def of(cls, levels: Sequence[str], path_of: Mapping[str, Path]) -> Leaves:
        """The leaves with these paths, by id."""
        tree, order = _tree(path_of, len(levels))
        return cls(tuple(levels), tree, {key: leaf for leaf, key in enumerate(order)})

    @property
    def by_host(self) -> bool:
        """Whether the lowest level is the hostname: a leaf is one node."""
        return self.levels[-1] == HOSTNAME_LABEL

    @property
    def count(self) -> int:
        """Number of leaves."""
        return len(self.leaf_of)

    def values(self, leaf: int) -> Path:
        """Values of a leaf in an assignment: the hostname alone, or the whole path."""
        path = self.tree.paths[-1][leaf]
        return path[-1:] if self.by_host else path

    @property
    def assignment_levels(self) -> tuple[str, ...]:
        """Levels of an assignment: the hostname alone, or all."""
        return self.levels[-1:] if self.by_host else self.levels


def leaf_id(values: Path) -> str:
    """Key of a leaf for the values of an assignment's domain."""
    return ",".join(values)


def _tree(path_of: Mapping[str, Path], depth: int) -> tuple[LevelTree, list[str]]:
    """The tree above leaves of which `path_of` has the path by id, and the ids in the order of the leaves.

    Domains are told apart by their joined values, as upstream does: two with one id are one domain.
    """
    # Per level, top down: id -> (id of the parent, path).
    levels: list[dict[str, tuple[str, Path]]] = [{} for _ in range(depth)]
    levels[-1] = {key: (",".join(path[:-1]), path) for key, path in path_of.items()}
    for level in range(depth - 1, 0, -1):
        for above, path in levels[level].values():
            if above not in levels[level - 1]:
                levels[level - 1][above] = (",".join(path[: level - 1]), path[:level])
    paths: list[tuple[Path, ...]] = []
    parents = []
    index = {"": 0}
    for domains in levels:
        top = not paths
        keyed = sorted((0 if top else index[above], path, key) for key, (above, path) in domains.items())
        parents.append(np.array([above for above, _, _ in keyed], dtype=np.int64))
        paths.append(tuple([path for _, path, _ in keyed]))
        order = [key for _, _, key in keyed]
        index = {key: i for i, key in enumerate(order)}
    return LevelTree.of(tuple(paths), tuple(parents)), order
