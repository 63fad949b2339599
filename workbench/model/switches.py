"""Leaf switches (ToR): the nodes under each switch, and the state of each switch.

Without a switch file each tier-1 HyperNode is a switch (docs/decisions.md, decision 6). A switch's state combines its
preset state with the annotations of the running pods under it; `workbench.model.switch_book` counts these. Switch files
(ConfigMaps) are read in `workbench.formats`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.kernels.switches import UNHEALTHY, join_votes
from workbench.model.arrays import Ints, Mask, distinct
from workbench.model.topology import Topology
from workbench.model.value import Value

__all__ = [
    "EXCLUSIVE",
    "IDLE",
    "IS_HEALTHY",
    "IS_SHARED",
    "MOST_NODES_PER_SWITCH",
    "RANK_ANNOTATION",
    "SHARED",
    "SHARED_ADDRESS",
    "SwitchStates",
    "SwitchTable",
    "mark_of",
    "switches_of_hypernodes",
]

#: Logical switches have a column for each; no switch has as many ports.
MOST_NODES_PER_SWITCH = 100_000

Bytes = npt.NDArray[np.int8]

#: IsSharedTor of tor-share-cm and isSharedTor of a pod (document, "Instructions").
IDLE, SHARED, EXCLUSIVE = 0, 1, 2

#: Annotations of a pod (docs/reference/switch-affinity.md, section 1.4).
IS_SHARED, IS_HEALTHY, SHARED_ADDRESS = "isSharedTor", "isHealthy", "sharedTorIp"
RANK_ANNOTATION = "hccl/rankIndex"

_MARKS = {str(state): state for state in (IDLE, SHARED, EXCLUSIVE)}


def mark_of(annotations: Mapping[str, str]) -> int:
    """State that a pod's annotation isSharedTor gives its switch; `IDLE` where it is missing or names none."""
    return _MARKS.get(annotations.get(IS_SHARED, ""), IDLE)


@dataclass(frozen=True, eq=False)
class SwitchStates(Value):
    """State of every leaf switch, in the order of a `SwitchTable`; both arrays are read-only.

    `state`: ndarray of shape (s,), int8; `IDLE`, `SHARED` or `EXCLUSIVE`. `unhealthy`: ndarray of shape (s,), bool;
    whether each switch is unhealthy; only shared switches can be.
    """

    state: Bytes
    unhealthy: Mask

    def __post_init__(self) -> None:
        if self.state.shape != self.unhealthy.shape:
            raise InputError("as many healths as states are needed", source="switch states")
        for array in (self.state, self.unhealthy):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.state)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SwitchStates):
            return NotImplemented
        return np.array_equal(self.state, other.state) and np.array_equal(self.unhealthy, other.unhealthy)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def all_idle(cls, n_switches: int) -> SwitchStates:
        """States in which every one of `n_switches` switches is idle."""
        return cls(np.zeros(n_switches, dtype=np.int8), np.zeros(n_switches, dtype=np.bool_))

    @classmethod
    def of(cls, names: Sequence[str]) -> SwitchStates:
        """Make switch states from their names: ``idle``, ``exclusive``, ``shared/healthy`` or ``shared/unhealthy``.

        Raises InputError: a text is not the name of a state.
        """
        for text in names:
            if text not in _CODES:
                raise InputError("no state of a switch", got=repr(text), expected=" or ".join(_CODES))
        codes = [_CODES[text] for text in names]
        return cls(
            np.array([state for state, _ in codes], dtype=np.int8),
            np.array([unhealthy for _, unhealthy in codes], dtype=np.bool_),
        )

    @classmethod
    def of_votes(cls, votes: npt.NDArray[np.int64]) -> SwitchStates:
        """Combine the votes of pods into one state per switch: shared over exclusive over idle, unhealthy sticky.

        `votes`: ndarray of shape (4, s), int64; number of votes for idle, shared, exclusive and unhealthy, for each
        switch.
        """
        return cls(*join_votes(votes))

    def votes(self) -> npt.NDArray[np.int64]:
        """The states as votes, one per switch: int64 of shape (4, s), rows idle, shared, exclusive, unhealthy as in
        `of_votes`.
        """
        found = np.zeros((4, len(self)), dtype=np.int64)
        found[self.state, np.arange(len(self))] = 1
        found[UNHEALTHY] = self.unhealthy
        return found

    def combined_with(self, other: SwitchStates) -> SwitchStates:
        """Combine these states with those of `other`, each counting as one vote per switch (see `of_votes`)."""
        return SwitchStates.of_votes(self.votes() + other.votes())

    def name(self, switch: int) -> str:
        """State of one switch in words: ``idle``, ``exclusive``, ``shared/healthy`` or ``shared/unhealthy``."""
        return state_name(int(self.state[switch]), bool(self.unhealthy[switch]))

    def names(self) -> tuple[str, ...]:
        """State of every switch in words, as `name` writes them."""
        return tuple(self.name(i) for i in range(len(self)))


_CODES = {
    "idle": (IDLE, False),
    "shared/healthy": (SHARED, False),
    "shared/unhealthy": (SHARED, True),
    "exclusive": (EXCLUSIVE, False),
}


def state_name(state: int, unhealthy: bool) -> str:
    """A switch state in words, such as ``idle`` or ``shared/unhealthy``.

    `unhealthy` matters for shared switches only.
    """
    if state == SHARED:
        return "shared/unhealthy" if unhealthy else "shared/healthy"
    return "exclusive" if state == EXCLUSIVE else "idle"


@dataclass(frozen=True, eq=False)
class SwitchTable(Value):
    """The leaf switches of a cluster and the nodes under each; ties between switches go to the earlier one.

    Attributes
    ----------
    addresses : tuple of str
        Address (tor_ip) of each switch; empty if unknown.
    start : ndarray of shape (s + 1,), int64
        Index in `nodes` where the nodes of each switch begin.
    nodes : ndarray of shape (m,), int32
        Node indices switch by switch, in configuration order; each node at most once.
    position : ndarray of shape (m,), int32
        Place of each of these nodes under its switch (slice_id), 0-based.
    nodes_per_switch : int
        Number of nodes under a full switch (tor_count).
    preset : SwitchStates
        States of the switch file; a preset state counts as one permanent vote.
    level : str
        tor_level: ``single_layer``, ``double_layer`` or empty (two layers).
    n_nodes : int
        Number of nodes in the cluster.
    """

    names: tuple[str, ...]
    addresses: tuple[str, ...]
    start: npt.NDArray[np.int64]
    nodes: Ints
    position: Ints
    nodes_per_switch: int
    preset: SwitchStates
    level: str
    n_nodes: int
    node_switch: Ints = field(init=False, repr=False)
    node_position: Ints = field(init=False, repr=False)
    entry_switch: Ints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        owner = np.repeat(np.arange(len(self.names), dtype=np.int32), np.diff(self.start))
        if len(distinct(self.nodes)) != len(self.nodes):
            twice = int(np.flatnonzero(np.bincount(self.nodes) > 1)[0])
            raise InputError("a node is under two switches", source="switch table", got=f"node {twice}")
        switch: Ints = np.full(self.n_nodes, -1, dtype=np.int32)
        place: Ints = np.full(self.n_nodes, -1, dtype=np.int32)
        switch[self.nodes] = owner
        place[self.nodes] = self.position
        for name, array in (("node_switch", switch), ("node_position", place), ("entry_switch", owner)):
            object.__setattr__(self, name, array)
        self.start.flags.writeable = False
        for array in (self.nodes, self.position, switch, place, owner):
            array.flags.writeable = False

    @classmethod
    def build(
        cls,
        rows: Sequence[tuple[str, str, Sequence[tuple[int, int]]]],
        n_nodes: int,
        nodes_per_switch: int | None = None,
        preset: SwitchStates | None = None,
        level: str = "",
    ) -> SwitchTable:
        """Build a table of leaf switches from Python lists.

        `rows`: sequence of (name, address, sequence of (node, position)); one row per switch, in configuration order;
        nodes are given by index, with their position under the switch. `nodes_per_switch`: None means as many as the
        largest switch has. `preset`: None means every switch idle.
        """
        sizes = [len(nodes) for _, _, nodes in rows]
        entries = [entry for _, _, nodes in rows for entry in nodes]
        return cls(
            names=tuple(name for name, _, _ in rows),
            addresses=tuple(address for _, address, _ in rows),
            start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            nodes=np.array([node for node, _ in entries], dtype=np.int32),
            position=np.array([position for _, position in entries], dtype=np.int32),
            nodes_per_switch=max([1, *sizes]) if nodes_per_switch is None else nodes_per_switch,
            preset=SwitchStates.all_idle(len(rows)) if preset is None else preset,
            level=level,
            n_nodes=n_nodes,
        )

    @property
    def n_switches(self) -> int:
        return len(self.names)

    @cached_property
    def by_position(self) -> npt.NDArray[np.int64]:
        """Indices into `nodes`, int64 of shape (m,), with the nodes of each switch sorted by position, ties in file
        order.
        """
        order: npt.NDArray[np.int64] = np.lexsort((self.position, self.entry_switch))
        return order

    def with_preset(self, preset: SwitchStates) -> SwitchTable:
        """A copy of the table with other preset states of the switches."""
        return replace(self, preset=preset)

    def nodes_of(self, switch: int) -> Ints:
        """Indices of the nodes under the switch with index `switch`, in configuration order."""
        return self.nodes[self.start[switch] : self.start[switch + 1]]


def switches_of_hypernodes(topology: Topology, nodes_per_switch: int | None = None) -> SwitchTable | None:
    """Make a switch of every tier-1 HyperNode that has nodes (docs/decisions.md, decision 6).

    Switches, and the nodes under each, are sorted by name. The name of a HyperNode also serves as the switch's address.

    `nodes_per_switch`, if None: as many as the largest switch has. Returns None where there is no tier-1 HyperNode with
    a node, or one node is under two of them.
    """
    leaves = [int(d) for d in topology.domains_at(1) if len(topology.nodes_of(int(d)))]
    leaves.sort(key=lambda d: topology.domain_name(d).encode())
    rows = []
    for leaf in leaves:
        nodes = topology.nodes_of(leaf)
        ordered = nodes[np.argsort(topology.node_rank[nodes])]
        name = topology.domain_name(leaf)
        rows.append((name, name, [(int(node), i) for i, node in enumerate(ordered)]))
    under = [node for _, _, nodes in rows for node, _ in nodes]
    if not rows or len(set(under)) != len(under):
        return None
    return SwitchTable.build(rows, topology.n_nodes, nodes_per_switch)
