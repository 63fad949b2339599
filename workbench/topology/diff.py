"""`diff_topologies`: nodes and HyperNodes that appeared, vanished, moved or were renamed between two topologies."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import named_arguments
from workbench.model.arrays import Ints
from workbench.model.display import Displayed
from workbench.model.resources import amount_text
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Problem, Topology

__all__ = [
    "DomainChange",
    "DomainSize",
    "MembersChange",
    "NodeMove",
    "ResourceChange",
    "TopologyDiff",
    "diff_snapshots",
    "diff_topologies",
]


@dataclass(frozen=True)
class NodeMove:
    """A node whose innermost HyperNode changed, with both HyperNodes' names; None means the node is in no HyperNode."""

    node: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class DomainSize:
    """A HyperNode that exists in only one of the two compared topologies, with its tier and number of nodes."""

    name: str
    tier: int
    n_nodes: int


@dataclass(frozen=True)
class DomainChange:
    """One property of a HyperNode before and after: its name, its tier (with the tier's name) or its parent's name.

    `name`: the HyperNode's name after the change. `before`, `after`: the property's value; None for a HyperNode without
    a parent.
    """

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class MembersChange:
    """A HyperNode that gained or lost nodes, with the names of these nodes."""

    name: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True)
class ResourceChange:
    """Another amount of one resource on some nodes: names of the nodes, the resource, and the amount before and after.

    Amounts are those that pods may request (allocatable), as Kubernetes writes them, such as ``8`` or ``512Gi``.
    """

    nodes: tuple[str, ...]
    resource: str
    before: str
    after: str


@dataclass(frozen=True, repr=False)
class TopologyDiff(Displayed):
    """Result of comparing two topologies; every list is in byte order of names.

    Attributes
    ----------
    nodes_moved : tuple of NodeMove
        Nodes of both topologies whose innermost HyperNode changed. A HyperNode that was only renamed moves no node.
    domains_renamed : tuple of DomainChange
        HyperNodes with the same nodes under another name.
    domains_moved : tuple of DomainChange
        HyperNodes with another parent; a parent that was only renamed does not count.
    members_changed : tuple of MembersChange
        HyperNodes of both topologies that gained or lost nodes: the effect of `nodes_moved` on every tier.
    problems_appeared, problems_vanished : tuple of Problem
        As `workbench topology lint` words them.
    resources_changed : tuple of ResourceChange
        Nodes of both clusters that offer another amount of a resource; of `diff_snapshots` only.
    """

    nodes_moved: tuple[NodeMove, ...] = ()
    nodes_appeared: tuple[str, ...] = ()
    nodes_vanished: tuple[str, ...] = ()
    domains_appeared: tuple[DomainSize, ...] = ()
    domains_vanished: tuple[DomainSize, ...] = ()
    domains_renamed: tuple[DomainChange, ...] = ()
    domains_moved: tuple[DomainChange, ...] = ()
    tiers_changed: tuple[DomainChange, ...] = ()
    members_changed: tuple[MembersChange, ...] = ()
    problems_appeared: tuple[Problem, ...] = ()
    problems_vanished: tuple[Problem, ...] = ()
    resources_changed: tuple[ResourceChange, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the two compared topologies are equal."""
        return not any(getattr(self, field.name) for field in fields(self))

    def to_dict(self) -> dict[str, Any]:
        """The differences as plain lists and dicts, JSON-ready, with the key ``same``."""
        return {"same": self.same, **asdict(self)}

    def __repr__(self) -> str:
        counts = [f"{len(getattr(self, f.name))} {f.name.replace('_', ' ')}" for f in fields(self)]
        return f"TopologyDiff({', '.join(text for text in counts if not text.startswith('0 ')) or 'the same'})"


def diff_snapshots(before: ClusterSnapshot, after: ClusterSnapshot) -> TopologyDiff:
    """Compare the topologies of two clusters, and what their nodes offer.

    Returns TopologyDiff: resources are compared on nodes that report some in both: a fabric file without resources
    changes none.
    """
    found = diff_topologies(before.topology, after.topology)
    return replace(found, resources_changed=tuple(_resources_changed(before, after)))


def _resources_changed(before: ClusterSnapshot, after: ClusterSnapshot) -> Iterator[ResourceChange]:
    kept = [name for name in before.topology.node_names if after.topology.has_node(name)]
    rows = [(before.topology.node(name), after.topology.node(name)) for name in kept]
    names = sorted({*before.resources, *after.resources}, key=str.encode)
    old, new = (_amounts(one, names)[[row[side] for row in rows]] for side, one in enumerate((before, after)))
    # A node that does not say how many pods it takes has no limit, so that this amount is known everywhere.
    told = [column for column, name in enumerate(names) if name != "pods"]
    known = old[:, told].any(axis=1) & new[:, told].any(axis=1)
    for column, resource in enumerate(names):
        groups: dict[tuple[int, int], list[str]] = {}
        for i in np.flatnonzero(known & (old[:, column] != new[:, column])):
            groups.setdefault((int(old[i, column]), int(new[i, column])), []).append(kept[i])
        for (was, now), nodes in groups.items():
            yield ResourceChange(
                tuple(sorted(nodes, key=str.encode)), resource, amount_text(resource, was), amount_text(resource, now)
            )


def _amounts(snapshot: ClusterSnapshot, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Allocatable amounts in base units, int64 (n, len(names)); 0 where the snapshot does not know a resource."""
    found = np.zeros((snapshot.topology.n_nodes, len(names)), dtype=np.int64)
    for column, name in enumerate(names):
        if name in snapshot.resources:
            found[:, column] = snapshot.allocatable[:, snapshot.resources.index(name)]
    return found


@named_arguments
def diff_topologies(before: Topology, after: Topology) -> TopologyDiff:
    """Compare two topologies of one cluster.

    Returns TopologyDiff: `same` exactly when nodes, HyperNodes (name, tier, tier name, parent, nodes) and problems are
    equal.

    Notes
    -----
    Nodes are the same when their names are. HyperNodes are paired in four rounds, each over what is left: the same
    name and nodes; the same nodes and tier (renamed); the same nodes (renamed, another tier); the same name. Nodes go
    before names because generated names shift (Volcano's UFM discovery numbers its leaves anew in every run,
    docs/reference/volcano-topology.md, section 9.2), and because cables, not names, decide where a pod is fast.
    HyperNodes without nodes are paired by name only. Ties within a round: byte order of names. Time is linear in the
    members of all HyperNodes.

    Examples
    --------
    >>> import workbench as wb
    >>> before, after = (wb.generate_scenario("balanced", sizes=(2, n)).snapshot.topology for n in (2, 3))
    >>> wb.diff_topologies(before, after).nodes_appeared
    ('node4', 'node5')
    """
    number = {name: i for i, name in enumerate(before.node_names)}
    for name in after.node_names:
        number.setdefault(name, len(number))
    old, new = _Side(before, number), _Side(after, number)
    twin = _pair(old, new)
    renamed, moved, tiers, members = [], [], [], []
    names = list(number)
    paired = np.full(len(twin) + 1, -1, dtype=np.int64)
    paired[: len(twin)] = twin
    for a in np.flatnonzero(twin >= 0).tolist():
        b = int(twin[a])
        name = after.domain_names[b]
        if before.domain_names[a] != name:
            renamed.append(DomainChange(name, before.domain_names[a], name))
        parent_a, parent_b = int(before.parent[a]), int(after.parent[b])
        # A parent without a counterpart is paired with -1, the virtual top; only a real top may stay a top.
        if paired[parent_a] != parent_b or (parent_a >= 0) != (parent_b >= 0):
            moved.append(DomainChange(name, _name(before, parent_a), _name(after, parent_b)))
        if old.tier_text(a) != new.tier_text(b):
            tiers.append(DomainChange(name, old.tier_text(a), new.tier_text(b)))
        if old.keys[a] != new.keys[b]:
            x, y = old.members(a), new.members(b)
            gained, lost = np.setdiff1d(y, x, assume_unique=True), np.setdiff1d(x, y, assume_unique=True)
            members.append(MembersChange(name, _sorted(names, gained), _sorted(names, lost)))
    return TopologyDiff(
        nodes_moved=_moves(before, after, paired),
        nodes_appeared=tuple(sorted((n for n in after.node_names if not before.has_node(n)), key=str.encode)),
        nodes_vanished=tuple(sorted((n for n in before.node_names if not after.has_node(n)), key=str.encode)),
        domains_appeared=new.sizes(np.setdiff1d(np.arange(after.n_domains), twin)),
        domains_vanished=old.sizes(np.flatnonzero(twin < 0)),
        domains_renamed=_by_name(renamed),
        domains_moved=_by_name(moved),
        tiers_changed=_by_name(tiers),
        members_changed=tuple(sorted(members, key=lambda m: m.name.encode())),
        problems_appeared=tuple(p for p in after.problems if p not in set(before.problems)),
        problems_vanished=tuple(p for p in before.problems if p not in set(after.problems)),
    )


class _Side:
    """One of the two compared topologies; nodes of equal names have the same number in both."""

    def __init__(self, topology: Topology, number: dict[str, int]) -> None:
        self.topology = topology
        shared = np.array([number[name] for name in topology.node_names], dtype=np.int32)
        self._members = shared[topology.member_nodes]
        for j in range(topology.n_domains):
            self.members(j).sort()
        #: Fingerprint of each HyperNode's nodes: equal for equal sets.
        self.keys = [self.members(j).tobytes() for j in range(topology.n_domains)]

    def members(self, domain: int) -> Ints:
        start = self.topology.member_start
        return self._members[start[domain] : start[domain + 1]]

    def tier_text(self, domain: int) -> str:
        name = self.topology.tier_names[domain]
        return f"{self.topology.tier[domain]} ({name})" if name else str(self.topology.tier[domain])

    def sizes(self, domains: npt.NDArray[np.int64]) -> tuple[DomainSize, ...]:
        t = self.topology
        return tuple(DomainSize(t.domain_names[j], int(t.tier[j]), len(t.nodes_of(j))) for j in domains.tolist())


def _pair(old: _Side, new: _Side) -> npt.NDArray[np.int64]:
    """For each HyperNode of `old` the index of its counterpart in `new`, int64; -1 if it has none."""
    twin = np.full(old.topology.n_domains, -1, dtype=np.int64)
    free = set(range(new.topology.n_domains))
    rounds: tuple[Callable[[_Side, int], Hashable], ...] = (
        lambda side, j: (side.topology.domain_names[j], side.keys[j]),
        lambda side, j: (side.keys[j], int(side.topology.tier[j])) if side.keys[j] else None,
        lambda side, j: side.keys[j] or None,
        lambda side, j: side.topology.domain_names[j],
    )
    for key in rounds:
        waiting: dict[Hashable, list[int]] = {}
        # Domains are numbered in byte order of names: the smallest is at the end, where pop takes it.
        for j in sorted(free, reverse=True):
            waiting.setdefault(key(new, j), []).append(j)
        waiting.pop(None, None)
        for j in np.flatnonzero(twin < 0).tolist():
            left = waiting.get(key(old, j))
            if left:
                twin[j] = left.pop()
                free.discard(int(twin[j]))
    return twin


def _moves(before: Topology, after: Topology, paired: npt.NDArray[np.int64]) -> tuple[NodeMove, ...]:
    kept = np.array([i for i, name in enumerate(before.node_names) if after.has_node(name)], dtype=np.int64)
    there = np.array([after.node(before.node_names[i]) for i in kept.tolist()], dtype=np.int64)
    old, new = before.home_of_node[kept], after.home_of_node[there]
    moved = np.flatnonzero((paired[old] != new) | ((old >= 0) != (new >= 0)))
    moves = [
        NodeMove(before.node_names[int(kept[i])], _name(before, int(old[i])), _name(after, int(new[i])))
        for i in moved.tolist()
    ]
    return tuple(sorted(moves, key=lambda move: move.node.encode()))


def _name(topology: Topology, domain: int) -> str | None:
    return None if domain < 0 else topology.domain_names[domain]


def _sorted(names: Sequence[str], chosen: Ints) -> tuple[str, ...]:
    return tuple(sorted((names[i] for i in chosen.tolist()), key=str.encode))


def _by_name(changes: list[DomainChange]) -> tuple[DomainChange, ...]:
    return tuple(sorted(changes, key=lambda change: change.name.encode()))
