"""`Topology`: the network between the nodes of a cluster as a forest of HyperNodes, all identified by integer index.

Defines how nodes and HyperNodes are numbered, the nodes of each HyperNode, and arrays derived from these. A topology is
built from HyperNode objects, with checks, in `workbench.topology`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.errors import UnknownNameError
from workbench.kernels.domain_nodes import DomainNodes
from workbench.kernels.domain_tree import DomainTree
from workbench.kernels.domains import TopologyScores
from workbench.kernels.tiers import Forest
from workbench.model.arrays import distinct
from workbench.model.counted import counted
from workbench.model.display import Displayed, Tabular, handed_in
from workbench.model.node_order import Ints, Longs, depth_first, name_ranks
from workbench.model.number_text import VIRTUAL_TOP, place_name
from workbench.model.value import Value

__all__ = ["NO_DOMAIN", "TOP", "VIRTUAL_TOP", "DomainSpec", "Problem", "Topology", "place_name", "within_tiers"]

T = TypeVar("T", bound=np.generic)
#: The virtual top where a domain is asked for or answered: as a parent, a common ancestor, the place of a whole job.
TOP = -1
#: No HyperNode: in arrays that give each node a HyperNode, for a node that none holds.
NO_DOMAIN = -1


@dataclass(frozen=True)
class Problem:
    """A defect that keeps HyperNodes from forming a tree, although each of them is valid YAML (docs/decisions.md,
    decision 14).

    `code`: ``cycle``, ``two-parents``, ``dangling-member``, ``empty-member``, ``overlap`` ... `domain`: HyperNode at
    which the defect was found. `message`: one sentence with the names involved.
    """

    code: str
    domain: str
    message: str


@dataclass(frozen=True)
class DomainSpec:
    """One HyperNode ("domain") as input of `Topology.build`, before the nodes are renumbered.

    `tier`: smaller is closer. `nodes`: positions in the list of node names handed to `Topology.build`; every node under
    the domain, not only direct ones. `parent`: name of the parent HyperNode; empty for a root. `tier_name`: empty:
    none.
    """

    name: str
    tier: int
    nodes: Sequence[int] | Ints
    parent: str = ""
    tier_name: str = ""


def within_tiers(topology: Topology, limit: int | None) -> str:
    """The end of ``no HyperNode`` in a sentence on a limit, such as `` of tier <= 2``.

    Empty where nothing is limited: `limit` is None, or above the largest tier that a HyperNode of the topology has.
    """
    return "" if limit is None or (topology.tiers and limit > topology.tiers[-1]) else f" of tier <= {limit}"


@dataclass(frozen=True, eq=False, repr=False)
class Topology(Value, Displayed, Tabular):
    """Nodes of a cluster and the HyperNodes ("domains") above them, each identified by an index.

    A virtual top, with the index `TOP` (-1), stands for the whole cluster.

    Attributes
    ----------
    node_names : tuple of str
        Name of each node. If `laminar`, nodes are in depth-first order, so that every HyperNode is an interval, with
        nodes in no HyperNode at the end; otherwise in byte order of names.
    domain_names : tuple of str
        Names of the HyperNodes in byte order; the order defines their indices.
    parent : ndarray of shape (d,), int32
        Index of each HyperNode's parent, `TOP` (-1) for the virtual top.
    tier : ndarray of shape (d,), int32
        Tier of each HyperNode, smaller is closer. The virtual top has the tier `top_tier`.
    member_start : ndarray of shape (d + 1,), int64
    member_nodes : ndarray of int32
        Nodes under HyperNode j, ascending: ``member_nodes[member_start[j]:member_start[j + 1]]``.
    node_rank, domain_rank : ndarray of int32
        Rank of each name in byte order.
    laminar : bool
        Whether any two HyperNodes are nested or disjoint.
    ready : bool
        False: Volcano would not schedule with this topology (docs/decisions.md, decision 14).

    Examples
    --------
    >>> import workbench as wb
    >>> topology = wb.generate_scenario("three-level-tree").snapshot.topology
    >>> topology
    Topology(8 nodes, 7 HyperNodes (4 of tier 1, 2 of tier 2, 1 of tier 3))
    >>> topology.domain_name(topology.lca_of_nodes(topology.node("node0"), topology.node("node3")))
    's4'
    """

    # Nodes and domains are indices. After the fields:
    #   names ↔ indices    node, domain, has_…, domain_name, place_name
    #   domains            tiers, children, spans and preorder; the nodes of each; sums over them
    #   nodes              the leaf of each, or all leaves where they overlap
    #   pairs and sets     lca, inside, smallest_around

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
        """Number the given nodes and HyperNodes and build their topology.

        Returns Topology: `node_names` is generally in another order than given: see the class.

        `node_names`: names of the nodes, distinct, in any order. `domains`: distinct names; parents must exist and form
        no cycle (the caller removes such links beforehand and reports them in `problems`). `problems`: problems that
        the builder found in the HyperNodes. `ready`: False if Volcano would not schedule on this tree.
        """
        specs = sorted(domains, key=lambda s: s.name.encode())
        n = max(len(node_names), 1)
        # All sets in one array, as domain * n + node: a numpy call per domain would be most of the time.
        given = [np.asarray(s.nodes, dtype=np.int64) + j * n for j, s in enumerate(specs)]
        domain, node = np.divmod(distinct(np.concatenate(given)) if given else np.zeros(0, dtype=np.int64), n)
        sizes = np.bincount(domain, minlength=len(specs))
        order, laminar = depth_first(node_names, domain, node, sizes)
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

    def __hash__(self) -> int:
        # Caches of policies look topologies up, of which there are few.
        return hash((len(self.node_names), len(self.domain_names)))

    def __repr__(self) -> str:
        tiers = ", ".join(f"{int((self.tier == t).sum())} of tier {t}" for t in self.tiers)
        state = "" if self.ready else f", not ready: {counted(len(self.problems), 'problem')}"
        return (
            f"Topology({counted(self.n_nodes, 'node')}, {counted(self.n_domains, 'HyperNode')}"
            f"{f' ({tiers})' if tiers else ''}{state})"
        )

    @cached_property
    def tiers(self) -> tuple[int, ...]:
        """The distinct tiers of the HyperNodes, lowest (closest) first; the virtual top's tier is not included."""
        return tuple(int(t) for t in distinct(self.tier))

    @cached_property
    def top_tier(self) -> int:
        """Tier of the virtual top: the largest tier plus one, at least 1."""
        return max(self.tiers[-1] + 1, 1) if self.tiers else 1

    @cached_property
    def forest(self) -> Forest:
        """The HyperNode tree as a compiled `Forest`, which computes lowest common ancestors and tier scores in bulk."""
        return Forest(self.parent, self.tier)

    @cached_property
    def closeness_scores(self) -> dict[tuple[bool, float], TopologyScores]:
        """Closeness scores that policies asked for so far, by `TopologyScores.roots_meet` and weight.

        Kept here, because making them for 10,000 HyperNodes takes as long as a small search.
        """
        return {}

    @cached_property
    def _node_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.node_names)}

    @cached_property
    def _domain_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.domain_names)}

    def node(self, name: str) -> int:
        """Index of the node named `name`; raises UnknownNameError if there is none."""
        try:
            return self._node_index[name]
        except KeyError:
            raise UnknownNameError("node", name, self.node_names) from None

    def domain(self, name: str) -> int:
        """Index of the HyperNode named `name`, or `TOP` for the virtual top's name.

        Raises UnknownNameError if there is none.
        """
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

    def place_name(self, domain: int) -> str:
        """The name of a HyperNode as sentences have it: the virtual top is the whole cluster."""
        return place_name(self.domain_name(domain))

    def domain_tier(self, domain: int) -> int:
        return self.top_tier if domain < 0 else int(self.tier[domain])

    def nodes_of(self, domain: int) -> Ints:
        """Indices of the nodes under the HyperNode of index `domain`, ascending; all nodes for `TOP`."""
        if domain < 0:
            return np.arange(self.n_nodes, dtype=np.int32)
        return self.member_nodes[self.member_start[domain] : self.member_start[domain + 1]]

    def direct_nodes_of(self, domain: int) -> Ints:
        """Nodes of a HyperNode that are in none of its children, sorted by name.

        For `TOP` the nodes of no HyperNode.
        """
        nodes, below = self.nodes_of(domain), self.children[domain]
        if len(below):
            nodes = np.setdiff1d(nodes, np.concatenate([self.nodes_of(int(child)) for child in below]))
        return nodes[np.argsort(self.node_rank[nodes])]

    def domains_at(self, tier: int) -> Ints:
        """Indices of the HyperNodes of a tier, in byte order of their names."""
        return self._by_tier.get(tier, np.zeros(0, dtype=np.int32))

    @cached_property
    def _by_tier(self) -> dict[int, Ints]:
        return {tier: _frozen(np.flatnonzero(self.tier == tier).astype(np.int32)) for tier in self.tiers}

    @cached_property
    def children(self) -> tuple[Ints, ...]:
        """For each HyperNode the indices of its children in byte order of their names.

        The last entry holds the roots.
        """
        order = np.argsort(self.parent, kind="stable").astype(np.int32)
        bounds = np.searchsorted(self.parent[order], np.arange(-1, self.n_domains + 1))
        parts = [order[bounds[i] : bounds[i + 1]] for i in range(self.n_domains + 1)]
        return (*parts[1:], parts[0])

    @cached_property
    def spans(self) -> Ints | None:
        """For each HyperNode its first node and one past its last, int32 of shape (d, 2).

        None if some HyperNodes overlap without being nested (`laminar` is False), because nodes then have no such
        numbering.
        """
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
        """HyperNodes that hold each node, in CSR form (start, domains).

        HyperNodes of node i, ascending: ``domains[start[i]:start[i + 1]]``.
        """
        domains = np.repeat(np.arange(self.n_domains, dtype=np.int32), np.diff(self.member_start))
        # Stable, so that the domains of each node stay in ascending order.
        order = np.argsort(self.member_nodes, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(self.member_nodes, minlength=self.n_nodes))]).astype(
            np.int64
        )
        return _frozen(start), _frozen(domains[order])

    @cached_property
    def preorder(self) -> tuple[Ints, Ints]:
        """HyperNodes in preorder: parents before their children, siblings by name.

        Returns
        -------
        place : ndarray of shape (d,), int32
            Position of HyperNode j in preorder.
        end : ndarray of shape (d,), int32
            HyperNode i is j or one of its descendants if ``place[j] <= place[i] < end[j]``.
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
        """The topology as a `DomainTree`, the compiled input of the two-level search (job and sub-groups).

        Built once.
        """
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
        """Nodes of each HyperNode as a `DomainNodes`, the compiled input of placing pods on nodes; built once."""
        return DomainNodes(
            self.node_rank, self.leaf_of_node, self.member_start, self.member_nodes, leaves=self.leaves_of_node
        )

    def domain_sums(self, amounts: Longs) -> Longs:
        """Sum the rows of an array with one row per node over the nodes of each HyperNode.

        `amounts`: ndarray of shape (n, k), int64. Returns ndarray of shape (d + 1, k), int64: the last row is the
        virtual top's, so that index -1 finds it.
        """
        spans = self.spans
        rows = amounts if spans is not None else amounts[self.member_nodes]
        prefix = np.zeros((len(rows) + 1, amounts.shape[1]), dtype=np.int64)
        np.cumsum(rows, axis=0, out=prefix[1:])
        sums = np.empty((self.n_domains + 1, amounts.shape[1]), dtype=np.int64)
        if spans is not None:
            np.subtract(prefix.take(spans[:, 1], axis=0), prefix.take(spans[:, 0], axis=0), out=sums[:-1])
            sums[-1] = prefix[-1]
        else:
            np.subtract(prefix[self.member_start[1:]], prefix[self.member_start[:-1]], out=sums[:-1])
            sums[-1] = amounts.sum(axis=0)
        return sums

    def domain_of_node(self, tier: int) -> Ints:
        """For each node the HyperNode of the given tier that holds it: int32 of shape (n,), `NO_DOMAIN` (-1) for none.

        If several HyperNodes of the tier hold a node, the one with the smallest name is taken.
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
        """Number of nodes of each HyperNode: int64 of shape (d,)."""
        return _frozen(np.diff(self.member_start))

    @cached_property
    def leaf_of_node(self) -> Ints:
        """For each node the HyperNode of the topology's *lowest tier* that holds it, as Volcano defines a leaf: int32
        (n,).

        `NO_DOMAIN` (-1) if there is none: in a tree of mixed depth, nodes whose first HyperNode is on a higher tier
        have no leaf (docs/reference/volcano-topology.md, section 7).
        """
        if not self.tiers:
            return _frozen(np.full(self.n_nodes, NO_DOMAIN, dtype=np.int32))
        return _frozen(self.domain_of_node(self.tiers[0]))

    @cached_property
    def leaves_of_node(self) -> tuple[Longs, Ints] | None:
        """HyperNodes of the lowest tier that hold each node, in CSR form: (start, domains), as in `node_domains`.

        None if no node is in two of them, so that `leaf_of_node` suffices.
        """
        if not self.tiers or self._sizes[self.domains_at(self.tiers[0])].sum() == (self.leaf_of_node >= 0).sum():
            return None
        start, domains = self.node_domains
        lowest = self.tier[domains] == self.tiers[0]
        before = np.concatenate([[0], np.cumsum(lowest)])
        return _frozen(before[start].astype(np.int64)), _frozen(domains[lowest])

    @cached_property
    def leaves_by_name(self) -> bool:
        """Whether the nodes of every lowest-tier HyperNode are consecutive when all nodes are sorted by name in byte
        order.
        """
        if self.spans is None:
            return False
        falls = np.concatenate([[0], np.cumsum(self.node_rank[1:] < self.node_rank[:-1])])
        spans = self.spans[self.domains_at(self.tiers[0])] if self.tiers else self.spans
        spans = spans[spans[:, 0] < spans[:, 1]]
        return bool((falls[spans[:, 1] - 1] == falls[spans[:, 0]]).all())

    def count_on_leaves(self, nodes: Ints) -> Longs:
        """How many of the given nodes each HyperNode of the lowest tier holds: int64 of shape (d,).

        0 for HyperNodes of other tiers. A node counts as often as it appears in `nodes`, and for every lowest-tier
        HyperNode that holds it. The entry -1 (an unknown node) does not count.
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
        """For each node the innermost HyperNode of any tier that holds it: int32 of shape (n,), `NO_DOMAIN` (-1) for
        none.

        Innermost is the HyperNode with the fewest nodes, then the lowest tier, then the smallest name.
        """
        start, domains = self.node_domains
        sizes = np.diff(self.member_start)
        owner = np.repeat(np.arange(self.n_nodes), np.diff(start))
        order = np.lexsort((self.domain_rank[domains], self.tier[domains], sizes[domains], owner))
        home = np.full(self.n_nodes, NO_DOMAIN, dtype=np.int32)
        nodes, first = np.unique(owner[order], return_index=True)
        home[nodes] = domains[order][first]
        return _frozen(home)

    def inside(self, domain: int) -> Topology:
        """The topology of one HyperNode: the HyperNode, those below it, and its nodes, in the same order.

        Only where `laminar` and `nested`, so that the nodes are an interval and no HyperNode is cut.
        """
        nodes = self.nodes_of(domain)
        place, end = self.preorder
        kept = np.flatnonzero((place >= place[domain]) & (place < end[domain]))
        number = np.full(self.n_domains + 1, TOP, dtype=np.int32)
        number[kept] = np.arange(len(kept), dtype=np.int32)
        parent = number[self.parent[kept]]
        parent[number[domain]] = TOP
        members = [self.nodes_of(int(j)) for j in kept]
        start = np.concatenate([[0], np.cumsum([len(each) for each in members])]).astype(np.int64)
        first = int(nodes[0]) if len(nodes) else 0
        ranks = np.argsort(np.argsort(self.node_rank[nodes])).astype(np.int32)
        return Topology(
            node_names=tuple(self.node_names[first : first + len(nodes)]),
            domain_names=tuple(self.domain_names[j] for j in kept),
            tier_names=tuple(self.tier_names[j] for j in kept),
            parent=_frozen(parent),
            tier=_frozen(self.tier[kept]),
            member_start=_frozen(start),
            member_nodes=_frozen((np.concatenate(members) - first).astype(np.int32)),
            node_rank=_frozen(ranks),
            domain_rank=_frozen(np.arange(len(kept), dtype=np.int32)),
            laminar=True,
            ready=self.ready,
        )

    def smallest_around(self, nodes: Ints) -> int:
        """The HyperNode with the fewest nodes that holds all given nodes; `TOP` if none does, or none is given.

        Of equals the one of the lowest tier, then the one with the smallest name.
        """
        if not len(nodes):
            return TOP
        start, domains = self.node_domains
        around = domains[start[nodes[0]] : start[nodes[0] + 1]]
        one = bool((nodes == nodes[0]).all())
        holding = [int(j) for j in around if one or np.isin(nodes, self.nodes_of(int(j))).all()]
        return min(holding, key=lambda j: (int(self._sizes[j]), int(self.tier[j]), j), default=TOP)

    def lca(self, a: int, b: int) -> int:
        """Lowest common ancestor of two HyperNodes given by index; both the arguments and the result may be `TOP`.

        The ancestor of a HyperNode and itself is that HyperNode.
        """
        return int(self.forest.lca(np.array([a], dtype=np.int32), np.array([b], dtype=np.int32))[0])

    def lca_of_nodes(self, a: int, b: int) -> int:
        """The closest HyperNode that holds both nodes, by index; `TOP` if none does.

        It is the lowest common ancestor of the nodes' innermost HyperNodes (`home_of_node`), also where `a` equals `b`.
        """
        home = self.home_of_node
        return self.lca(int(home[a]), int(home[b]))

    def to_networkx(self) -> Any:
        """The HyperNode tree as a networkx DiGraph: `workbench.to_networkx`."""
        return handed_in("to_networkx")(self)


def _frozen(array: npt.NDArray[T]) -> npt.NDArray[T]:
    array.flags.writeable = False
    return array
