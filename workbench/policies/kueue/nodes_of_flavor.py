"""The nodes of a flavor as leaves of the topology tree: which nodes count, and what a pod set's constraints exclude.

Source: Kueue 0.19, pkg/cache/scheduler, tas_topology_tree.go and scheduling_simulator_default.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.model.labels import NodeLabels, NodeTaints, Taint, Toleration
from workbench.model.node_keys import HOSTNAME_LABEL
from workbench.model.value import Value
from workbench.policies.kueue.domain_tree import DomainTree, Path, path_key
from workbench.policies.kueue.values import Flavor, Node, PodSet

__all__ = ["FlavorNodes", "is_node_of_flavor"]

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_REPELLING = ("NoSchedule", "NoExecute")


def is_node_of_flavor(node: Node, node_labels: Mapping[str, str], levels: Sequence[str]) -> bool:
    """Whether pods of a flavor may go to a node: it is ready and not cordoned, has the labels and a value per level."""
    if not node.ready or node.unschedulable:
        return False
    labels = node.labels
    return all(labels.get(key) == value for key, value in node_labels.items()) and all(key in labels for key in levels)


@dataclass(frozen=True, eq=False)
class FlavorNodes(Value):
    """The tree of the nodes of a flavor.

    Nodes whose values down to the lowest level are equal are one leaf. If the lowest level is the hostname, its value
    alone tells leaves apart, and a leaf has the path, labels and taints of the first of its nodes.

    Attributes
    ----------
    levels : tuple of str
    tree : DomainTree
        The leaves are the domains of its last level.
    nodes : tuple of tuple of Node
        Nodes of each leaf.
    leaf_of : mapping of str to int
        Leaf of each id (`leaf_id`).
    """

    levels: tuple[str, ...]
    tree: DomainTree
    nodes: tuple[tuple[Node, ...], ...]
    leaf_of: Mapping[str, int]

    @classmethod
    def of(cls, levels: Sequence[str], flavor: Flavor, nodes: Sequence[Node]) -> FlavorNodes:
        """The tree of those `nodes` that are nodes of the flavor."""
        by_id: dict[str, list[Node]] = {}
        path_of: dict[str, Path] = {}
        by_host = levels[-1] == HOSTNAME_LABEL
        for node in nodes:
            if is_node_of_flavor(node, flavor.node_labels, levels):
                path = tuple([node.labels[key] for key in levels])
                key = path[-1] if by_host else ",".join(path)
                path_of.setdefault(key, path)
                by_id.setdefault(key, []).append(node)
        tree, order = _tree(path_of, len(levels))
        return cls(
            tuple(levels), tree, tuple([tuple(by_id[key]) for key in order]), {k: i for i, k in enumerate(order)}
        )

    @property
    def by_host(self) -> bool:
        """Whether the lowest level is the hostname: a leaf is one node."""
        return self.levels[-1] == HOSTNAME_LABEL

    @property
    def n_leaves(self) -> int:
        return len(self.nodes)

    def leaf_id(self, values: Path) -> str:
        """Key of `leaf_of` for the values of an assignment's domain."""
        return ",".join(values)

    def values(self, leaf: int) -> Path:
        """Values of a leaf in an assignment: the hostname alone, or the whole path."""
        path = self.tree.paths[-1][leaf]
        return path[-1:] if self.by_host else path

    @property
    def assignment_levels(self) -> tuple[str, ...]:
        """Levels of an assignment: the hostname alone, or all."""
        return self.levels[-1:] if self.by_host else self.levels

    @cached_property
    def labels(self) -> NodeLabels:
        """Labels of each leaf's first node, by column."""
        first = [nodes[0] for nodes in self.nodes]
        return NodeLabels.from_rows([node.name for node in first], [node.labels for node in first])

    @cached_property
    def taints(self) -> NodeTaints:
        """Taints of each leaf's first node."""
        return NodeTaints.from_rows([nodes[0].taints for nodes in self.nodes])

    def feasible(self, pods: PodSet, tolerations: tuple[Toleration, ...]) -> tuple[Mask, Counter[str]]:
        """Leaves that the pods' tolerations, node selector and required node affinity accept.

        Parameters
        ----------
        pods : PodSet
        tolerations : tuple of Toleration
            Those of the pods and of the flavor.

        Returns
        -------
        mask : ndarray of shape (n,), bool
        excluded : Counter
            Excluded leaves by the first condition that failed, as Kueue's messages name it.
        """
        left = np.ones(self.n_leaves, dtype=np.bool_)
        excluded: Counter[str] = Counter()
        if not self.by_host:
            return left, excluded
        repels = [_untolerated(taints, tolerations) for taints in self.taints.sets]
        for code, taint in enumerate(repels):
            if taint is not None:
                here = self.taints.codes == code
                excluded[_taint_text(taint)] += int(here.sum())
                left &= ~here
        for name, accepted in (("nodeSelector", self._selected(pods)), ("affinity", self._affine(pods))):
            if accepted is not None:
                excluded[name] += int((left & ~accepted).sum())
                left &= accepted
        return left, excluded

    def _selected(self, pods: PodSet) -> Mask | None:
        if not pods.node_selector:
            return None
        wanted = np.ones(self.n_leaves, dtype=np.bool_)
        for key, value in pods.node_selector.items():
            codes, values = self.labels.columns.get(key, (np.full(self.n_leaves, -1, dtype=np.int32), ()))
            wanted &= codes == (values.index(value) if value in values else -2)
        return wanted

    def _affine(self, pods: PodSet) -> Mask | None:
        if not pods.required_affinity:
            return None
        accepted = np.zeros(self.n_leaves, dtype=np.bool_)
        for term in pods.required_affinity:
            if term:  # an empty term selects nothing
                accepted |= np.logical_and.reduce([self.labels.mask(requirement) for requirement in term])
        return accepted

    def affinity_scores(self, pods: PodSet) -> Longs:
        """Sum of the weights of the preferred node affinity terms that hold on each leaf: int64 (n,)."""
        scores = np.zeros(self.n_leaves, dtype=np.int64)
        if self.by_host:
            for term in pods.preferred_affinity:
                if term.match:
                    holds = np.logical_and.reduce([self.labels.mask(requirement) for requirement in term.match])
                    scores += term.weight * holds
        return scores


def _tree(path_of: Mapping[str, Path], depth: int) -> tuple[DomainTree, list[str]]:
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
    paths, parents, index = [], [], {"": 0}
    for domains in levels:
        order = sorted(domains, key=lambda key: (index[domains[key][0]] if paths else 0, path_key(domains[key][1])))
        parents.append(np.array([index[domains[key][0]] if paths else 0 for key in order], dtype=np.int64))
        paths.append(tuple([domains[key][1] for key in order]))
        index = {key: i for i, key in enumerate(order)}
    return DomainTree(tuple(paths), tuple(parents)), order


def _untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """First taint that keeps pods away and that no toleration covers; None: there is none."""
    for taint in taints:
        if taint.effect in _REPELLING and not any(each.covers(taint) for each in tolerations):
            return taint
    return None


def _taint_text(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f'taint "{taint.key}{value}:{taint.effect}"'
