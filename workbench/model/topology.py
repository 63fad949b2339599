"""The network between the nodes: HyperNodes as a forest over dense indices.

Owns numbering (nodes, domains, name ranks), sets of nodes per domain and what is derived from them.
Building one from HyperNode objects, with its problems, is in `workbench.topology`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.errors import UnknownNameError
from workbench.kernels.domain_nodes import DomainNodes
from workbench.kernels.tiers import Forest
from workbench.kernels.two_level import DomainTree
from workbench.model.counted import counted
from workbench.model.display import Displayed
from workbench.model.value import Value

__all__ = ["NO_DOMAIN", "TOP", "VIRTUAL_TOP", "DomainSpec", "Problem", "Topology", "name_ranks"]

T = TypeVar("T", bound=np.generic)
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

#: What the virtual top is called where a name must be shown (Volcano's newest releases use this text).
VIRTUAL_TOP = "<cluster-top-hypernode>"

#: The virtual top where a domain is asked for or answered: as a parent, a common ancestor, the place of a whole job.
TOP = -1
#: No HyperNode: in arrays that give each node a HyperNode, for a node that none holds.
NO_DOMAIN = -1


@dataclass(frozen=True)
class Problem:
    """A defect of the HyperNodes, which parse but do not form a tree (docs/decisions.md, decision 14).

    Attributes
    ----------
    code : str
        ``cycle``, ``two-parents``, ``dangling-member``, ``empty-member``, ``overlap`` ...
    domain : str
        HyperNode at which the defect was found.
    message : str
        One sentence with the names involved.
    """

    code: str
    domain: str
    message: str


@dataclass(frozen=True)
class DomainSpec:
    """One HyperNode before numbering.

    Attributes
    ----------
    name : str
    tier : int
        Smaller is closer.
    nodes : sequence of int
        Positions in the list of node names handed to `Topology.build`; every node under the domain, not only direct
        ones.
    parent : str
        Name of the parent; empty: a root.
    tier_name : str
        Empty: none.
    """

    name: str
    tier: int
    nodes: Sequence[int] | Ints
    parent: str = ""
    tier_name: str = ""


def _byte_order(names: Sequence[str]) -> list[int]:
    """Positions of the names sorted in byte order; Python's order by code points is that of the UTF-8 bytes."""
    return sorted(range(len(names)), key=names.__getitem__)


def name_ranks(names: Sequence[str]) -> Ints:
    """Rank of each name in byte order of its UTF-8 form, int32, which breaks ties (docs/decisions.md, decision 5)."""
    order = _byte_order(names)
    ranks = np.empty(len(names), dtype=np.int32)
    ranks[order] = np.arange(len(names), dtype=np.int32)
    ranks.flags.writeable = False
    return ranks


@dataclass(frozen=True, eq=False, repr=False)
class Topology(Value, Displayed):
    """HyperNodes and nodes by dense index.

    Attributes
    ----------
    node_names : tuple of str
        Node i's name. Where `laminar`, nodes are numbered depth-first, so that every domain is an interval; nodes of
        no domain come last. Otherwise in byte order.
    domain_names : tuple of str
        In byte order.
    parent : ndarray of shape (d,), int32
        Parent domain, `TOP` (-1) for the virtual top.
    tier : ndarray of shape (d,), int32
        Smaller is closer. The virtual top has `top_tier`.
    member_start : ndarray of shape (d + 1,), int64
    member_nodes : ndarray of int32
        Nodes of domain j, ascending: ``member_nodes[member_start[j]:member_start[j + 1]]``.
    node_rank, domain_rank : ndarray of int32
        Rank of each name in byte order.
    laminar : bool
        Any two domains are nested or disjoint.
    problems : tuple of Problem
    ready : bool
        False: Volcano would not schedule with this topology (docs/decisions.md, decision 14).
    """

    node_names: tuple[str, ...]
    domain_names: tuple[str, ...]
    tier_names: tuple[str, ...]
    parent: Ints
    tier: Ints
    member_start: Longs
    member_nodes: Ints
    node_rank: Ints
    domain_rank: Ints
    laminar: bool
    problems: tuple[Problem, ...] = ()
    ready: bool = True

    @classmethod
    def build(
        cls,
        node_names: Sequence[str],
        domains: Iterable[DomainSpec],
        problems: Iterable[Problem] = (),
        ready: bool = True,
    ) -> Topology:
        """Number nodes and domains.

        Parameters
        ----------
        node_names : sequence of str
            Distinct; any order.
        domains : iterable of DomainSpec
            Distinct names; parents must exist and form no cycle (the caller has dropped such links and says so in
            `problems`).
        problems : iterable of Problem
            Problems that the builder found in the HyperNodes.
        ready : bool
            False if Volcano would not schedule on this tree.

        Returns
        -------
        Topology
            `node_names` is generally in another order than given: see the class.
        """
        specs = sorted(domains, key=lambda s: s.name.encode())
        n = max(len(node_names), 1)
        # All sets in one array, as domain * n + node: a numpy call per domain would be most of the time.
        given = [np.asarray(s.nodes, dtype=np.int64) + j * n for j, s in enumerate(specs)]
        domain, node = np.divmod(np.unique(np.concatenate(given)) if given else np.zeros(0, dtype=np.int64), n)
        sizes = np.bincount(domain, minlength=len(specs))
        order, laminar = _depth_first(node_names, domain, node, sizes)
        position = np.empty(len(node_names), dtype=np.int64)
        position[order] = np.arange(len(node_names))
        index = {s.name: j for j, s in enumerate(specs)}
        members = np.sort(domain * n + position[node]) % n
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        names = tuple(node_names[i] for i in order)
        return cls(
            node_names=names,
            domain_names=tuple(s.name for s in specs),
            tier_names=tuple(s.tier_name for s in specs),
            parent=_frozen(np.array([index[s.parent] if s.parent else TOP for s in specs], dtype=np.int32)),
            tier=_frozen(np.array([s.tier for s in specs], dtype=np.int32)),
            member_start=_frozen(start),
            member_nodes=_frozen(members.astype(np.int32)),
            node_rank=name_ranks(names),
            domain_rank=_frozen(np.arange(len(specs), dtype=np.int32)),
            laminar=laminar,
            problems=tuple(problems),
            ready=ready,
        )

    @property
    def n_nodes(self) -> int:
        return len(self.node_names)

    @property
    def n_domains(self) -> int:
        return len(self.domain_names)

    def __repr__(self) -> str:
        tiers = ", ".join(f"{int((self.tier == t).sum())} of tier {t}" for t in self.tiers)
        state = "" if self.ready else f", not ready: {counted(len(self.problems), 'problem')}"
        return (
            f"Topology({counted(self.n_nodes, 'node')}, {counted(self.n_domains, 'HyperNode')}"
            f"{f' ({tiers})' if tiers else ''}{state})"
        )

    @cached_property
    def tiers(self) -> tuple[int, ...]:
        """Distinct tiers, closest first; without the virtual top."""
        return tuple(int(t) for t in np.unique(self.tier))

    @property
    def top_tier(self) -> int:
        """Tier of the virtual top: the largest tier plus one, at least 1."""
        return max(self.tiers[-1] + 1, 1) if self.tiers else 1

    @cached_property
    def forest(self) -> Forest:
        """The HyperNodes as a `Forest`, for LCA and tier scores in bulk."""
        return Forest(self.parent, self.tier)

    @cached_property
    def _node_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.node_names)}

    @cached_property
    def _domain_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.domain_names)}

    def node(self, name: str) -> int:
        """Index of a node; UnknownNameError for a name that is not there."""
        try:
            return self._node_index[name]
        except KeyError:
            raise UnknownNameError("node", name, self.node_names) from None

    def domain(self, name: str) -> int:
        """Index of a HyperNode; `TOP` for the virtual top; UnknownNameError for a name that is not there."""
        if name == VIRTUAL_TOP:
            return TOP
        try:
            return self._domain_index[name]
        except KeyError:
            raise UnknownNameError("HyperNode", name, self.domain_names) from None

    def has_node(self, name: str) -> bool:
        return name in self._node_index

    def has_domain(self, name: str) -> bool:
        return name in self._domain_index

    def domain_name(self, domain: int) -> str:
        return VIRTUAL_TOP if domain < 0 else self.domain_names[domain]

    def domain_tier(self, domain: int) -> int:
        return self.top_tier if domain < 0 else int(self.tier[domain])

    def nodes_of(self, domain: int) -> Ints:
        """Nodes under a domain, ascending; all nodes for `TOP`."""
        if domain < 0:
            return np.arange(self.n_nodes, dtype=np.int32)
        return self.member_nodes[self.member_start[domain] : self.member_start[domain + 1]]

    def direct_nodes_of(self, domain: int) -> Ints:
        """Nodes of a domain that are in none of its children, by name; for `TOP` the nodes of no domain."""
        nodes, below = self.nodes_of(domain), self.children[domain]
        if len(below):
            nodes = np.setdiff1d(nodes, np.concatenate([self.nodes_of(int(child)) for child in below]))
        return nodes[np.argsort(self.node_rank[nodes])]

    def domains_at(self, tier: int) -> Ints:
        """Domains of a tier in byte order of their names."""
        return self._by_tier.get(tier, np.zeros(0, dtype=np.int32))

    @cached_property
    def _by_tier(self) -> dict[int, Ints]:
        return {tier: _frozen(np.flatnonzero(self.tier == tier).astype(np.int32)) for tier in self.tiers}

    @cached_property
    def children(self) -> tuple[Ints, ...]:
        """Per domain its children in byte order of their names; the last entry holds the roots."""
        order = np.argsort(self.parent, kind="stable").astype(np.int32)
        bounds = np.searchsorted(self.parent[order], np.arange(-1, self.n_domains + 1))
        parts = [order[bounds[i] : bounds[i + 1]] for i in range(self.n_domains + 1)]
        return (*parts[1:], parts[0])

    @cached_property
    def spans(self) -> Ints | None:
        """Per domain [first node, one past the last], int32 of shape (d, 2); None unless `laminar`."""
        if not self.laminar:
            return None
        sizes = self._sizes
        spans = np.zeros((self.n_domains, 2), dtype=np.int32)
        full = sizes > 0
        spans[full, 0] = self.member_nodes[self.member_start[:-1][full]]
        spans[:, 1] = spans[:, 0] + sizes
        return _frozen(spans)

    @cached_property
    def nested(self) -> bool:
        """Whether every domain holds all nodes of its children; always true of a tree built from HyperNodes."""
        if self.spans is not None:
            # An interval lies inside another by its ends; an empty domain lies anywhere.
            children = np.flatnonzero((self.parent >= 0) & (self._sizes > 0))
            own, around = self.spans[children], self.spans[self.parent[children]]
            return bool(((around[:, 0] <= own[:, 0]) & (own[:, 1] <= around[:, 1])).all())
        inner = np.repeat(np.arange(self.n_domains), self._sizes)
        outer = self.parent.astype(np.int64)[inner]
        below = outer >= 0
        held = inner * self.n_nodes + self.member_nodes
        return bool(np.isin(outer[below] * self.n_nodes + self.member_nodes[below], held, kind="sort").all())

    @cached_property
    def node_domains(self) -> tuple[Longs, Ints]:
        """Domains that hold each node, in CSR form (start of each node's domains, domains ascending)."""
        domains = np.repeat(np.arange(self.n_domains, dtype=np.int32), np.diff(self.member_start))
        # Stable, so that the domains of each node stay in ascending order.
        order = np.argsort(self.member_nodes, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(self.member_nodes, minlength=self.n_nodes))]).astype(
            np.int64
        )
        return _frozen(start), _frozen(domains[order])

    @cached_property
    def preorder(self) -> tuple[Ints, Ints]:
        """Domains in preorder: parents before their children, siblings by name.

        Returns
        -------
        place : ndarray of shape (d,), int32
            Domain j is visited as the ``place[j]``-th.
        end : ndarray of shape (d,), int32
            Domain i is j or one of its descendants where ``place[j] <= place[i] < end[j]``.
        """
        depth = self.forest.depth
        levels = [np.flatnonzero(depth == level) for level in range(int(depth.max(initial=-1)) + 1)]
        size = np.ones(self.n_domains, dtype=np.int32)
        for level in levels[:0:-1]:
            np.add.at(size, self.parent[level], size[level])
        place = np.zeros(self.n_domains, dtype=np.int32)
        for level in levels:
            siblings = level[np.argsort(self.parent[level], kind="stable")]
            parents = self.parent[siblings]
            before = np.cumsum(size[siblings]) - size[siblings]
            first = np.searchsorted(parents, parents)
            start = np.where(parents < 0, 0, place[parents] + 1)
            place[siblings] = start + before - before[first]
        return _frozen(place), _frozen(place + size)

    @cached_property
    def domain_tree(self) -> DomainTree:
        """The topology as a `DomainTree`, the input of the two-level search; built once."""
        return DomainTree(
            self.forest,
            *self.preorder,
            self.member_start,
            self.member_nodes,
            *self.node_domains,
            self.node_rank,
            self.leaf_of_node,
            spans=self.spans,
            nested=self.nested,
            leaves=self.leaves_of_node,
        )

    @cached_property
    def domain_nodes(self) -> DomainNodes:
        """The topology as fills of nodes take it; checked once."""
        return DomainNodes(
            self.node_rank, self.leaf_of_node, self.member_start, self.member_nodes, leaves=self.leaves_of_node
        )

    def domain_sums(self, amounts: Longs) -> Longs:
        """Amounts of nodes summed over each domain.

        Parameters
        ----------
        amounts : ndarray of shape (n, k), int64

        Returns
        -------
        ndarray of shape (d + 1, k), int64
            The last row is the virtual top's, so that index -1 finds it.
        """
        spans = self.spans
        rows = amounts if spans is not None else amounts[self.member_nodes]
        prefix = np.zeros((len(rows) + 1, amounts.shape[1]), dtype=np.int64)
        np.cumsum(rows, axis=0, out=prefix[1:])
        sums = np.empty((self.n_domains + 1, amounts.shape[1]), dtype=np.int64)
        if spans is not None:
            np.subtract(prefix[spans[:, 1]], prefix[spans[:, 0]], out=sums[:-1])
        else:
            np.subtract(prefix[self.member_start[1:]], prefix[self.member_start[:-1]], out=sums[:-1])
        sums[-1] = amounts.sum(axis=0)
        return sums

    def domain_of_node(self, tier: int) -> Ints:
        """Per node the domain of a tier that holds it, int32 (n,): `NO_DOMAIN` (-1) for none.

        If several domains of the tier hold a node, the one with the smallest name is taken.
        """
        found = np.full(self.n_nodes, NO_DOMAIN, dtype=np.int32)
        domains = self.domains_at(tier)[::-1]
        start, sizes = self.member_start[domains], self._sizes[domains]
        # Where each domain's members stand, one domain after another; of several the last assignment stays.
        places = np.arange(sizes.sum()) + np.repeat(start - (np.cumsum(sizes) - sizes), sizes)
        found[self.member_nodes[places]] = np.repeat(domains, sizes)
        return found

    @cached_property
    def _sizes(self) -> Longs:
        """Number of nodes of each domain."""
        return _frozen(np.diff(self.member_start))

    @cached_property
    def leaf_of_node(self) -> Ints:
        """Volcano's leaf: per node the HyperNode of the cluster's *lowest tier* that holds it.

        `NO_DOMAIN` (-1) for none. In a tree of mixed depth the nodes whose first HyperNode is on a higher tier have no
        leaf (docs/reference/volcano-topology.md, section 7).
        """
        if not self.tiers:
            return _frozen(np.full(self.n_nodes, NO_DOMAIN, dtype=np.int32))
        return _frozen(self.domain_of_node(self.tiers[0]))

    @cached_property
    def leaves_of_node(self) -> tuple[Longs, Ints] | None:
        """HyperNodes of the lowest tier that hold each node, in CSR form (start, domains).

        None if no node is in two of them.
        """
        if not self.tiers or self._sizes[self.domains_at(self.tiers[0])].sum() == (self.leaf_of_node >= 0).sum():
            return None
        start, domains = self.node_domains
        lowest = self.tier[domains] == self.tiers[0]
        before = np.concatenate([[0], np.cumsum(lowest)])
        return _frozen(before[start].astype(np.int64)), _frozen(domains[lowest])

    @cached_property
    def leaves_by_name(self) -> bool:
        """Whether the nodes of every HyperNode of the lowest tier are an interval in byte order of their names."""
        if self.spans is None:
            return False
        falls = np.concatenate([[0], np.cumsum(self.node_rank[1:] < self.node_rank[:-1])])
        spans = self.spans[self.domains_at(self.tiers[0])] if self.tiers else self.spans
        spans = spans[spans[:, 0] < spans[:, 1]]
        return bool((falls[spans[:, 1] - 1] == falls[spans[:, 0]]).all())

    def count_on_leaves(self, nodes: Ints) -> Longs:
        """Number of the given nodes on each HyperNode of the lowest tier, int64 (d,); 0 for all other HyperNodes.

        A node counts each time that it is given, and for every lowest HyperNode that holds it; -1, an unknown node,
        does not count.
        """
        known = nodes[nodes >= 0]
        if self.leaves_of_node is None:
            leaves = self.leaf_of_node[known]
            leaves = leaves[leaves >= 0]
        else:
            start, domains = self.leaves_of_node
            leaves = np.concatenate([domains[:0], *(domains[start[node] : start[node + 1]] for node in known)])
        return np.bincount(leaves, minlength=self.n_domains).astype(np.int64)

    @cached_property
    def home_of_node(self) -> Ints:
        """Per node the innermost HyperNode that holds it, int32 (n,); `NO_DOMAIN` (-1) for none.

        The fewest nodes win, then the lowest tier, then the smallest name; unlike `leaf_of_node` every tier counts.
        """
        start, domains = self.node_domains
        sizes = np.diff(self.member_start)
        owner = np.repeat(np.arange(self.n_nodes), np.diff(start))
        order = np.lexsort((self.domain_rank[domains], self.tier[domains], sizes[domains], owner))
        home = np.full(self.n_nodes, NO_DOMAIN, dtype=np.int32)
        nodes, first = np.unique(owner[order], return_index=True)
        home[nodes] = domains[order][first]
        return _frozen(home)

    def lca(self, a: int, b: int) -> int:
        """Lowest common ancestor of two domains, which may be `TOP`. LCA(x, x) is x."""
        return int(self.forest.lca(np.array([a], dtype=np.int32), np.array([b], dtype=np.int32))[0])

    def lca_of_nodes(self, a: int, b: int) -> int:
        """The closest domain that holds two nodes: the LCA of their homes (`home_of_node`); `TOP` if none holds both.

        A node and itself meet in the node's home.
        """
        home = self.home_of_node
        return self.lca(int(home[a]), int(home[b]))


def _frozen(array: npt.NDArray[T]) -> npt.NDArray[T]:
    array.flags.writeable = False
    return array


def _depth_first(node_names: Sequence[str], domain: Longs, node: Longs, sizes: Longs) -> tuple[list[int], bool]:
    """Order of nodes in which nested or disjoint domains are intervals, and whether they are nested or disjoint.

    Each node gets the path of domains that hold it, largest first (equal sets by name); sorting nodes by path, then
    name, walks the forest depth-first, whatever the parent pointers say. `domain` and `node` are the members, sorted.
    """
    n, d = len(node_names), len(sizes)
    by_name = _byte_order(node_names)
    rank = np.empty(n, dtype=np.int64)
    rank[by_name] = np.arange(n)
    if not d:
        return by_name, True
    largest_first = np.lexsort((np.arange(d), -sizes))
    seniority = np.empty(d, dtype=np.int64)
    seniority[largest_first] = np.arange(d)
    owners = seniority[domain]
    pairs = np.lexsort((owners, node))
    nodes, owners = node[pairs], owners[pairs]
    depth = np.bincount(nodes, minlength=n)
    first = np.concatenate([[0], np.cumsum(depth)])[:-1]
    column = np.arange(len(nodes)) - first[nodes]
    path = np.full((n, int(depth.max(initial=0)) + 1), d, dtype=np.int64)
    path[nodes, column] = owners
    order = np.lexsort((rank, *path.T[::-1]))
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    return (order.tolist(), True) if _nested_or_disjoint(position[node], sizes) else (by_name, False)


def _nested_or_disjoint(position: Longs, sizes: Longs) -> bool:
    """Whether each domain is an interval of positions, and any two are nested or disjoint."""
    full = sizes > 0
    if not full.any():
        return True
    start = (np.cumsum(sizes) - sizes)[full]
    low, high = np.minimum.reduceat(position, start), np.maximum.reduceat(position, start) + 1
    if (high - low != sizes[full]).any():
        return False
    open_ends: list[int] = []
    for begin, negative_end in sorted(zip(low.tolist(), (-high).tolist())):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and -negative_end > open_ends[-1]:
            return False
        open_ends.append(-negative_end)
    return True
