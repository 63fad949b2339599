"""Build a `Topology` from a complete set of HyperNode objects, as Volcano builds its tree.

`resolve_tree` works on names alone: what each HyperNode contains, which HyperNode is its parent, and which problems
keep the HyperNodes from being a tree. `build_topology` numbers the result, and `Nesting` tells which HyperNode is
inside another. Nothing depends on the order of the objects.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.model.arrays import Ints, distinct
from workbench.model.counted import some
from workbench.model.topology import DomainSpec, Problem, Topology
from workbench.objects.hypernode import HyperNode, resolve_members
from workbench.objects.selectors import NameIndex

__all__ = ["Nesting", "ResolvedTree", "build_topology", "cut_cycles", "resolve_tree"]

# A tree with one of these problems is never ready in Volcano (docs/reference/volcano-topology.md, section 2.2); the
# other problems only mislead.
_BREAKS_READINESS = frozenset({"cycle", "two-parents"})


@dataclass(frozen=True, eq=False)
class ResolvedTree:
    """Parents, nodes and problems of HyperNodes by name, before nodes and HyperNodes are numbered.

    Attributes
    ----------
    names : tuple of str
        Nodes by position: the nodes of the cluster, then names that members mention and the cluster lacks.
    known : int
        Number of these names that are nodes of the cluster.
    nodes : mapping of str to ndarray of shape (m,), int32
        Positions of the nodes under each HyperNode, in any order, possibly repeated.
    parent : mapping of str to str
        Parent of each HyperNode that has one.
    problems : tuple of Problem
        In byte order of HyperNode, then as found.
    nesting : Nesting
        Containment of the HyperNodes.
    """

    names: tuple[str, ...]
    known: int
    nodes: Mapping[str, Ints]
    parent: Mapping[str, str]
    tier: Mapping[str, int]
    problems: tuple[Problem, ...]
    nesting: Nesting

    @property
    def ready(self) -> bool:
        """Whether Volcano would schedule with this HyperNode tree."""
        return not any(problem.code in _BREAKS_READINESS for problem in self.problems)


def resolve_tree(
    hypernodes: Iterable[HyperNode],
    node_names: Sequence[str],
    node_labels: Sequence[Mapping[str, str]] = (),
    index: NameIndex | None = None,
) -> ResolvedTree:
    """Find the nodes, parents and problems of a set of HyperNodes.

    Source: docs/reference/volcano-topology.md, sections 2.1 and 2.2. Upstream depends on the order of events; here, of
    two parents the one with the smaller tier, then the smaller name keeps the child; a cycle is cut above its HyperNode
    of the highest tier, then of the larger name. A link that was cut adds no nodes.

    `hypernodes`: HyperNodes with distinct names, in any order. `node_names`: names of the cluster's nodes, distinct.
    `node_labels`: labels of each node; needed for label selectors only. `index`: an existing index of these names and
    labels, which remembers the matches of patterns; None: one is built.
    """
    by_name = {h.name: h for h in sorted(hypernodes, key=lambda h: h.name.encode())}
    index = NameIndex(node_names, node_labels) if index is None else index
    selectors = (selector for h in by_name.values() for selector in h.node_selectors)
    index.prepare(selector.pattern for selector in selectors if selector.pattern is not None)
    names = list(node_names)
    extra: dict[str, int] = {}
    problems: list[Problem] = []
    own: dict[str, list[int]] = {}
    children: dict[str, list[str]] = {}
    for name, hypernode in by_name.items():
        nodes, unknown, listed = resolve_members(hypernode, index)
        dangling = [child for child in listed if child not in by_name]
        children[name] = [child for child in listed if child in by_name]
        if dangling:
            problems.append(Problem("dangling-member", name, f"{name} lists {some('HyperNode', dangling)}, not there"))
        if unknown:
            problems.append(Problem("dangling-member", name, f"{name} lists {some('node', unknown)}, not there"))
        if not nodes and not unknown and not listed:
            text = f"{name} has no node: its members select none" if hypernode.members else f"{name} has no member"
            problems.append(Problem("empty-member", name, text))
        for node in unknown:
            if node not in extra:
                extra[node] = len(names)
                names.append(node)
            nodes.append(extra[node])
        own[name] = nodes
    parent = _parents(by_name, children, problems)
    tier = {name: h.tier for name, h in by_name.items()}
    order, cycles = cut_cycles(tier, parent)
    problems += cycles
    nesting = Nesting(order, parent)
    problems += _overlaps(own, nesting, names)
    problems.sort(key=lambda p: p.domain.encode())
    return ResolvedTree(
        names=tuple(names),
        known=len(node_names),
        nodes=_sets(own, parent, order),
        parent=parent,
        tier=tier,
        problems=tuple(problems),
        nesting=nesting,
    )


def build_topology(
    hypernodes: Iterable[HyperNode], node_names: Sequence[str], node_labels: Sequence[Mapping[str, str]] = ()
) -> Topology:
    """Build the `Topology` of a cluster from its HyperNodes and nodes.

    Returns Topology: its nodes have an order of their own; names that are not nodes of the cluster are dropped from the
    sets. Whatever keeps the HyperNodes from being a tree is listed in `problems` (docs/decisions.md, decision 14).

    `hypernodes`, `node_names`, `node_labels`: as for `resolve_tree`.
    """
    hypernodes = list(hypernodes)
    tree = resolve_tree(hypernodes, node_names, node_labels)
    nodes = tree.nodes
    if len(tree.names) > tree.known:
        nodes = {name: some[some < tree.known] for name, some in tree.nodes.items()}
    specs = [DomainSpec(h.name, h.tier, nodes[h.name], tree.parent.get(h.name, ""), h.tier_name) for h in hypernodes]
    return Topology.build(node_names, specs, tree.problems, tree.ready)


def _parents(
    by_name: Mapping[str, HyperNode], children: Mapping[str, list[str]], problems: list[Problem]
) -> dict[str, str]:
    parent: dict[str, str] = {}
    # by_name is in byte order and sorting is stable: ties go to the smaller name.
    for name in sorted(by_name, key=lambda n: by_name[n].tier):
        for child in children[name]:
            first = parent.setdefault(child, name)
            if first != name:
                text = f"{child} already has a parent {first}, and cannot have another parent {name}"
                problems.append(Problem("two-parents", child, text))
            elif by_name[child].tier >= by_name[name].tier and child != name:
                text = f"{child} of tier {by_name[child].tier} is inside {name} of tier {by_name[name].tier}"
                problems.append(Problem("tier-order", child, text))
    return parent


def cut_cycles(tier: Mapping[str, int], parent: dict[str, str]) -> tuple[list[str], list[Problem]]:
    """Remove the links from `parent` that close a cycle.

    Each cycle is cut above its HyperNode of the highest tier; ties: the larger name.

    `tier`: tier of every HyperNode, in byte order of names. `parent`: parent of each HyperNode that has one; changed in
    place.

    Returns
    -------
    order : list of str
        Every HyperNode before its parent.
    problems : list of Problem
    """
    problems = []
    state = dict.fromkeys(tier, 0)
    root_first: list[str] = []
    for name in tier:
        path = []
        while state[name] == 0:
            state[name] = 1
            path.append(name)
            if name not in parent:
                break
            name = parent[name]
        else:
            if state[name] == 1:
                cycle = path[path.index(name) :]
                top = max(cycle, key=lambda n: (tier[n], n.encode()))
                # The cycle is reported from the parent down, starting at the smallest name.
                downwards = cycle[::-1]
                start = downwards.index(min(cycle, key=str.encode))
                ring = [*downwards[start:], *downwards[:start], downwards[start]]
                del parent[top]
                problems.append(Problem("cycle", top, f"cyclic dependency: {' -> '.join(ring)}"))
                cut = cycle.index(top)
                # The path runs from child to parent; the part above the cut now hangs below it.
                path = [*path[: len(path) - len(cycle)], *cycle[cut + 1 :], *cycle[: cut + 1]]
        for done in path:
            state[done] = 2
        root_first += path[::-1]
    return root_first[::-1], problems


def _sets(own: Mapping[str, list[int]], parent: Mapping[str, str], order: Sequence[str]) -> dict[str, Ints]:
    parts: dict[str, list[Ints]] = {}
    sets: dict[str, Ints] = {}
    for name in order:
        direct = np.array(own[name], dtype=np.int32)
        below = parts.pop(name, None)
        # Each node once: in a chain that lists its nodes again at every level they would add up.
        nodes = direct if below is None else distinct(np.concatenate([direct, *below]))
        sets[name] = nodes
        if name in parent:
            parts.setdefault(parent[name], []).append(nodes)
    return sets


def _overlaps(own: Mapping[str, list[int]], nesting: Nesting, names: Sequence[str]) -> list[Problem]:
    """Problems for nodes that are direct members (`own`) of two HyperNodes that are not nested."""
    owner: dict[int, str] = {}
    shared: dict[tuple[str, str], list[int]] = {}
    for name, nodes in own.items():
        for node in nodes:
            first = owner.setdefault(node, name)
            if first is not name and not nesting.related(first, name):
                shared.setdefault((first, name), []).append(node)
    return [
        Problem(
            "overlap", a, f"{a} and {b} share {some('node', [names[i] for i in nodes])}, neither is inside the other"
        )
        for (a, b), nodes in shared.items()
    ]


class Nesting:
    """The containment of HyperNodes in a forest, stored so that the names inside a name have consecutive numbers.

    `children_first`: every name before its parent (`workbench.topology.build.cut_cycles`). `parent`: without cycles; a
    name without a parent is a root.
    """

    def __init__(self, children_first: Sequence[str], parent: Mapping[str, str]) -> None:
        size = dict.fromkeys(children_first, 1)
        for name in children_first:
            if name in parent:
                size[parent[name]] += size[name]
        free: dict[str, int] = {}
        roots = 0
        #: Number of each name, below the numbers of all names inside it; and the first number after those.
        self.first: dict[str, int] = {}
        self.end: dict[str, int] = {}
        #: Number of names that contain each name.
        self.depth: dict[str, int] = {}
        for name in reversed(children_first):
            if name in parent:
                number = free[parent[name]]
                free[parent[name]] = number + size[name]
                self.depth[name] = self.depth[parent[name]] + 1
            else:
                number, roots = roots, roots + size[name]
                self.depth[name] = 0
            self.first[name], self.end[name] = number, number + size[name]
            free[name] = number + 1

    def related(self, one: str, other: str) -> bool:
        """Whether two HyperNodes are the same, or one is inside the other."""
        a, b = self.first[one], self.first[other]
        return a <= b < self.end[one] or b <= a < self.end[other]

    def strangers(self, names: Iterable[str]) -> dict[str, set[str]]:
        """For each of the given HyperNodes, those among them that are neither inside nor around it.

        HyperNodes for which there are none are left out. The time grows with the size of the result, not with the
        number of nested pairs.
        """
        ordered = sorted(set(names), key=self.first.__getitem__)
        found: dict[str, set[str]] = {}
        # Of the names that begin later, exactly those that begin after this name's end are strangers to it.
        starts = [self.first[name] for name in ordered]
        for i, name in enumerate(ordered):
            later = bisect_left(starts, self.end[name], lo=i + 1)
            if later < len(ordered):
                rest = ordered[later:]
                found.setdefault(name, set()).update(rest)
                for other in rest:
                    found.setdefault(other, set()).add(name)
        return found
