"""Input and output of the switch-affinity rules: free nodes and state of every leaf switch, and plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import domain_counts
from workbench.kernels.switches import UNHEALTHY
from workbench.model.arrays import Ints, Longs, Mask
from workbench.model.switches import IDLE, SHARED, SwitchStates, SwitchTable, state_name

__all__ = ["NoPlan", "Plan", "Switches"]

Bytes = npt.NDArray[np.int8]


class Plan(NamedTuple):
    """Answer of a rule that found room: the leaf switches, in the order of the job's ranks, and the pods under each.

    Attributes
    ----------
    switch : ndarray of shape (c,), int64
        The chosen switches.
    n_pods : ndarray of shape (c,), int64
        Number of pods under each switch.
    vote : ndarray of shape (c,), int8
        State of each switch that the job's pods vote for; plus `VOTES_UNHEALTHY` for an unhealthy shared switch.
    whole : bool
        Whether the first switch was taken whole by the exclusive rule: its pods are marked even if it is the only one.
    """

    switch: Longs
    n_pods: Longs
    vote: Bytes
    whole: bool = False

    @classmethod
    def of(cls, shares: Sequence[tuple[int, int, int]]) -> Plan:
        """Make a plan of triples: switch, number of pods, and the state that the pods vote for."""
        rows = np.array(shares, dtype=np.int64).reshape(-1, 3)
        return cls(rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].astype(np.int8))


@dataclass(frozen=True)
class NoPlan:
    """Answer of a rule that found no room: a code for programs, and the plugin's own message.

    `code`, `message`: code of the notice, and its text. `missing`: pods that found no node at the rule's end.
    """

    code: str
    message: str
    missing: int = 1


@dataclass(eq=False)
class Switches:
    """Free nodes and states of all leaf switches before one placement; rules only read this object.

    Attributes
    ----------
    free_node : ndarray of shape (n,), bool
        Whether each node is free: any pod of the job fits on it, and no other switch-affinity job has a pod there.
    sums : ndarray of shape (7, s), int64
        For each switch: number of running pods and presets that vote for idle, shared, exclusive and unhealthy (rows 0
        to 3); number of foundation-model jobs, and of jobs of any kind, with pods both under it and elsewhere (rows 4
        and 5); number of jobs under it that are not common (row 6).
    free : ndarray of shape (s,), int64
        Free nodes of each switch.
    steps : list of str, optional
        Receives a text for each step of the rules; None: no explanation is wanted.
    """

    table: SwitchTable
    free_node: Mask
    sums: Longs
    free: Longs
    steps: list[str] | None = None

    @cached_property
    def _states(self) -> SwitchStates:
        return SwitchStates.of_votes(self.sums[: UNHEALTHY + 1])

    @property
    def state(self) -> Bytes:
        """State of every leaf switch (0 idle, 1 shared, 2 exclusive): int8 of shape (s,)."""
        return self._states.state

    @property
    def unhealthy(self) -> Mask:
        """Which leaf switches are unhealthy (only shared ones can be): bool of shape (s,)."""
        return self._states.unhealthy

    def without(self, nodes: Ints) -> Switches:
        """Return a copy in which the given nodes do not count as free."""
        if len(nodes) == 0:
            return self
        free_node = self.free_node.copy()
        free_node[nodes] = False
        free = domain_counts(free_node.astype(np.int64), self.table.start, self.table.nodes)
        return replace(self, free_node=free_node, free=free)

    def say(self, step: str) -> None:
        """Append a text about a step of a rule to `steps`; do nothing if `steps` is None.

        Callers check `steps` themselves if the text is expensive to make.
        """
        if self.steps is not None:
            self.steps.append(step)

    def name(self, switch: int) -> str:
        return self.table.names[switch]

    def describe(self, switch: int) -> str:
        """A switch as text with its state and free nodes: ``S1 (idle, 8 free)``."""
        state = state_name(int(self.state[switch]), bool(self.unhealthy[switch]))
        return f"{self.name(switch)} ({state}, {int(self.free[switch])} free)"

    def _with_room(self, chosen: npt.NDArray[Any]) -> Mask:
        found: Mask = chosen & (self.free > 0)
        return found

    def idle(self) -> Mask:
        """Which leaf switches are idle and have a free node: bool of shape (s,)."""
        return self._with_room(self.state == IDLE)

    def healthy(self) -> Mask:
        """Which leaf switches are shared and healthy and have a free node: bool of shape (s,)."""
        return self._with_room((self.state == SHARED) & ~self.unhealthy)

    def ascending(self, chosen: Mask) -> Longs:
        """Switches of the mask ``chosen``, those with few free nodes first; ties in configuration order."""
        switches = chosen.nonzero()[0]
        return switches[self.free[switches].argsort(kind="stable")]

    def descending(self, chosen: Mask) -> Longs:
        """Switches of the mask ``chosen``, those with many free nodes first; ties in configuration order."""
        switches = chosen.nonzero()[0]
        return switches[(-self.free[switches]).argsort(kind="stable")]

    def smallest(self, chosen: Mask, n_pods: int) -> int:
        """Switch of the mask ``chosen`` with the fewest free nodes that has `n_pods` or more; -1: none.

        Ties: configuration order.
        """
        fitting = (chosen & (self.free >= n_pods)).nonzero()[0]
        return int(fitting[self.free[fitting].argmin()]) if len(fitting) else -1
