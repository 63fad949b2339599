"""The oracle of the discipline `session`: a plain loop that holds one session of a policy at every instant.

Without faults, networks, quotas and growth: every pod of a job is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang
from workbench.model.placement import Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.contract import SessionPolicy
from workbench.simulate import SimulatedJob

__all__ = ["Lived", "live"]


@dataclass
class Lived:
    """What became of the jobs.

    Attributes
    ----------
    starts : dict of int to (float, tuple of int)
        By number of the job: when it started, and the node of each pod.
    refusals : list of (float, int, Refusal)
        Time of each session, and each job that it refused, with the answer.
    """

    starts: dict[int, tuple[float, tuple[int, ...]]] = field(default_factory=dict)
    refusals: list[tuple[float, int, Refusal]] = field(default_factory=list)


def live(snapshot: ClusterSnapshot, policy: SessionPolicy, jobs: Sequence[SimulatedJob]) -> Lived:
    """Let jobs arrive, start as the sessions of a policy decide, and end."""
    lived = Lived()
    running: dict[int, Placement] = {}
    admitted: set[int] = set()
    ends = {number: float("inf") for number in range(len(jobs))}
    for now in _instants(jobs, ends):
        for number in [number for number in running if ends[number] <= now]:
            del running[number]
        cluster = snapshot
        for number in sorted(running):
            cluster = cluster.with_placement(running[number])
        arrived = [number for number, job in enumerate(jobs) if job.submitted_s <= now and number not in lived.starts]
        arrived.sort(key=lambda number: (jobs[number].submitted_s, number))
        if not arrived:
            continue
        answers = policy.admit([_seen(jobs[number], number in admitted) for number in arrived], cluster)
        admitted = {number for number, why in zip(arrived, answers, strict=True) if why is None}
        decisions = policy.schedule([_seen(jobs[number], number in admitted) for number in arrived], cluster)
        for number, decision in zip(arrived, decisions, strict=True):
            if isinstance(decision.result, Placement):
                running[number], ends[number] = decision.result, now + jobs[number].duration_s
                lived.starts[number] = now, tuple(decision.result.node.tolist())
            else:
                lived.refusals.append((now, number, decision.result))
    return lived


def _instants(jobs: Sequence[SimulatedJob], ends: dict[int, float]) -> Iterator[float]:
    """Every time at which a job arrives or ends, ascending; `ends` changes meanwhile."""
    now = -1.0
    while True:
        times = [at for at in (*(job.submitted_s for job in jobs), *ends.values()) if now < at < float("inf")]
        if not times:
            return
        now = min(times)
        yield now


def _seen(job: SimulatedJob, admitted: bool) -> Gang:
    """The gang of a job as a scheduler sees it that has admitted it, or not."""
    return job.gang.with_extra(replace(job.gang.extra(VolcanoMemory), inqueue=admitted))
