"""`Subject`, the input of the lint rules: HyperNodes and nodes by name, and derived facts that several rules use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from workbench.model.arrays import Ints
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Problem, Topology
from workbench.model.value import Value
from workbench.objects.hypernode import HyperNode, Member
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.objects.schemas import Unknown, unknown_in
from workbench.objects.selectors import NameIndex
from workbench.topology.build import ResolvedTree, build_topology, resolve_tree
from workbench.topology.objects_of import hypernodes_in, nodes_in

__all__ = ["Place", "Subject"]


@dataclass(frozen=True)
class Place:
    """File and position from which an object was read.

    `file`: name of the file as the user gave it. `where`: place inside the file, such as ``document 3 (line 12)``.
    `line`: line number, from 1; None if the input's format has no lines.
    """

    file: str
    where: str = ""
    line: int | None = None

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.file}:{self.line}"
        return f"{self.file}: {self.where}" if self.where else self.file


@dataclass(frozen=True, eq=False)
class Subject(Value):
    """What the linter checks: the HyperNodes and nodes of one input.

    Attributes
    ----------
    hypernodes : mapping of str to HyperNode
        HyperNodes by name, in byte order.
    nodes : mapping of str to Node
        Nodes of the cluster. If the input has none: the nodes that exact members name, without labels or resources.
    nodes_known : bool
        Whether the input contains the cluster's nodes.
    with_matrix : frozenset of str
        Nodes with a bandwidth matrix.
    places : mapping of str to Place
        Where each HyperNode was read.
    manifests : mapping of str to mapping
        HyperNodes as written; empty if the topology came without manifests.
    refusals : mapping of str to sequence of str
        Why a cluster refuses a HyperNode, as far as it does not follow from `manifests`: its slips, or why it could not
        be read; a HyperNode that could not be read is not in `hypernodes`.
    given_problems : tuple of Problem
        Problems found when a ready-made topology was built; empty if the HyperNodes themselves are given.
    """

    # Three ways to make one (`of_objects`, `of_topology`, `of_snapshot`); then properties that rules ask for, each
    # computed once: of nodes, of members as listed, of the tree that follows from them.

    hypernodes: Mapping[str, HyperNode]
    nodes: Mapping[str, Node]
    nodes_known: bool = True
    with_matrix: frozenset[str] = frozenset()
    places: Mapping[str, Place] = field(default_factory=dict)
    manifests: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    given_problems: tuple[Problem, ...] = ()
    refusals: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of_objects(
        cls,
        cluster: ClusterObjects,
        places: Mapping[str, Place] | None = None,
        manifests: Mapping[str, Mapping[str, Any]] | None = None,
        with_matrix: Iterable[str] = (),
    ) -> Subject:
        """Make the linter's input from HyperNodes, Nodes and Devices as read from manifests.

        `places`: where each HyperNode was read. `manifests`: HyperNodes as written. `with_matrix`: nodes whose
        bandwidth matrix does not come from a Device.
        """
        nodes = cluster.nodes
        hypernodes = _in_order(cluster.hypernodes.values())
        if not nodes:
            named = {
                m.selector.exact for h in hypernodes.values() for m in h.members if m.type == "Node" if m.selector.exact
            }
            nodes = {name: Node(Metadata(name), {}) for name in sorted(named, key=str.encode)}
        return cls(
            hypernodes=hypernodes,
            nodes=nodes,
            nodes_known=bool(cluster.nodes),
            with_matrix=frozenset(
                (*with_matrix, *(d.name for d in cluster.devices.values() if d.bandwidth is not None))
            ),
            places=places or {},
            manifests=manifests or {},
        )

    @classmethod
    def of_topology(cls, topology: Topology) -> Subject:
        """Make the linter's input from a topology without its HyperNode objects; members are listed by exact name."""
        nodes = {name: Node(Metadata(name), {}) for name in topology.node_names}
        return cls(_in_order(hypernodes_in(topology)), nodes, given_problems=topology.problems)

    @classmethod
    def of_snapshot(cls, snapshot: ClusterSnapshot) -> Subject:
        """Make the linter's input from a snapshot: its topology and the resources of its nodes."""
        topology = snapshot.topology
        nodes = {node.name: node for node in nodes_in(snapshot)}
        with_matrix = frozenset(topology.node_names[i] for i in np.flatnonzero(snapshot.node_matrix >= 0))
        return cls(_in_order(hypernodes_in(topology)), nodes, with_matrix=with_matrix, given_problems=topology.problems)

    @cached_property
    def unknown(self) -> dict[str, list[Unknown]]:
        """Unknown fields, labels and annotations in the manifest of each HyperNode, by its name."""
        found = {name: unknown_in(self.manifests[name]) for name in self.hypernodes if name in self.manifests}
        return {name: unknown for name, unknown in found.items() if unknown}

    @cached_property
    def names(self) -> list[str]:
        """Names of the nodes; node positions anywhere in this class are indices of this list."""
        return list(self.nodes)

    @cached_property
    def labels(self) -> list[Mapping[str, str]]:
        """Labels of each node, in the order of `names`."""
        return [node.metadata.labels for node in self.nodes.values()]

    @cached_property
    def gpus(self) -> list[int]:
        """Number of GPUs and NPUs of each node, in the order of `names`."""
        return [node.n_gpus for node in self.nodes.values()]

    @cached_property
    def index(self) -> NameIndex:
        index = NameIndex(self.names, self.labels)
        index.prepare(
            m.selector.pattern
            for h in self.hypernodes.values()
            for m in h.members
            if m.type == "Node" and m.selector.exact is None and m.selector.pattern is not None
        )
        return index

    @cached_property
    def tree(self) -> ResolvedTree:
        return resolve_tree(self.hypernodes.values(), self.names, self.labels, self.index)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems that keep the HyperNodes from being a tree, found when it was built."""
        return (*self.given_problems, *self.tree.problems)

    def selected(self, member: Member) -> list[int]:
        """Positions of the cluster's nodes that a HyperNode member of type Node selects."""
        selector = member.selector
        if selector.exact is not None:
            position = self.index.position.get(selector.exact)
            return [] if position is None else [position]
        if selector.pattern is not None:
            return self.index.matching(selector.pattern)
        return self.index.holding(selector.labels or ())

    @cached_property
    def own(self) -> dict[str, list[int]]:
        """Positions of the nodes that each HyperNode lists as direct members, ascending, each once."""
        return {
            name: sorted({i for m in h.members if m.type == "Node" for i in self.selected(m)})
            for name, h in self.hypernodes.items()
        }

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Names of the existing HyperNodes that each HyperNode lists as members, each once."""
        return {
            name: list(
                dict.fromkeys(
                    m.selector.exact
                    for m in h.members
                    if m.type == "HyperNode" and m.selector.exact in self.hypernodes and m.selector.exact
                )
            )
            for name, h in self.hypernodes.items()
        }

    @cached_property
    def listed_by(self) -> dict[str, list[str]]:
        """For each HyperNode the names of the HyperNodes that list it as a member, in byte order."""
        found: dict[str, list[str]] = {}
        for name, children in self.children.items():
            for child in children:
                found.setdefault(child, []).append(name)
        return found

    @cached_property
    def leaves(self) -> list[str]:
        """Names of the HyperNodes with direct nodes and no HyperNode below, in byte order."""
        return [name for name, nodes in self.own.items() if nodes and not self.children[name]]

    @cached_property
    def below(self) -> dict[str, Ints]:
        """Positions of the cluster's nodes at any depth under each HyperNode, ascending, each once."""
        found = {name: np.unique(nodes) for name, nodes in self.tree.nodes.items()}
        return {name: nodes[nodes < self.tree.known] for name, nodes in found.items()}

    @cached_property
    def leaf_of(self) -> dict[int, str]:
        """For each node in a leaf (see `leaves`) the name of the first such leaf, by node position."""
        return {node: leaf for leaf in reversed(self.leaves) for node in self.own[leaf]}

    @cached_property
    def shared(self) -> dict[tuple[str, ...], list[int]]:
        """Positions of the nodes that several HyperNodes list directly, by the tuple of these HyperNodes
        (byte order).
        """
        holders: dict[int, list[str]] = {}
        for name, nodes in self.own.items():
            for node in nodes:
                holders.setdefault(node, []).append(name)
        groups: dict[tuple[str, ...], list[int]] = {}
        for node, names in sorted(holders.items()):
            if len(names) > 1:
                groups.setdefault(tuple(names), []).append(node)
        return groups

    @cached_property
    def shared_by(self) -> dict[str, list[tuple[str, ...]]]:
        """For each HyperNode the keys of `shared` in which it appears."""
        found: dict[str, list[tuple[str, ...]]] = {}
        for names in self.shared:
            for name in names:
                found.setdefault(name, []).append(names)
        return found

    @cached_property
    def overlapping(self) -> dict[str, set[str]]:
        """For each HyperNode the names of those with which it shares listed nodes, neither being inside the other."""
        found: dict[str, set[str]] = {name: set() for names in self.shared for name in names}
        for names in self.shared:
            for name, others in self.tree.nesting.strangers(names).items():
                found[name] |= others
        return found

    def topology(self) -> Topology:
        """The topology without the HyperNode memberships that prevent a tree, for drawing."""
        return build_topology(self.hypernodes.values(), self.names, self.labels)

    def tier(self, name: str) -> int:
        return self.hypernodes[name].tier


def _in_order(hypernodes: Iterable[HyperNode]) -> dict[str, HyperNode]:
    return {h.name: h for h in sorted(hypernodes, key=lambda h: h.name.encode())}
