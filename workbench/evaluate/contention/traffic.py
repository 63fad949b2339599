"""`job_traffic`: GB per training step that a placed job puts on each link of a fabric.

`TrainingStep`: what a job computes and sends in each step, whatever its placement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.evaluate.contention.fabric import RoutedFabric
from workbench.evaluate.cost.checks import not_negative
from workbench.evaluate.cost.parallel_shape import ParallelShape, TrainingModel, exchanges
from workbench.evaluate.cost.step_time import PipelineStep
from workbench.model.arrays import Longs
from workbench.model.counted import counted
from workbench.model.placement import Placement
from workbench.model.value import Value

__all__ = ["JobTraffic", "TrainingStep", "gpus_by_rank", "job_traffic"]


@dataclass(frozen=True, eq=False)
class TrainingStep(Value):
    """Compute and traffic of one step; steps follow each other for as long as the job runs.

    `compute_s`: seconds without traffic between nodes. `sent_gb`: GB that one rank sends in a step, by kind of
    parallelism as for `ParallelShape.groups`. Without a shape the one kind is ``data``. `shape`: None: every GPU is a
    data-parallel rank.
    """

    compute_s: float
    sent_gb: Mapping[str, float] = field(default_factory=dict)
    shape: ParallelShape | None = None

    def __post_init__(self) -> None:
        not_negative(self.compute_s, "compute_s")
        for kind, gb in self.sent_gb.items():
            not_negative(gb, f"GB sent, {kind}")

    @classmethod
    def of(cls, shape: ParallelShape, model: TrainingModel) -> TrainingStep:
        """The step of a model that is cut in this shape, its compute with the bubbles of the pipeline.

        `model`: with `forward_s` and `backward_s`, else a step is communication only.
        """
        step = PipelineStep(model.microbatches, shape.pipeline, model.forward_s, model.backward_s, model.interleave)
        sent = {each.kind: each.bytes_per_rank / 1e9 for each in exchanges(shape, model)}
        return cls(step.time(overlapped=False).step_s, sent, shape)


Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JobTraffic:
    """What one step of a job puts on the links.

    `link` (ndarray of shape (k,), int32): links in use, ascending. `gb` (ndarray of shape (k,), float64): GB per step
    on each. `largest_gb`: GB of the largest single flow; 0: nothing leaves a node.
    """

    link: npt.NDArray[np.int32]
    gb: Reals
    largest_gb: float


def gpus_by_rank(placement: Placement) -> tuple[Longs, Longs]:
    """Node and number of each GPU of a job: pods in the order of their ranks, each with its GPUs in a row.

    Pods that were left out, beyond the minimum, have none. Where the placement does not say which GPUs a pod holds, the
    pods of a node count as holding its GPUs from the lowest on.

    Returns: ndarray of shape (GPUs,), int64.
    """
    counts = np.array([role.n_gpus for role in placement.gang.roles])[placement.gang.role_of_pod]
    order = np.arange(len(counts)) if placement.rank is None else np.argsort(placement.rank, kind="stable")
    nodes: list[int] = []
    gpus: list[int] = []
    next_gpu: dict[int, int] = {}
    for pod in order.tolist():
        node = int(placement.node[pod])
        if node < 0:
            continue
        n = int(counts[pod])
        if placement.gpu_words is not None:
            mask = placement.gpu_mask(pod)
            held = [gpu for gpu in range(mask.bit_length()) if mask >> gpu & 1]
        else:
            begin = next_gpu.get(node, 0)
            held = list(range(begin, begin + n))
            next_gpu[node] = begin + n
        nodes += [node] * len(held)
        gpus += held
    return np.array(nodes, dtype=np.int64), np.array(gpus, dtype=np.int64)


def job_traffic(
    fabric: RoutedFabric, placement: Placement, step: TrainingStep, job: int, broken: frozenset[int] = frozenset()
) -> JobTraffic:
    """What one step of a placed job puts on each link.

    Data-, tensor- and context-parallel groups pass their bytes round a ring in the order of ranks. From one node of a
    ring to the next the bytes are spread over all GPUs that the group has there, as the channels of a collective
    library do. Neighbouring pipeline stages send each other one half of their bytes; expert-parallel ranks send every
    other rank the same share.

    `job`: number of the job, for the routes. `broken`: as for `RoutedFabric.paths`. Raises InputError: the shape does
    not multiply to the GPUs of the job.
    """
    node, gpu = gpus_by_rank(placement)
    shape = step.shape
    if shape is not None and shape.ranks != len(node):
        raise InputError(
            "the parallel shape does not fit the job",
            source=placement.gang.key,
            got=f"{shape} = {counted(shape.ranks, 'GPU')}",
            expected=f"DP x TP x PP x CP = {len(node):,}, the GPUs of its placed pods",
        )
    rail = fabric.rail(node, gpu)
    sources: list[Longs] = []
    targets: list[Longs] = []
    rails: list[Longs] = []
    amounts: list[Reals] = []
    for kind, gb in step.sent_gb.items():
        groups = np.arange(len(node))[None, :] if shape is None else shape.groups(kind)
        if not gb or groups.shape[1] < 2:
            continue
        for group in groups:
            held = node[group]
            if (held == held[0]).all():
                continue
            if kind in ("pipeline", "expert"):
                begin, end = (group[each] for each in np.nonzero(held[:, None] != held[None, :]))
                share = np.full(len(begin), 0.5 if kind == "pipeline" else 1 / (len(group) - 1))
            else:
                begin, end, share = _ring(group, held)
            sources.append(node[begin])
            targets.append(node[end])
            rails.append(rail[end])
            amounts.append(gb * share)
    if not sources:
        return JobTraffic(np.empty(0, dtype=np.int32), np.empty(0), 0.0)
    source, target = np.concatenate(sources), np.concatenate(targets)
    amount = np.concatenate(amounts)
    flow, link = fabric.paths(source, target, np.concatenate(rails), job, broken)
    used, where = np.unique(link, return_inverse=True)
    on_link = np.bincount(where, amount[flow], len(used)).astype(np.float64)
    return JobTraffic(used.astype(np.int32), on_link, float(amount[source != target].max()))


def _ring(group: Longs, held: Longs) -> tuple[Longs, Longs, Reals]:
    """Flows between neighbouring nodes of a ring of ranks: ranks that send and receive, and share of the bytes."""
    begin: list[int] = []
    end: list[int] = []
    share: list[float] = []
    members = {int(node): group[held == node] for node in np.unique(held)}
    leaving = np.flatnonzero(held != np.roll(held, -1))
    for at in leaving.tolist():
        here, there = members[int(held[at])], members[int(held[(at + 1) % len(held)])]
        begin += here.tolist()
        end += there[np.arange(len(here)) % len(there)].tolist()
        share += [1 / len(here)] * len(here)
    return np.array(begin), np.array(end), np.array(share)
