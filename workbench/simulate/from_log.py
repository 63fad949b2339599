"""Jobs of a log as jobs of a simulation on one cluster."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import replace

from workbench.errors import InputError
from workbench.evaluate.contention import TrainingStep
from workbench.evaluate.cost import ParallelShape
from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.job_log import GPU, JobLog, LoggedStep
from workbench.model.notice import Notice
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.typical_shapes import TypicalShapes
from workbench.policies.contract import Policy
from workbench.simulate.job import Restarts, SimulatedJob

__all__ = ["as_jobs", "fault_horizon_s", "judging_by", "simulated_jobs", "untolerated"]


def simulated_jobs(
    log: JobLog,
    snapshot: ClusterSnapshot,
    restart_s: float,
    step: TrainingStep | None = None,
    restarts: Restarts = "job",
) -> list[SimulatedJob]:
    """Jobs of a log, in its order, that ask for GPUs by the resource name that the cluster uses.

    `snapshot`: the cluster; if it has GPUs under several names, the first is taken. `restart_s`: seconds from a
    placement after a fault until work goes on. `step`: step of the jobs without one in the log. `restarts` ({"job",
    "pods"}): as of `SimulatedJob`. Raises InputError: the parallel shape of a job does not fit its GPUs.
    """
    columns = snapshot.gpu_columns
    resource = snapshot.resources[columns[0]] if columns else GPU
    return [
        SimulatedJob(
            _asking_for(job.gang, resource),
            job.submitted_s,
            job.duration_s,
            job.checkpoint_s,
            restart_s=restart_s,
            restarts=restarts,
            step=step if job.step is None else _step(job.step),
        )
        for job in log.jobs
    ]


def untolerated(snapshot: ClusterSnapshot) -> list[Notice]:
    """A notice that counts the nodes whose taints keep the jobs of a log away; empty if there are none."""
    count = int((~snapshot.taints.mask(())).sum())
    if not count:
        return []
    text = f"jobs of a log tolerate no taints, which close {count:,} of {counted(snapshot.n_nodes, 'node', form=',')}"
    text += " to them, unless a flavor of Kueue tolerates them: take the taints out of the input to open these nodes"
    return [Notice("taint", text, numbers={"count": count})]


def as_jobs(jobs: Sequence[SimulatedJob] | JobLog, snapshot: ClusterSnapshot) -> Sequence[SimulatedJob]:
    """The jobs of a simulation: those of a log on the cluster, others as they are.

    Raises InputError: something else.
    """
    if isinstance(jobs, JobLog):
        return simulated_jobs(jobs, snapshot, 0.0)
    if isinstance(jobs, str) or not isinstance(jobs, Sequence) or not all(isinstance(j, SimulatedJob) for j in jobs):
        expected = "a list of SimulatedJob, or what workbench.load_jobs reads"
        raise InputError("no jobs to simulate", source="jobs", got=reprlib.repr(jobs), expected=expected)
    return jobs


def _step(logged: LoggedStep) -> TrainingStep:
    shape = ParallelShape.parse(logged.shape, "shape") if logged.shape else None
    return TrainingStep(logged.compute_s, logged.sent_gb, shape)


def _asking_for(gang: Gang, resource: str) -> Gang:
    if resource == GPU:
        return gang
    roles = (
        replace(role, requests={resource if name == GPU else name: n for name, n in role.requests.items()})
        for role in gang.roles
    )
    return replace(gang, roles=tuple(roles))


def fault_horizon_s(jobs: Sequence[SimulatedJob]) -> float:
    """Seconds within which faults are drawn if a simulation has no end of its own: four times the span of the jobs.

    The span lasts until every job would end if none waited.
    """
    return 4 * max(job.submitted_s + job.duration_s for job in jobs)


def judging_by(policy: Policy, usual: TypicalShapes) -> Policy:
    """A policy that judges by usual pods, given those of a trace unless the user named others; another as it is."""
    if policy.parameters.get("typical", True):
        return policy
    return policy.with_parameters(typical=usual.table)
