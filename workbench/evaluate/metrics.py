"""`measure`, `measure_run` and `measure_simulation`: the value of every metric for a placement, session or simulation.

Everything is counted over arrays; 5,000 pods take milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.errors import InputError, named_arguments
from workbench.evaluate.facts import JobFacts, RunFacts
from workbench.evaluate.metric import Metric, MetricValue, nested
from workbench.evaluate.metric_table import all_metrics, simulation_metrics
from workbench.evaluate.simulation_facts import FillFacts, SimulationFacts
from workbench.evaluate.switch_sharing import SwitchSharing, measure_switches, switches_matter
from workbench.model.arrays import Words
from workbench.model.placement import Decision, Placement
from workbench.model.scenario import Scenario, snapshot_of
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Value

if TYPE_CHECKING:
    from workbench.evaluate.cost.plan import CommunicationPlan

__all__ = ["Measured", "PlacementMetrics", "RunMetrics", "measure", "measure_fill", "measure_run", "measure_simulation"]


@dataclass(frozen=True, eq=False)
class Measured(Value):
    """Metrics of one simulation, or of a cluster that a policy filled; ``measured[key]`` is the value of a metric.

    `metrics`: the measured metrics, in the order of every output. `values`: values of the metrics, by the metric's key.
    """

    metrics: tuple[Metric, ...]
    values: Mapping[str, MetricValue]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]


@dataclass(frozen=True, eq=False)
class PlacementMetrics(Measured):
    """Metrics of one placed gang; ``metrics[key]`` is the value of a metric.

    Attributes
    ----------
    metrics, values
        As of `Measured`.
    nodes : tuple of str
        Nodes that hold at least one pod, in the snapshot's order.
    gpus : tuple of tuple of int
        The gang's GPUs on each of `nodes`; empty where no GPUs were chosen.
    node_bottleneck_gb_s : ndarray of shape (n_nodes,), float64
        Smallest bandwidth over all ordered pairs of the gang's GPUs on each of `nodes`; NaN where the gang has fewer
        than two there or the matrix is unknown.
    """

    nodes: tuple[str, ...]
    gpus: tuple[tuple[int, ...], ...]
    node_bottleneck_gb_s: npt.NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        """The metrics as a JSON-ready dict; NaN becomes None."""
        return {
            **nested(self.metrics, self.values),
            "node_gpus": [
                {"node": node, "gpus": list(gpus), "bottleneck_gb_s": None if np.isnan(value) else float(value)}
                for node, gpus, value in zip(self.nodes, self.gpus, self.node_bottleneck_gb_s)
                if gpus
            ],
        }


@dataclass(frozen=True, eq=False)
class RunMetrics(Measured):
    """Metrics of one scheduling session; ``metrics[key]`` is the value of a metric for the whole session.

    Attributes
    ----------
    metrics, values
        As of `Measured`, for the session.
    job_metrics : tuple of Metric
        Metrics measured for each job, in the order of every output.
    placed, pending : tuple of str
        Gangs by ``namespace/name``, in the order of the gangs.
    jobs : mapping of str to PlacementMetrics
        Metrics of the placed gangs, by ``namespace/name``.
    members : mapping of str to PlacementMetrics
        Metrics of the placed Jobs of HyperJobs, by ``namespace/hyperjob/job``; the run's values do not count them.
    switches : SwitchSharing, optional
        How the jobs share the leaf switches; None if that was not measured.
    """

    job_metrics: tuple[Metric, ...]
    placed: tuple[str, ...]
    pending: tuple[str, ...]
    jobs: Mapping[str, PlacementMetrics]
    switches: SwitchSharing | None = None
    members: Mapping[str, PlacementMetrics] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The metrics as a JSON-ready dict; a group of metrics such as ``switches`` only if it was measured."""
        return {
            **nested(self.metrics, self.values),
            "jobs": {key: job.to_dict() for key, job in self.jobs.items()},
            **({"members": {key: job.to_dict() for key, job in self.members.items()}} if self.members else {}),
        }


@named_arguments
def measure(
    placement: Placement, snapshot: ClusterSnapshot | Scenario, gpu_free: Words | None = None
) -> PlacementMetrics:
    """Compute every metric of one placement.

    `snapshot`: the cluster before the decision; gives the bandwidth matrices. `gpu_free` (ndarray of shape (n, w),
    uint64): GPUs free at the end, for stranded GPUs; by default the snapshot's without this gang's.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> wb.measure(tree.place(wb.gang("mine", pods=2, gpus=8, tier=1)), tree)["nodes"]
    2
    """
    if not isinstance(placement, Placement):
        expected = "a Placement, such as workbench.place returns for a job that fits"
        raise InputError("not a placement", source="placement", got=repr(placement), expected=expected)
    facts = JobFacts(placement, snapshot_of(snapshot), gpu_free)
    computed = [metric for metric in all_metrics() if metric.job is not None]
    values = _values_of_job(computed, facts)
    return _of_job(facts, _measured(computed, [values]), values)


def measure_run(
    decisions: Sequence[Decision],
    snapshot: ClusterSnapshot,
    with_switches: bool | None = None,
    communication: CommunicationPlan | None = None,
) -> RunMetrics:
    """Compute every metric of a scheduling session.

    Stranded GPUs and shared switches are counted after all of the session's placements.

    `snapshot`: the cluster before the session. `with_switches`: measure how the jobs share the leaf switches; by
    default where `switches_matter`. `communication`: measure what the communication of the jobs that it names costs.
    """
    wanted = switches_matter(decisions, snapshot) if with_switches is None else with_switches
    facts = RunFacts(decisions, snapshot, measure_switches(decisions, snapshot) if wanted else None, communication)
    of_run = [metric for metric in all_metrics() if metric.run is not None or metric.total]
    of_job = [metric for metric in all_metrics() if metric.job is not None]
    by_job = [_values_of_job(of_job, job) for job in facts.jobs.values()]
    values = {metric.key: metric.of_run(facts, [job.get(metric.key) for job in by_job]) for metric in of_run}
    metrics = _measured(of_run, [values, *by_job])
    job_metrics = _measured(of_job, [values, *by_job])
    return RunMetrics(
        metrics=metrics,
        job_metrics=job_metrics,
        values={metric.key: values[metric.key] for metric in metrics},
        placed=tuple(facts.jobs),
        pending=tuple(decision.gang.key for decision in decisions if not decision.placed),
        jobs={
            key: _of_job(job, job_metrics, found) for (key, job), found in zip(facts.jobs.items(), by_job, strict=True)
        },
        switches=facts.switches,
        members={key: _of_job(job, job_metrics, _values_of_job(of_job, job)) for key, job in facts.members.items()},
    )


def measure_simulation(facts: SimulationFacts, metrics: Sequence[Metric] | None = None) -> Measured:
    """Compute every metric of a simulation. `metrics`: by default all that this process knows."""
    known = simulation_metrics() if metrics is None else metrics
    return Measured(
        tuple(metric.declared for metric in known), {metric.key: metric.of_simulation(facts) for metric in known}
    )


def measure_fill(facts: FillFacts) -> Measured:
    """Compute every metric of the runs in which one policy filled a cluster."""
    known = [metric for metric in all_metrics() if metric.fill is not None]
    return Measured(tuple(metric.declared for metric in known), {metric.key: metric.of_fill(facts) for metric in known})


def _values_of_job(metrics: Sequence[Metric], job: JobFacts) -> dict[str, MetricValue]:
    """The values of the given metrics for one job, by key; raises `Cancelled` if the work was cancelled."""
    check()
    return {metric.key: metric.of_job(job) for metric in metrics}


def _measured(computed: Sequence[Metric], found: Sequence[Mapping[str, MetricValue]]) -> tuple[Metric, ...]:
    """The metrics that were measured: those without a group, and those of groups with at least one value in `found`."""
    groups = {metric.key: metric.group for metric in all_metrics() if metric.group}
    known = {group for key, group in groups.items() if any(values.get(key) is not None for values in found)}
    return tuple(metric.declared for metric in computed if not metric.group or metric.group in known)


def _of_job(facts: JobFacts, metrics: tuple[Metric, ...], values: Mapping[str, MetricValue]) -> PlacementMetrics:
    names = facts.topology.node_names
    return PlacementMetrics(
        metrics=metrics,
        values={metric.key: values[metric.key] for metric in metrics},
        nodes=tuple([names[i] for i in facts.nodes.tolist()]),
        gpus=facts.gpus,
        node_bottleneck_gb_s=facts.bottleneck_gb_s,
    )
