"""Breakdowns of nodes, GPUs, switches and cables with their repairs: given, or drawn with exponential times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from workbench.cancel import check
from workbench.errors import CapacityError, InputError
from workbench.evaluate.contention import Network, RoutedFabric
from workbench.model.clock import EventQueue
from workbench.model.counted import counted
from workbench.model.placement import words_to_mask
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Value
from workbench.simulate.active_jobs import BREAK, REPAIR, ActiveJobs, Key
from workbench.simulate.candidates import Candidates
from workbench.simulate.job_run import JobRun

__all__ = ["Breakdown", "FaultRates", "Faults", "checked_breakdowns", "draw_breakdowns"]

_DAY = 86_400.0

#: Most breakdowns that are drawn: 30,000 GPUs have as many in 300 years.
_MOST_BREAKDOWNS = 1_000_000


@dataclass(frozen=True)
class Breakdown(Value):
    """Nodes, some GPUs of one node, or cables of a network that nobody can use for a time.

    Jobs on nodes and GPUs that break stop; jobs that send over a cable take another one, or stand still.

    Attributes
    ----------
    at_s, until_s : float
        Seconds since the start of the simulation.
    nodes : tuple of int
        Node indices: one, or all below a switch.
    gpus : int
        Bits of the broken GPUs of the one node; 0: the whole node.
    what : str
        Name of what broke.
    cables : tuple of int
        Numbers of cables as of `RoutedFabric.cable`, in simulations on a network.
    """

    at_s: float
    until_s: float
    nodes: tuple[int, ...]
    gpus: int = 0
    what: str = ""
    cables: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        times = 0 <= self.at_s < self.until_s < float("inf")
        once = len(set(self.nodes)) == len(self.nodes) and len(set(self.cables)) == len(self.cables)
        numbers = once and min((*self.nodes, *self.cables), default=-1) >= 0
        if not times or not numbers or self.gpus < 0 or (self.gpus and len(self.nodes) != 1):
            got = f"{self.at_s:g} to {self.until_s:g} s, {counted(len(self.nodes), 'node')}"
            expected = "0 <= at < until; nodes or cables, each once; one node for some of its GPUs"
            raise InputError("not a breakdown", source="breakdown", where=self.what, got=got, expected=expected)


@dataclass(frozen=True)
class FaultRates:
    """How often things break and how long repairs take; times are exponentially distributed.

    The defaults are planning figures from public reports on clusters of thousands of GPUs (docs/simulation.md).

    Attributes
    ----------
    node_per_1000_days : float
        Faults of whole nodes per 1,000 node-days.
    gpu_per_1000_days : float
        Faults of single GPUs per 1,000 GPU-days.
    switch_per_1000_days : float
        Faults per 1,000 days of a HyperNode of the lowest tier, each of which stops all its nodes.
    repair_s : float
        Mean time until a repair, seconds; above 0.
    cable_per_1000_days : float
        Faults per 1,000 days of a cable of a network, a network card of a node counted as one.
    """

    node_per_1000_days: float = 1.3
    gpu_per_1000_days: float = 0.25
    switch_per_1000_days: float = 0.3
    repair_s: float = 7200.0
    cable_per_1000_days: float = 0.02

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if not 0 <= value < float("inf") or (name == "repair_s" and not value):
                raise InputError(
                    "not a rate",
                    source="fault rates",
                    where=name,
                    got=f"{value:g}",
                    expected="from 0 on, repair_s above 0",
                )


def draw_breakdowns(
    snapshot: ClusterSnapshot,
    rates: FaultRates,
    until_s: float,
    rng: np.random.Generator,
    fabric: RoutedFabric | None = None,
) -> tuple[Breakdown, ...]:
    """Draw the breakdowns of a cluster from 0 to `until_s` seconds, in the order of their times.

    A part that is broken does not break again before its repair. The same generator state gives the same breakdowns.

    Raises CapacityError: more than a million breakdowns.

    Parameters
    ----------
    snapshot, rates
    until_s : float
        Seconds; repairs may end later.
    fabric : RoutedFabric, optional
        Network whose cables break, too; the other breakdowns are the same with and without it.
    """
    topology = snapshot.topology
    found: list[Breakdown] = []

    def draw(per_1000_days: float, nodes: tuple[int, ...], gpus: int, what: str, cables: tuple[int, ...] = ()) -> None:
        if per_1000_days <= 0:
            return
        time = 0.0
        while True:
            time += float(rng.exponential(1000 * _DAY / per_1000_days))
            if time >= until_s:
                return
            if len(found) == _MOST_BREAKDOWNS:
                text = f"more than {_MOST_BREAKDOWNS:,} breakdowns in {until_s:g} s"
                raise CapacityError(f"{text}; lower the rates, or simulate a shorter time")
            check()
            end = time + float(rng.exponential(rates.repair_s))
            found.append(Breakdown(time, end, nodes, gpus, what, cables))
            time = end

    for node in np.argsort(topology.node_rank):
        name = topology.node_names[int(node)]
        draw(rates.node_per_1000_days, (int(node),), 0, name)
        words = snapshot.gpu_total[node]
        for gpu in range(64 * len(words)):
            if int(words[gpu // 64]) >> gpu % 64 & 1:
                draw(rates.gpu_per_1000_days, (int(node),), 1 << gpu, f"{name} GPU {gpu}")
    if topology.tiers:
        for domain in topology.domains_at(topology.tiers[0]):
            members = tuple(int(node) for node in topology.nodes_of(int(domain)))
            if members:
                draw(rates.switch_per_1000_days, members, 0, topology.domain_names[int(domain)])
    for number in range(fabric.n_cables if fabric is not None and rates.cable_per_1000_days > 0 else 0):
        cable = fabric.cable(number)  # type: ignore[union-attr]  # no cable without a fabric
        what = f"{cable.below} rail {cable.rail} cable {cable.number}"
        draw(rates.cable_per_1000_days, (), 0, what, (number,))
    return tuple(sorted(found, key=lambda one: (one.at_s, one.what)))


class Faults:
    """The breakdowns of a simulation, which stop jobs and let them wait again.

    `breakdowns`, `runs`, `active`, `candidates`: those of the simulation; its jobs, by number; those that hold nodes,
    and those that wait.
    """

    def __init__(
        self, breakdowns: tuple[Breakdown, ...], runs: tuple[JobRun, ...], active: ActiveJobs, candidates: Candidates
    ) -> None:
        self._breakdowns, self._runs, self._active, self._candidates = breakdowns, runs, active, candidates

    def plan(self, events: EventQueue[Key]) -> None:
        """Plan every breakdown and its repair."""
        for number, one in enumerate(self._breakdowns):
            events.plan((BREAK, number), one.at_s)
            events.plan((REPAIR, number), one.until_s)

    def strike(self, number: int) -> bool:
        """Stop the jobs on what breaks and close it; whether a job stopped."""
        breakdown = self._breakdowns[number]
        hits = self._active.nodes.hit_by(breakdown.nodes, breakdown.gpus)
        for job, lost in hits.items():
            run = self._runs[job]
            ran = run.running is not None
            self._active.lose(run, lost)
            if run.standing is not None:
                # It asks for its missing pods from now on, and is like no other job.
                run.kind = len(self._runs) + job
            if ran:
                self._candidates.add(run)
        self._active.nodes.break_down(number, breakdown.nodes, breakdown.gpus)
        self._active.change_cables(breakdown.cables, 1)
        return bool(hits)

    def repair(self, number: int) -> bool:
        """Reopen what a breakdown closed."""
        self._active.nodes.repair(number)
        self._active.change_cables(self._breakdowns[number].cables, -1)
        return True


def checked_breakdowns(
    breakdowns: Iterable[Breakdown], snapshot: ClusterSnapshot, network: Network | None
) -> tuple[Breakdown, ...]:
    """The breakdowns, if what breaks is there; else an `InputError`.

    `breakdowns`, `snapshot`, `network`: as of `Simulation`.
    """
    found = tuple(breakdowns)
    no_gpu = np.zeros(1, dtype=np.uint64)
    for one in found:
        if not all(0 <= node < snapshot.n_nodes for node in one.nodes):
            raise InputError("a node that the cluster does not have", source="breakdown", where=one.what)
        if one.gpus & ~words_to_mask(snapshot.gpu_total[one.nodes[0]] if one.nodes else no_gpu):
            raise InputError("a GPU that the node does not have", source="breakdown", where=one.what)
        if one.cables and (network is None or not max(one.cables) < network.fabric.n_cables):
            raise InputError("a cable that the network does not have", source="breakdown", where=one.what)
    return found
