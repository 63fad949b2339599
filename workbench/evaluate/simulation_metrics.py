"""Declarations of the metrics of simulations and of filled clusters, each with the function that computes it.

The order is that of tables, pages and JSON.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.evaluate.metric import EVERYWHERE, NOWHERE, Metric, View
from workbench.evaluate.simulation_facts import FillFacts, SimulationFacts

__all__ = ["FILL_METRICS", "NEVER_PLACED", "SIMULATION_METRICS"]

#: Jobs that arrived and never started. Waiting times leave them out.
NEVER_PLACED = "never_placed"

_NO_STUDY = EVERYWHERE & ~View.STUDY


def _percentile(q: int) -> Callable[[SimulationFacts], float | None]:
    return lambda facts: float(np.percentile(facts.waited_s, q)) if len(facts.waited_s) else None


def _never_placed(facts: SimulationFacts) -> int:
    arrived = facts.jobs["submitted_s"] <= facts.result.ended_s
    return int((facts.jobs["started_s"].isna() & arrived).sum())


SIMULATION_METRICS = (
    Metric("jobs", "jobs", count=True, in_runs=NOWHERE, simulation=lambda facts: len(facts.result.jobs)),
    Metric(
        "completed",
        "completed",
        unit="jobs",
        brief="completed",
        better="higher",
        count=True,
        in_runs=_NO_STUDY,
        simulation=lambda facts: int(facts.jobs["ended_s"].notna().sum()),
    ),
    Metric(
        "waited_mean_s",
        "wait, mean",
        meaning="waiting of the jobs that started, also after faults",
        unit="s",
        brief="wait mean",
        better="lower",
        simulation=lambda facts: float(facts.waited_s.mean()) if len(facts.waited_s) else None,
    ),
    Metric(
        "waited_p50_s",
        "wait, p50",
        unit="s",
        brief="p50",
        better="lower",
        in_runs=_NO_STUDY,
        simulation=_percentile(50),
    ),
    Metric("waited_p99_s", "wait, p99", unit="s", brief="p99", better="lower", simulation=_percentile(99)),
    Metric(
        "slowdown_p50",
        "slowdown, p50",
        meaning="median over the completed jobs of (waiting + running) / running",
        brief="slowdown",
        better="lower",
        in_runs=_NO_STUDY,
        simulation=lambda facts: float(np.median(facts.slowdowns)) if len(facts.slowdowns) else None,
    ),
    Metric(
        "gpu_use",
        "GPUs in use",
        meaning="GPU time that jobs held, of the time of all GPUs",
        better="higher",
        share=True,
        simulation=lambda facts: facts.gpu_use,
    ),
    Metric(
        "span_s",
        "simulated time",
        meaning="the last completion, or the end of the simulation if something was left to happen",
        unit="s",
        brief="until",
        better="lower",
        in_runs=_NO_STUDY,
        simulation=lambda facts: facts.span_s,
    ),
    Metric(
        "makespan_s",
        "until the last job ends",
        unit="s",
        better="lower",
        in_runs=NOWHERE,
        simulation=lambda facts: facts.makespan_s,
    ),
    Metric(
        "restarts",
        "restarts",
        unit="restarts",
        brief="restarts",
        better="lower",
        count=True,
        in_runs=_NO_STUDY,
        simulation=lambda facts: int(facts.jobs["restarts"].sum()),
    ),
    Metric(
        "redone",
        "work undone by faults",
        meaning="part of the GPU time in use whose work faults undid",
        brief="redone (%)",
        better="lower",
        share=True,
        in_runs=_NO_STUDY,
        simulation=lambda facts: facts.part_of_use("redone_s"),
    ),
    Metric(
        "slowed",
        "GPU time that the network cost",
        meaning="part of the GPU time in use that steps took beyond those on links that nobody shares",
        brief="network cost (%)",
        better="lower",
        share=True,
        rare=True,
        in_runs=_NO_STUDY,
        simulation=lambda facts: facts.part_of_use("slowed_s"),
    ),
    Metric(
        NEVER_PLACED,
        "never ran",
        meaning="jobs that arrived and never started; waiting times leave them out",
        unit="jobs",
        better="lower",
        count=True,
        rare=True,
        in_runs=View.STUDY,
        simulation=_never_placed,
    ),
)


def _deviation(facts: FillFacts) -> float | None:
    return float(facts.allocated.std(ddof=1)) if len(facts.allocated) > 1 else None


#: All in percent of the cluster's GPU thousandths, means over the seeds.
FILL_METRICS = (
    Metric(
        "allocated",
        "allocated",
        unit="%",
        brief="allocated",
        better="higher",
        fill=lambda facts: float(facts.allocated.mean()),
    ),
    Metric("sd", "sd", meaning="sample standard deviation of what is allocated", unit="%", brief="sd", fill=_deviation),
    Metric(
        "unallocated",
        "unallocated",
        unit="%",
        brief="unallocated",
        better="lower",
        fill=lambda facts: 100 - float(facts.allocated.mean()),
    ),
    Metric(
        "below_bound",
        "below bound",
        meaning="distance to what no policy can exceed, were all arrivals known",
        unit="%",
        brief="below bound",
        better="lower",
        fill=lambda facts: float((facts.bounds - facts.allocated).mean()),
    ),
    Metric(
        "fragmented",
        "fragmented",
        meaning="idle, and useless to the usual pod",
        unit="%",
        brief="fragmented",
        better="lower",
        fill=lambda facts: float(facts.fragmented.mean()),
    ),
)
