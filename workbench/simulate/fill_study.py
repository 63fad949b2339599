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
from workbench.model.pod_trace import PodTrace
from workbench.model.value import Value
from workbench.policies.contract import Policy
from workbench.simulate.day_zero import DayZero, Ints, Longs, tuned_arrivals
from workbench.simulate.fill_bound import allocation_bound

if TYPE_CHECKING:
    import pandas

__all__ = ["FillStudy", "fill_study"]


@dataclass(frozen=True, eq=False)
class FillStudy(Value):
    """Curves of every policy and seed.

    Attributes
    ----------
    trace : str
    seeds : tuple of int
    curves : mapping of (str, int) to pandas.DataFrame
        By policy and seed: `DayZeroFill.curve`.
    bounds : mapping of int to float
        By seed: percent of the cluster's GPU thousandths that no policy can exceed (`allocation_bound`).
    provenance : Provenance
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

    def frame(self) -> pandas.DataFrame:
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

    Parameters
    ----------
    trace : PodTrace
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

    Raises
    ------
    InputError
        A policy that cannot share GPUs; a trace without GPUs.
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
