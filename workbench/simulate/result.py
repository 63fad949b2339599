"""`SimulationResult`: what became of every job of a simulation, and how the cluster was used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.evaluate.provenance import Provenance
from workbench.model.value import Value
from workbench.simulate.job import SimulatedJob

if TYPE_CHECKING:
    import pandas

__all__ = ["Attempt", "SimulationResult", "Usage"]


class Attempt(NamedTuple):
    """One run of a job, from a placement to its completion or to a fault.

    Attributes
    ----------
    job : int
        Number of the job.
    start_s, end_s : float
    outcome : {"completed", "stopped", "running"}
        ``stopped``: by a fault; ``running``: when the simulation was looked at.
    saved_s : float
        Seconds of work that last: all of a completed attempt, those up to the last checkpoint of a stopped one.
    nodes : tuple of int
        Node of each pod, -1 for a pod beyond the minimum that was left out.
    gpus : float
        GPUs held; a share counts as a part of one.
    """

    job: int
    start_s: float
    end_s: float
    outcome: str
    saved_s: float
    nodes: tuple[int, ...]
    gpus: float


class Usage(NamedTuple):
    """State of the cluster from an instant until the next row."""

    time_s: float
    waiting: int
    running: int
    gpus: float
    broken_nodes: int


@dataclass(frozen=True, eq=False)
class SimulationResult(Value):
    """Attempts of every job, usage over time and reasons of those that never ran.

    Attributes
    ----------
    policy, discipline : str
    jobs : tuple of SimulatedJob
        In the order given.
    attempts : tuple of Attempt
        In the order of their starts; of equal starts, as placed.
    usage : tuple of Usage
        A row per instant at which something changed.
    refused : mapping of int to str
        Jobs that wait at the end, with the policy's reason.
    n_gpus : int
        GPUs of the cluster.
    node_names : tuple of str
    provenance : Provenance
    """

    policy: str
    discipline: str
    jobs: tuple[SimulatedJob, ...]
    attempts: tuple[Attempt, ...]
    usage: tuple[Usage, ...]
    refused: Mapping[int, str]
    n_gpus: int
    node_names: tuple[str, ...]
    provenance: Provenance

    def job_frame(self) -> pandas.DataFrame:
        """A row per job, in the order given; times in seconds, NaN where there is none.

        Columns: job, queue, priority, pods, submitted_s, started_s (first start), ended_s, waited_s (all waiting, also
        after faults), restarts, redone_s (work that faults undid), gpus (of the last attempt).
        """
        import pandas

        by_job: dict[int, list[Attempt]] = {}
        for attempt in self.attempts:
            by_job.setdefault(attempt.job, []).append(attempt)
        rows = []
        for number, job in enumerate(self.jobs):
            own = by_job.get(number, [])
            done = bool(own) and own[-1].outcome == "completed"
            ready, waited = job.submitted_s, 0.0
            for attempt in own:
                waited += attempt.start_s - ready
                ready = attempt.end_s
            rows.append(
                {
                    "job": job.gang.key,
                    "queue": job.gang.queue,
                    "priority": job.gang.priority,
                    "pods": job.gang.n_pods,
                    "submitted_s": job.submitted_s,
                    "started_s": own[0].start_s if own else np.nan,
                    "ended_s": own[-1].end_s if done else np.nan,
                    "waited_s": waited if own else np.nan,
                    "restarts": max(len(own) - 1, 0),
                    "redone_s": sum(map(self._redone, own)),
                    "gpus": own[-1].gpus if own else 0,
                }
            )
        return self._signed(pandas.DataFrame(rows))

    def _redone(self, attempt: Attempt) -> float:
        if attempt.outcome != "stopped":
            return 0.0
        return max(attempt.end_s - attempt.start_s - attempt.saved_s, 0.0)

    def usage_frame(self) -> pandas.DataFrame:
        """Jobs waiting and running, GPUs in use and broken nodes: a row holds until the time of the next."""
        import pandas

        return self._signed(pandas.DataFrame(self.usage, columns=Usage._fields))

    def attempt_frame(self) -> pandas.DataFrame:
        """A row per attempt: the bars of a Gantt chart."""
        import pandas

        frame = pandas.DataFrame(self.attempts, columns=Attempt._fields)
        frame["job"] = [self.jobs[number].gang.key for number in frame["job"]]
        return self._signed(frame)

    @property
    def ended_s(self) -> float:
        """Time of the last change."""
        return self.usage[-1].time_s if self.usage else 0.0

    def summary(self) -> dict[str, float]:
        """Numbers of the whole run; times in seconds, NaN where nothing was measured.

        ``jobs``, ``completed``, ``never_placed``, ``restarts``; ``makespan_s`` until the last completion; ``gpu_use``:
        GPU seconds in use, of those until then, 0 to 1; ``redone``: part of the GPU seconds in use that faults undid;
        ``waited_mean_s``, ``waited_p50_s``, ``waited_p99_s`` of jobs that were placed; ``slowdown_p50``: median of
        waiting and running over running.
        """
        frame = self.job_frame()
        ended = frame["ended_s"].dropna()
        makespan = float(ended.max()) if len(ended) else float("nan")
        time = np.array([row.time_s for row in self.usage])
        gpus = np.array([row.gpus for row in self.usage], dtype=np.float64)
        until = np.append(time[1:], time[-1:])
        if makespan == makespan:
            time, until = np.minimum(time, makespan), np.minimum(until, makespan)
        used = float((gpus * (until - time)).sum())
        waited = frame["waited_s"].dropna().to_numpy()
        whole = frame["ended_s"] - frame["submitted_s"]
        running = whole - frame["waited_s"]
        slow = (whole / running)[running > 0].dropna()
        redone = sum(self._redone(attempt) * attempt.gpus for attempt in self.attempts)
        nothing = float("nan")
        return {
            "jobs": len(self.jobs),
            "completed": len(ended),
            "never_placed": int(frame["started_s"].isna().sum()),
            "restarts": int(frame["restarts"].sum()),
            "makespan_s": makespan,
            "gpu_use": used / (self.n_gpus * makespan) if self.n_gpus and makespan > 0 else nothing,
            "redone": redone / used if used else nothing,
            "waited_mean_s": float(waited.mean()) if len(waited) else nothing,
            "waited_p50_s": float(np.percentile(waited, 50)) if len(waited) else nothing,
            "waited_p99_s": float(np.percentile(waited, 99)) if len(waited) else nothing,
            "slowdown_p50": float(slow.median()) if len(slow) else nothing,
        }

    def to_dict(self) -> dict[str, Any]:
        def plain(value: Any) -> Any:
            return None if isinstance(value, float) and value != value else value

        return {
            "policy": self.policy,
            "discipline": self.discipline,
            "summary": {name: plain(value) for name, value in self.summary().items()},
            "jobs": [
                {name: plain(value) for name, value in row.items()} for row in self.job_frame().to_dict("records")
            ],
            "refused": {self.jobs[number].gang.key: text for number, text in self.refused.items()},
            "usage": [row._asdict() for row in self.usage],
            "provenance": self.provenance.to_dict(),
        }

    def _signed(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        frame.attrs["provenance"] = self.provenance.to_dict()
        return frame
