"""`FillStudy`: an idle cluster filled with the pods of a trace by several policies, in several orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.cancel import check
from workbench.evaluate.metrics import Measured, measure_fill
from workbench.evaluate.provenance import Provenance, record_provenance
from workbench.evaluate.simulation_facts import FillFacts
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.pod_trace import PodTrace
from workbench.model.resources import CPU
from workbench.model.value import Value
from workbench.policies.contract import Policy
from workbench.simulate.day_zero import DayZero, Ints, Longs, tuned_arrivals

if TYPE_CHECKING:
    import pandas

__all__ = ["FillStudy", "allocation_bound", "fill_study"]


@dataclass(frozen=True, eq=False)
class FillStudy(Value):
    """Curves of every policy and seed.

    `curves`: by policy and seed: `DayZeroFill.curve`. `bounds`: by seed: percent of the cluster's GPU thousandths that
    no policy can exceed (`allocation_bound`).
    """

    trace: str
    seeds: tuple[int, ...]
    curves: Mapping[tuple[str, int], pandas.DataFrame]
    bounds: Mapping[int, float]
    provenance: Provenance

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies in their order."""
        return tuple(dict.fromkeys(policy for policy, _ in self.curves))

    def to_dataframe(self) -> pandas.DataFrame:
        """All curves in one table: a row per policy, seed and percent of arrived demand."""
        import pandas

        parts = [curve.reset_index().assign(policy=policy, seed=seed) for (policy, seed), curve in self.curves.items()]
        frame = pandas.concat(parts, ignore_index=True)
        frame = frame[["policy", "seed", "arrived", "allocated", "fragmented", "fragmented_of_idle"]]
        frame.attrs["provenance"] = self.provenance.to_dict()
        return frame

    def mean(self, policy: str) -> pandas.DataFrame:
        """Mean curve of one policy over the seeds."""
        import pandas

        curves = [self.curves[policy, seed] for seed in self.seeds]
        return pandas.concat(curves).groupby(level="arrived").mean()

    def measured(self, policy: str) -> Measured:
        """The metrics of one policy at the end of its runs."""
        last = [self.curves[policy, seed].iloc[-1] for seed in self.seeds]
        allocated, fragmented = (np.array([row[name] for row in last]) for name in ("allocated", "fragmented"))
        return measure_fill(FillFacts(allocated, fragmented, np.array([self.bounds[seed] for seed in self.seeds])))

    def summary(self) -> pandas.DataFrame:
        """A row per policy at the end of the runs, in percent of the cluster's GPU thousandths.

        A column per metric (`workbench.evaluate.simulation_metrics.FILL_METRICS`): ``allocated`` and ``fragmented``,
        means over the seeds; ``sd``, the sample standard deviation of ``allocated`` (NaN for one seed);
        ``unallocated``; ``below_bound``, the mean distance to the upper bound; then those that users added.
        """
        import pandas

        rows = [{"policy": policy, **self.measured(policy).values} for policy in self.policies]
        return pandas.DataFrame(rows).set_index("policy").astype(np.float64)

    def to_dict(self) -> dict[str, Any]:
        summary = self.summary().reset_index()
        return {
            "trace": self.trace,
            "summary": [{name: _plain(value) for name, value in row.items()} for row in summary.to_dict("records")],
            "bounds": {str(seed): bound for seed, bound in self.bounds.items()},
            "curves": [
                {"policy": policy, "seed": seed, **{str(name): [_plain(x) for x in curve[name]] for name in curve}}
                for (policy, seed), curve in self.curves.items()
            ],
            "provenance": self.provenance.to_dict(),
        }


def _plain(value: Any) -> Any:
    """None for NaN, which JSON does not know."""
    return None if value != value else value


def fill_study(
    trace: PodTrace,
    policies: Sequence[Policy],
    seeds: Sequence[int],
    *,
    load: float = 1.3,
    orders: Mapping[int, tuple[Longs, Ints]] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> FillStudy:
    """Fill an idle cluster with the pods of a trace, once for every policy and seed.

    Raises InputError: a policy that cannot share GPUs; a trace without GPUs.

    Parameters
    ----------
    policies : sequence of Policy
        Those that let pods share GPUs.
    seeds : sequence of int
        Each gives the order of arrivals, the order in which equal nodes win, and the draws of `fgd-random`.
    load : float
        GPU thousandths asked for, as a multiple of the cluster's (`tuned_arrivals`).
    orders : mapping of int to (ndarray, ndarray), optional
        Arrivals and order of nodes of each seed, in place of those drawn (`workbench.formats.openb.read_openb_order`).
    progress : callable, optional
        Called before each run with the number of runs done, of all runs, and what comes next; once more at the end.
    """
    ready = DayZero(trace)
    curves, bounds = {}, {}
    total = int(np.bitwise_count(trace.snapshot.gpu_total).sum()) * 1000
    done, runs = 0, len(policies) * len(seeds)
    for seed in seeds:
        arrivals, order = _drawn(trace, seed, load) if orders is None else orders[seed]
        bounds[seed] = allocation_bound(trace, arrivals) / total * 100
        for policy in policies:
            check()
            if progress is not None:
                progress(done, runs, f"{policy.name}, seed {seed}")
            filled = ready.fill(policy, arrivals, order=order, rng=np.random.default_rng(seed))
            curves[policy.name, seed] = filled.curve()
            done += 1
    if progress is not None:
        progress(done, runs, "")
    listed = {(policy.name, seed): curves[policy.name, seed] for policy in policies for seed in seeds}
    named = [(policy.name, policy.parameters) for policy in policies]
    provenance = record_provenance(trace.snapshot, named, trace.inputs)
    return FillStudy(trace.name, tuple(seeds), listed, bounds, provenance)


def _drawn(trace: PodTrace, seed: int, load: float) -> tuple[Longs, Ints]:
    rng = np.random.default_rng(seed)
    return tuned_arrivals(trace, load, rng), rng.permutation(trace.snapshot.n_nodes).astype(np.int32)


def allocation_bound(trace: PodTrace, arrivals: Longs) -> int:
    """GPU thousandths that no choice of nodes and GPUs can exceed, be all arrivals known beforehand.

    `arrivals` (ndarray of shape (a,), int64): positions in ``trace.gangs``. Returns: the smaller of two numbers: what
    the arrivals ask for, and the sum over groups of nodes that accept the same pods of what such a group can hold. A
    group holds at most as much as its GPUs, each filled with the sizes of pods that come closest to a whole GPU, and at
    most what its CPUs feed: all pods that it accepts are offered to it, cut into pieces, those with the least CPU per
    GPU first.

    Notes
    -----
    The bound forgets that a pod runs once, on one node, and that memory is limited. It is therefore loose; the distance
    of a policy from it is an upper bound on what is left to gain.
    """
    asked = trace.gpu_milli[arrivals]
    conditions = {gang.roles[0].filter for gang, shape in zip(trace.gangs, trace.shapes, strict=True) if shape.gpus}
    masks = {condition: trace.snapshot.filters.mask(condition) for condition in conditions}
    table = np.stack(list(masks.values()), axis=1) if masks else np.zeros((trace.snapshot.n_nodes, 0), dtype=np.bool_)
    number = {condition: i for i, condition in enumerate(masks)}
    of_pod = np.array([number.get(gang.roles[0].filter, -1) for gang in trace.gangs])[arrivals]
    cpu = np.array([shape.cpu_milli for shape in trace.shapes], dtype=np.int64)[arrivals]
    sizes = np.array([shape.gpu_milli for shape in trace.shapes], dtype=np.int64)[arrivals]
    gpus = np.bitwise_count(trace.snapshot.gpu_total).sum(axis=1, dtype=np.int64)
    cpus = trace.snapshot.allocatable[:, trace.snapshot.resources.index(CPU)]
    groups, of_node = np.unique(table, axis=0, return_inverse=True)
    total = 0
    for g, accepts in enumerate(groups):
        nodes = of_node.reshape(-1) == g
        fits = (asked > 0) & accepts[of_pod] if len(accepts) else np.zeros(len(asked), dtype=np.bool_)
        by_gpus = int(gpus[nodes].sum()) * _fullest(np.unique(sizes[fits]).tolist())
        total += min(by_gpus, _fed(asked[fits], cpu[fits], int(cpus[nodes].sum())))
    return min(total, int(asked.sum()))


def _fullest(sizes: Sequence[int]) -> int:
    """The largest sum of sizes, each taken as often as wanted, that does not exceed a whole GPU."""
    reached = 1
    for size in sizes:
        for _ in range(WHOLE_GPU // size):
            reached |= reached << size
    return (reached & ((1 << (WHOLE_GPU + 1)) - 1)).bit_length() - 1


def _fed(asked: Longs, cpu: Longs, cpus: int) -> int:
    """GPU thousandths of the pods that need the least CPU for each, as many as the CPUs feed; the last one in part."""
    order = np.argsort(cpu / asked, kind="stable")
    used = np.cumsum(cpu[order])
    whole = int(np.searchsorted(used, cpus, side="right"))
    fed = int(asked[order][:whole].sum())
    if whole < len(order):
        left = cpus - (int(used[whole - 1]) if whole else 0)
        fed += int(asked[order][whole] * left // int(cpu[order][whole]))
    return fed
