"""Declarations of the metrics of placed jobs and scheduling sessions, each with the function that computes it.

Functions take `JobFacts` or `RunFacts`. A function of a metric group returns None if the group was not measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench.evaluate.facts import JobFacts, RunFacts
from workbench.evaluate.metric import EVERYWHERE, NOWHERE, Metric, View
from workbench.evaluate.switch_sharing import JobSwitches, SwitchSharing

if TYPE_CHECKING:
    from workbench.evaluate.cost.job_cost import JobCost

__all__ = ["SESSION_METRICS"]


def _lca(job: JobFacts) -> str:
    topology = job.topology
    return topology.node_names[job.nodes[0]] if len(job.nodes) == 1 else topology.domain_name(job.common_domain)


def _lca_tier(job: JobFacts) -> int:
    return 0 if len(job.nodes) == 1 else job.topology.domain_tier(job.common_domain)


def _leaves(job: JobFacts) -> int:
    return next(iter(job.domains_used.values()), 0)


def _bottleneck(job: JobFacts) -> float | None:
    known = job.bottleneck_gb_s[~np.isnan(job.bottleneck_gb_s)]
    return float(known.min()) if len(known) else None


def _of_cost(number: Callable[[JobCost], float]) -> Callable[[JobFacts], float | None]:
    return lambda job: None if job.cost is None else number(job.cost)


def _of_switches(number: Callable[[JobSwitches], int]) -> Callable[[JobFacts], int | None]:
    return lambda job: None if job.switches is None else number(job.switches)


def _of_sharing(number: Callable[[SwitchSharing], Any]) -> Callable[[RunFacts], Any]:
    return lambda run: None if run.switches is None else number(run.switches)


def _communication(
    unit: Literal["ms", "gb_s"],
    end: Literal["", "low", "high"],
    heading: str,
    *,
    meaning: str,
    job: Callable[[JobCost], float],
    brief: str | None = None,
) -> Metric:
    """Declare a number of a job's communication, or an end of its interval: a run shows that of its slowest job."""
    time = unit == "ms"
    parts = [key for key in ("communication", end, unit) if key]
    ends = () if end else (f"communication_low_{unit}", f"communication_high_{unit}")
    shown = NOWHERE if end else EVERYWHERE
    return Metric(
        "_".join(parts),
        heading,
        meaning=meaning,
        unit="ms/step" if time else "GB/s",
        brief=brief,
        group="communication",
        better="lower" if time else "higher",
        total="max" if time else "min",
        ends=ends,
        in_jobs=shown,
        in_runs=shown,
        job=_of_cost(job),
    )


#: In the order of every output.
SESSION_METRICS = (
    Metric(
        "placed",
        "placed",
        brief="jobs",
        better="higher",
        whole=("placed", "pending"),
        run=lambda run: len(run.placements),
    ),
    Metric(
        "pending",
        "jobs pending",
        brief="pending",
        in_runs=NOWHERE,
        run=lambda run: len(run.decisions) - len(run.placements),
    ),
    Metric(
        "pods_placed",
        "pods",
        better="higher",
        whole=("pods",),
        run=lambda run: sum(len(job.placed) for job in run.jobs.values()),
    ),
    # Of a job the pods that have a node, of a run all pods of its jobs.
    Metric(
        "pods",
        "pods",
        in_jobs=View.PAGE,
        in_runs=NOWHERE,
        job=lambda job: len(job.placed),
        run=lambda run: sum(decision.gang.n_pods for decision in run.decisions),
    ),
    Metric(
        "nodes",
        "nodes",
        meaning="nodes with a pod of the job",
        total="sum",
        in_runs=View.PAGE,
        job=lambda job: len(job.nodes),
    ),
    Metric(
        "leaves",
        "leaves",
        meaning="HyperNodes of the lowest tier with a pod of the job",
        better="lower",
        in_jobs=View.PAGE | View.COMPARER,
        job=_leaves,
    ),
    Metric(
        "domains_used",
        "HyperNodes",
        meaning="HyperNodes with a pod of the job",
        by="tier",
        in_jobs=NOWHERE,
        job=lambda job: job.domains_used,
    ),
    Metric(
        "lca",
        "pods meet in",
        meaning="the closest HyperNode that holds every pod of the job; the node's name where there is only one",
        in_jobs=View.PAGE | View.COMPARER,
        job=_lca,
    ),
    Metric(
        "lca_tier",
        "widest tier",
        meaning="tier where the pods of a job meet, 0 on a single node",
        better="lower",
        total="max",
        in_jobs=View.COMPARER,
        in_runs=View.PAGE,
        job=_lca_tier,
    ),
    Metric(
        "pod_pairs",
        "pairs",
        meaning="pairs of pods of a job whose nodes meet there (the same node, tier 1 …)",
        brief="",
        by="tier",
        column="pairs",
        total="sum",
        in_jobs=NOWHERE,
        in_runs=View.TABLE | View.PAGE,
        job=lambda job: job.pod_pairs,
    ),
    Metric(
        "ring_crossings",
        "ring",
        meaning="links of the ring of ranks whose nodes meet there",
        by="tier",
        column="ring",
        total="sum",
        in_jobs=View.PAGE,
        in_runs=NOWHERE,
        job=lambda job: job.ring_crossings,
    ),
    Metric(
        "bottleneck_gb_s",
        "bottleneck",
        meaning="slowest GPU pair of a job on one node",
        unit="GB/s",
        brief="GB/s",
        better="higher",
        total="min",
        job=_bottleneck,
    ),
    Metric(
        "gpus_stranded",
        "GPUs stranded",
        meaning="GPUs left free on nodes where a job holds some",
        brief="stranded",
        better="lower",
        in_jobs=View.PAGE,
        job=lambda job: job.gpus_stranded,
        run=lambda run: run.gpus_stranded,
    ),
    _communication(
        "ms",
        "",
        "communication",
        meaning="of a training step of a job, nothing hidden; the interval begins with as much hidden as can be",
        brief="ms/step",
        job=lambda cost: cost.exposed.ms,
    ),
    _communication(
        "ms",
        "low",
        "communication, lower end",
        meaning="lower end of its interval, as much hidden as can be",
        job=lambda cost: cost.hidden.low_ms,
    ),
    _communication(
        "ms",
        "high",
        "communication, upper end",
        meaning="upper end of its interval, nothing hidden",
        job=lambda cost: cost.exposed.high_ms,
    ),
    _communication(
        "gb_s",
        "",
        "sent by a GPU",
        meaning="while a job communicates, nothing hidden",
        brief="GB/s sent",
        job=lambda cost: cost.gb_s,
    ),
    _communication(
        "gb_s",
        "low",
        "sent by a GPU, lower end",
        meaning="lower end of its interval: communication takes longest",
        job=lambda cost: cost.low_gb_s,
    ),
    _communication(
        "gb_s",
        "high",
        "sent by a GPU, upper end",
        meaning="upper end of its interval: communication is shortest",
        job=lambda cost: cost.high_gb_s,
    ),
    Metric(
        "cross_switch_jobs",
        "cross-switch jobs",
        group="switches",
        by="switch",
        in_runs=NOWHERE,
        run=_of_sharing(lambda sharing: sharing.crossing),
    ),
    Metric(
        "cross_switch_jobs_placed",
        "cross-switch jobs",
        meaning="placed jobs under more than one switch",
        brief="crossing",
        group="switches",
        better="lower",
        in_runs=View.TABLE | View.PAGE,
        run=_of_sharing(lambda sharing: sharing.cross_jobs),
    ),
    Metric(
        "switches",
        "switches",
        meaning="switches with a pod of the job",
        group="switches",
        better="lower",
        in_jobs=View.PAGE,
        job=_of_switches(lambda job: job.switches),
    ),
    Metric(
        "shared_switches",
        "shared switches",
        meaning="switches of two or more such jobs, running ones included",
        brief="shared",
        group="switches",
        better="lower",
        in_jobs=View.PAGE,
        in_runs=View.TABLE | View.PAGE,
        job=_of_switches(lambda job: job.shared),
        run=_of_sharing(lambda sharing: sharing.shared),
    ),
    Metric(
        "most_cross_switch_jobs",
        "most jobs on a switch",
        meaning="of one switch",
        brief="most jobs",
        group="switches",
        better="lower",
        in_runs=View.TABLE | View.PAGE,
        run=_of_sharing(lambda sharing: sharing.most_crossing),
    ),
    Metric(
        "most_shared_switches_per_job",
        "most shared by a job",
        meaning="most such switches of one",
        brief="per job",
        group="switches",
        better="lower",
        in_runs=View.TABLE | View.PAGE,
        run=_of_sharing(lambda sharing: sharing.most_shared),
    ),
    Metric(
        "pairs_across",
        "pairs across",
        meaning="pairs of pods of a job that no switch joins",
        brief="pairs",
        group="switches",
        better="lower",
        in_jobs=View.PAGE,
        in_runs=View.TABLE | View.PAGE,
        job=_of_switches(lambda job: job.pairs_across),
        run=_of_sharing(lambda sharing: sharing.pairs_across),
    ),
)
