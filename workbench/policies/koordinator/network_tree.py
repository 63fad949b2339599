"""Koordinator's network tree: domains over nodes, the domain that a gang is placed under, and how it is filled.

Source: Koordinator, coscheduling network topology solver; docs/reference/gpu-topology.md, part (b).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key

__all__ = [
    "CLUSTER_LAYER",
    "NODE_LAYER",
    "TreeNode",
    "candidates",
    "comes_before",
    "constrain",
    "distribute",
    "gathered",
    "ordered",
]

CLUSTER_LAYER, NODE_LAYER = "ClusterTopologyLayer", "NodeTopologyLayer"


@dataclass(eq=False)
class TreeNode:
    """A domain of some layer, or a node of the cluster, in the network tree.

    Attributes
    ----------
    parent : TreeNode, optional
        The tree node above; None for a root.
    children : list of TreeNode
        The tree nodes directly below.
    node : int
        Index of a node of the cluster; -1 for domains.
    domain : int
        Index of a domain; -1 for nodes and the whole cluster.
    offer : int
        Number of the gang's pods that this tree node can hold.
    existing : int
        Number of running pods under this tree node that the gang's selector matches.
    score : int
        Sum of the scores of the nodes below.
    """

    name: str
    layer: str
    parent: TreeNode | None = None
    node: int = -1
    domain: int = -1
    offer: int = 0
    existing: int = 0
    score: int = 0
    children: list[TreeNode] = field(default_factory=list)

    def add(self, child: TreeNode) -> TreeNode:
        """Make a node a child of this one; return the child."""
        child.parent = self
        self.children.append(child)
        return child

    def chain(self) -> Iterator[TreeNode]:
        """This tree node and its ancestors, nearest first."""
        at: TreeNode | None = self
        while at is not None:
            yield at
            at = at.parent

    def walk(self) -> Iterator[TreeNode]:
        """This tree node and its descendants, parents first."""
        waiting = [self]
        while waiting:
            at = waiting.pop()
            yield at
            waiting += reversed(at.children)

    def count(self, offer: int, existing: int, score: int = 0) -> None:
        """Add a node's capacity and running pods to this tree node and to all its ancestors.

        `offer`: pods that the node can take. `existing`: number of pods running on the node that the gang's selector
        matches. `score`: the node's score.
        """
        for at in self.chain():
            at.offer += offer
            at.existing += existing
            at.score += score


def constrain(root: TreeNode, multiples: Mapping[str, int]) -> None:
    """Round the number of pods (slots) that each tree node offers down to the multiple that its layer demands.

    ``multiples`` has the multiple of each layer that demands one. A node is rounded before the domain around it, which
    then offers the sum of its children, rounded in turn.
    """
    if not multiples:
        return
    for at in reversed(list(root.walk())):
        if at.children:
            at.offer = sum(child.offer for child in at.children)
        at.offer = _rounded(at.offer, at.layer, multiples)


def _rounded(slots: int, layer: str, multiples: Mapping[str, int]) -> int:
    multiple = max(multiples.get(layer, 1), 1)
    return slots // multiple * multiple


def gathered(root: TreeNode, layer: str) -> list[TreeNode]:
    """Tree nodes of the MustGather layer, one of which must hold the whole gang; the root if `layer` is empty."""
    return [at for at in root.walk() if at.layer == layer] if layer else [root]


def candidates(roots: Iterable[TreeNode], wanted: int) -> list[TreeNode]:
    """Tree nodes of the lowest layer that has some with room for ``wanted`` pods; empty if no root has room.

    Only the children of tree nodes with room are searched.
    """
    found: list[TreeNode] = []
    level = list(roots)
    while level:
        level = [at for at in level if at.offer >= wanted]
        found = level or found
        level = [child for at in level for child in at.children]
    return found


def comes_before(a: TreeNode, b: TreeNode, fewer_first: bool) -> bool:
    """Whether tree node `a` is preferred to tree node `b`.

    More running pods of the same selector come first, compared level by level upwards from the two; then fewer (or
    more) slots, level by level upwards; then the higher score; then the smaller name.

    `fewer_first`: whether fewer slots come before more.
    """
    for one, other in zip(a.chain(), b.chain(), strict=False):
        if one.existing != other.existing:
            return one.existing > other.existing
    for one, other in zip(a.chain(), b.chain(), strict=False):
        if one.offer != other.offer:
            return (one.offer < other.offer) == fewer_first
    if a.score != b.score:
        return a.score > b.score
    return a.name.encode() < b.name.encode()


def ordered(some: Sequence[TreeNode], fewer_first: bool) -> list[TreeNode]:
    """Sort tree nodes of one layer by preference, as `comes_before` compares them."""

    def compare(a: TreeNode, b: TreeNode) -> int:
        return -1 if comes_before(a, b, fewer_first) else 1

    return sorted(some, key=cmp_to_key(compare))


def distribute(at: TreeNode, wanted: int, multiples: Mapping[str, int]) -> list[tuple[TreeNode, int]]:
    """Distribute ``wanted`` pods over the nodes below a tree node, greedily: children that hold most come first.

    The number of pods below each tree node is rounded down to the multiple of its layer.

    `wanted`: pods to place below it. `multiples`: per layer the number that the pods of one domain must be a multiple
    of. Returns list of (TreeNode, int): every cluster node below `at` in the order of filling, with the pods that it
    takes (0 for nodes not needed).
    """
    wanted = _rounded(min(at.offer, wanted), at.layer, multiples)
    if not at.children:
        return [(at, wanted)] if at.layer == NODE_LAYER else []
    taken: list[tuple[TreeNode, int]] = []
    for child in ordered(at.children, fewer_first=False):
        below = distribute(child, wanted, multiples)
        wanted -= sum(count for _, count in below)
        taken += below
    return taken
