"""`job_cost`: communication time of a placed training job per step, and the part of it that each tier adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.evaluate.cost.checks import four_digits
from workbench.evaluate.cost.cost_model import LEFT_OUT, CollectiveCost, CostModel
from workbench.evaluate.cost.parallel_shape import Exchange, ParallelShape, TrainingModel, exchanges
from workbench.evaluate.cost.step_time import PipelineStep
from workbench.kernels.rows import unique_rows
from workbench.model.arrays import Longs
from workbench.model.counted import counted
from workbench.model.placement import Placement

__all__ = ["Interval", "JobCost", "PartCost", "TierCost", "job_cost", "nodes_by_rank"]


#: Kinds of `Exchange` whose calls belong to one micro batch; the others come once per step.
_PER_MICROBATCH = ("tensor", "context", "expert")


@dataclass(frozen=True)
class Interval:
    """Milliseconds with the ends of their interval."""

    ms: float
    low_ms: float
    high_ms: float

    def to_dict(self) -> dict[str, float]:
        """The interval as a JSON-ready dict."""
        return {"ms": four_digits(self.ms), "low_ms": four_digits(self.low_ms), "high_ms": four_digits(self.high_ms)}


@dataclass(frozen=True)
class PartCost:
    """Communication time of one kind of parallelism of a job.

    Attributes
    ----------
    ranks, nodes : int
        Ranks of a group, and nodes of the slowest group.
    basis : str
        Basis of the time, as for `Estimate`.
    time : Interval
        Time of a step, all calls of the slowest group one after the other.
    gb_s : float
        GB/s that a rank sends during this time.
    crossings : mapping of int to int
        As for `CollectiveCost`.
    """

    exchange: Exchange
    ranks: int
    nodes: int
    basis: str
    time: Interval
    gb_s: float
    crossings: Mapping[int, int]


@dataclass(frozen=True)
class TierCost:
    """Time that the links above the HyperNodes of one tier add to a training step.

    `hypernodes`: HyperNodes of this tier that hold GPUs of the job. `gb_s`: GB/s per GPU of the links above them.
    `added_ms`: milliseconds of a step with nothing hidden, beyond what the closer tiers need.
    """

    tier: int
    hypernodes: int
    gb_s: float
    added_ms: float


@dataclass(frozen=True)
class JobCost:
    """Communication of one placed job.

    Attributes
    ----------
    machine, calibration : str
        The machine that all nodes count as, and the name of the calibration.
    sources : tuple of str
        Origin of the calibration.
    nodes : int
        Nodes with a GPU of the job.
    tiers : tuple of TierCost
        Tiers of which the job uses more than one HyperNode, closest first.
    hidden, exposed : Interval
        Communication of a step: as much of the data-parallel part hidden as the backward pass of one micro batch can
        hide (all of it where no compute time is known), and nothing hidden. The pipeline's bubbles are in both.
    step : tuple of Interval or None
        A step with compute, likewise; None if no compute time is known.
    sent_gb : float
        GB that a rank sends per step.
    """

    job: str
    shape: ParallelShape
    machine: str
    calibration: str
    sources: tuple[str, ...]
    nodes: int
    parts: tuple[PartCost, ...]
    tiers: tuple[TierCost, ...]
    hidden: Interval
    exposed: Interval
    step: tuple[Interval, Interval] | None
    sent_gb: float
    left_out: tuple[str, ...] = LEFT_OUT

    @property
    def gb_s(self) -> float:
        """GB/s that a rank sends during `exposed`; 0: nothing takes time."""
        return _rate(self.sent_gb, self.exposed.ms)

    @property
    def low_gb_s(self) -> float:
        """Lower end of the interval of `gb_s`."""
        return _rate(self.sent_gb, self.exposed.high_ms)

    @property
    def high_gb_s(self) -> float:
        """Upper end of the interval of `gb_s`."""
        return _rate(self.sent_gb, self.exposed.low_ms)

    def to_dict(self) -> dict[str, Any]:
        """The costs as a JSON-ready dict; times in milliseconds per step."""
        return {
            "job": self.job,
            "shape": str(self.shape),
            "machine": self.machine,
            "calibration": {"name": self.calibration, "sources": list(self.sources)},
            "nodes": self.nodes,
            "communication": {"hidden": self.hidden.to_dict(), "exposed": self.exposed.to_dict()},
            "step": self.step and {"hidden": self.step[0].to_dict(), "exposed": self.step[1].to_dict()},
            "gb_s": four_digits(self.gb_s),
            "low_gb_s": four_digits(self.low_gb_s),
            "high_gb_s": four_digits(self.high_gb_s),
            "parts": [
                {
                    "kind": part.exchange.kind,
                    "collective": part.exchange.collective,
                    "bytes": part.exchange.size,
                    "calls": part.exchange.calls,
                    "bytes_per_rank": part.exchange.bytes_per_rank,
                    "ranks": part.ranks,
                    "nodes": part.nodes,
                    **part.time.to_dict(),
                    "gb_s": four_digits(part.gb_s),
                    "basis": part.basis,
                    "crossings": {str(tier): count for tier, count in part.crossings.items()},
                }
                for part in self.parts
            ],
            "tiers": [
                {
                    "tier": tier.tier,
                    "hypernodes": tier.hypernodes,
                    "gb_s": tier.gb_s,
                    "added_ms": four_digits(tier.added_ms),
                }
                for tier in self.tiers
            ],
            "left_out": list(self.left_out),
        }


def nodes_by_rank(placement: Placement) -> Longs:
    """Node of each GPU of a placed job: pods in the order of their ranks, each with its GPUs in a row.

    Raises InputError: a pod has no node.
    """
    if (placement.node < 0).any():
        raise InputError(
            "the job is not wholly placed",
            source=placement.gang.key,
            got=f"{placement.n_placed} of {counted(placement.gang.n_pods, 'pod')}",
            expected="a node for every pod",
        )
    gpus = np.array([role.n_gpus for role in placement.gang.roles])[placement.gang.role_of_pod]
    order = np.arange(len(gpus)) if placement.rank is None else np.argsort(placement.rank, kind="stable")
    return np.repeat(placement.node[order].astype(np.int64), gpus[order])


def job_cost(job: str, nodes: Longs, shape: ParallelShape, model: TrainingModel, costs: CostModel) -> JobCost:
    """Communication of one training step of a placed job.

    `job`: name, for the result. `nodes` (ndarray of shape (GPUs,), int64): Node of each GPU in the order of ranks, as
    of `nodes_by_rank`. Raises InputError: the shape does not multiply to the number of GPUs, or a tier without a speed
    is crossed.
    """
    if shape.ranks != len(nodes):
        raise InputError(
            "the parallel shape does not fit the job",
            source=job,
            got=f"{shape} = {counted(shape.ranks, 'GPU')}",
            expected=f"DP x TP x PP x CP = {len(nodes):,}, the GPUs of its pods",
        )
    slowest: list[tuple[Exchange, CollectiveCost, int, int]] = []
    for exchange in exchanges(shape, model):
        groups = unique_rows(nodes[shape.groups(exchange.kind)])[0]
        found = [(costs.cost(exchange.collective, exchange.size, group), group) for group in groups]
        cost, group = max(found, key=lambda each: each[0].estimate.time_s)
        slowest.append((exchange, cost, len(group), len(np.unique(group))))
    parts = tuple(_part(*each) for each in slowest)
    hidden, exposed = _communication(shape, model, [part.time for part in parts], [e for e, _, _, _ in slowest])
    tiers = _tiers(shape, model, nodes, [(exchange, cost) for exchange, cost, _, _ in slowest], costs)
    sent_gb = sum(exchange.bytes_per_rank for exchange, _, _, _ in slowest) / 1e9
    return JobCost(
        job,
        shape,
        costs.machine,
        costs.calibration.name,
        costs.calibration.sources,
        len(np.unique(nodes)),
        parts,
        tiers,
        hidden,
        exposed,
        _steps(shape, model, hidden, exposed),
        sent_gb,
    )


def _part(exchange: Exchange, cost: CollectiveCost, ranks: int, nodes: int) -> PartCost:
    estimate = cost.estimate
    times = Interval(*(exchange.calls * each * 1e3 for each in (estimate.time_s, estimate.low_s, estimate.high_s)))
    gb_s = exchange.size * _sent_share(exchange.collective, ranks) / estimate.time_s / 1e9
    return PartCost(exchange, ranks, nodes, estimate.basis, times, gb_s, cost.crossings)


def _sent_share(collective: str, ranks: int) -> float:
    """Bytes that a rank sends over the size of the collective."""
    return (2 if collective == "all-reduce" else 1) * (ranks - 1) / ranks


def _exposed_ms(shape: ParallelShape, model: TrainingModel, kinds: list[str], ms: list[float]) -> tuple[float, float]:
    """Milliseconds of communication per step, as much hidden as can be and nothing hidden."""
    each = dict.fromkeys((*_PER_MICROBATCH, "pipeline", "data", "expert-data"), 0.0)
    for kind, time in zip(kinds, ms, strict=True):
        each[kind] += time / 1e3
    m = model.microbatches
    step = PipelineStep(
        m,
        shape.pipeline,
        model.forward_s,
        model.backward_s,
        model.interleave,
        tp_comm_s=(each["tensor"] + each["context"]) / m,
        ep_comm_s=each["expert"] / m,
        dp_comm_s=each["data"] + each["expert-data"],
    )
    compute = _compute_s(shape, model)
    overlapped, plain = step.both_ends()
    least = overlapped.step_s if model.backward_s else overlapped.step_s - overlapped.dp_exposed_s
    return (least + each["pipeline"] - compute) * 1e3, (plain.step_s + each["pipeline"] - compute) * 1e3


def _communication(
    shape: ParallelShape, model: TrainingModel, times: list[Interval], exchanged: list[Exchange]
) -> tuple[Interval, Interval]:
    kinds = [exchange.kind for exchange in exchanged]
    middle = _exposed_ms(shape, model, kinds, [time.ms for time in times])
    low = _exposed_ms(shape, model, kinds, [time.low_ms for time in times])
    high = _exposed_ms(shape, model, kinds, [time.high_ms for time in times])
    return Interval(middle[0], low[0], high[0]), Interval(middle[1], low[1], high[1])


def _tiers(
    shape: ParallelShape,
    model: TrainingModel,
    nodes: Longs,
    slowest: list[tuple[Exchange, CollectiveCost]],
    costs: CostModel,
) -> tuple[TierCost, ...]:
    """Time that each tier adds to a step with nothing hidden, closest tier first."""
    topology = costs.topology
    used = np.unique(nodes)
    found = []
    kinds = [exchange.kind for exchange, _ in slowest]
    before = _exposed_ms(shape, model, kinds, [e.calls * c.calibrated.time_s * 1e3 for e, c in slowest])[1]
    for tier in topology.tiers:
        hypernodes = len(np.unique(topology.domain_of_node(tier)[used]))
        after = _exposed_ms(shape, model, kinds, [e.calls * c.within(tier) * 1e3 for e, c in slowest])[1]
        if hypernodes > 1 and tier in costs.tier_gb_s:
            found.append(TierCost(tier, hypernodes, costs.tier_gb_s[tier], after - before))
        before = after
    return tuple(found)


def _steps(
    shape: ParallelShape, model: TrainingModel, hidden: Interval, exposed: Interval
) -> tuple[Interval, Interval] | None:
    if not model.forward_s:
        return None
    ms = _compute_s(shape, model) * 1e3
    first, second = (Interval(ms + each.ms, ms + each.low_ms, ms + each.high_ms) for each in (hidden, exposed))
    return first, second


def _rate(gb: float, ms: float) -> float:
    return gb / (ms * 1e-3) if ms else 0.0


def _compute_s(shape: ParallelShape, model: TrainingModel) -> float:
    """Seconds of a step without communication, the bubbles of the pipeline among them."""
    step = PipelineStep(model.microbatches, shape.pipeline, model.forward_s, model.backward_s, model.interleave)
    return step.time(overlapped=False).step_s
