"""`SimulationResult`: what became of every job of a simulation, and how the cluster was used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.evaluate.metric import Metric
from workbench.evaluate.metrics import Measured, measure_simulation
from workbench.evaluate.provenance import Provenance
from workbench.evaluate.simulation_facts import SimulationFacts
from workbench.model.counted import counted
from workbench.model.deferred import DeferredModule
from workbench.model.display import Displayed, Plotted
from workbench.model.value import Value
from workbench.simulate.job import SimulatedJob
from workbench.simulate.waiting import RefusalRow, waiting_at, waiting_by_reason

if TYPE_CHECKING:
    import pandas
else:
    pandas = DeferredModule("pandas")

__all__ = ["Attempt", "LinkUse", "SimulationResult", "StepRow", "Usage"]

Floats = npt.NDArray[np.float64]

_JOB_COLUMNS = (
    *("job", "queue", "priority", "pods", "submitted_s", "started_s", "ended_s", "waited_s", "restarts", "redone_s"),
    *("slowed_s", "gpus"),
)


class Attempt(NamedTuple):
    """One run of a job, from a placement to its completion or to a fault, or its wait for pods that a fault took.

    Attributes
    ----------
    job : int
        Number of the job.
    outcome : {"completed", "stopped", "grown", "running", "standing"}
        ``stopped``: by a fault, or evicted for another job; ``grown``: the job got more of its pods and goes on with
        the next row; ``running``: when the simulation was looked at; ``standing``: pods of the job held their nodes,
        and did no work, while others, or other Jobs of a HyperJob, waited for nodes.
    saved_s : float
        Seconds of work that last: all of a completed attempt, those up to the last checkpoint of a stopped one.
    nodes : tuple of int
        Node of each pod, -1 for a pod beyond the minimum that was left out, or of a Job that waits.
    gpus : float
        GPUs held; a share counts as a part of one.
    slowed_s : float
        Seconds that it took longer than with links that nobody shares and only network cards limit.
    redone_s : float
        Of a stopped attempt: seconds that the work takes, with the pods of this row, that no checkpoint holds.
    """

    job: int
    start_s: float
    end_s: float
    outcome: str
    saved_s: float
    nodes: tuple[int, ...]
    gpus: float
    slowed_s: float = 0.0
    redone_s: float = 0.0


class Usage(NamedTuple):
    """State of the cluster from an instant until the next row."""

    time_s: float
    waiting: int
    running: int
    gpus: float
    broken_nodes: int


class StepRow(NamedTuple):
    """Seconds of a job's training step from an instant until its next row, or its end.

    `card_s`: if nothing but the network cards of its nodes limited it. `alone_s`: on the links of its placement,
    without other jobs. `now_s`: beside the other jobs.
    """

    time_s: float
    job: int
    card_s: float
    alone_s: float
    now_s: float


class LinkUse(NamedTuple):
    """What one link of the network carried.

    `below`: the node or HyperNode below it. `tier`: tier of that HyperNode; 0: a node. `rail`, `cable`: rail, and
    number among the equal cables on it. `direction`: {"up", "down"}. `gb_s`: GB/s that it can carry.
    """

    below: str
    tier: int
    rail: int
    cable: int
    direction: str
    gb_s: float
    gb: float


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult(Value, Displayed, Plotted):
    """Attempts of every job, usage over time and reasons of those that never ran.

    Attributes
    ----------
    jobs : tuple of SimulatedJob
        In the order given.
    attempts : tuple of Attempt
        In the order of their starts; of equal starts, as placed.
    usage : tuple of Usage
        A row per instant at which something changed.
    refused : mapping of int to str
        Jobs that wait at the end, with why and what would help; computed when it is read (`WaitingReasons`).
    n_gpus : int
        GPUs of the cluster.
    ended_s : float
        Time up to which the simulation had run.
    done : bool
        Nothing was left to happen then; False if the simulation was looked at before.
    steps : tuple of StepRow
        Step times of jobs on a network, by time.
    links : tuple of LinkUse
        Links of the network that carried anything.
    refusals : tuple of RefusalRow
        Why waiting jobs were refused, by time: a row per kind of jobs and change of the reason.
    kinds : tuple of int
        By job: its kind; jobs of one kind ask for the same. Since a job stood still for the first time, its kind is the
        number of jobs plus its own number.

    Examples
    --------
    >>> import workbench as wb
    >>> job = wb.SimulatedJob(wb.gang("mine", pods=2, gpus=8), 0.0, 60.0)
    >>> result = wb.simulate(wb.generate_scenario("three-level-tree"), [job], "binpack")
    >>> result.to_dataframe()[["job", "ended_s"]].values.tolist()
    [['default/mine', 60.0]]
    """

    # Fields first; then tables of them (`to_dataframe`, `…_frame`), numbers by the declared metrics (`summary`,
    # `measured`) and JSON (`to_dict`).

    policy: str
    discipline: str
    jobs: tuple[SimulatedJob, ...]
    attempts: tuple[Attempt, ...]
    usage: tuple[Usage, ...]
    refused: Mapping[int, str]
    n_gpus: int
    node_names: tuple[str, ...]
    provenance: Provenance
    ended_s: float
    done: bool
    steps: tuple[StepRow, ...] = ()
    links: tuple[LinkUse, ...] = ()
    refusals: tuple[RefusalRow, ...] = ()
    kinds: tuple[int, ...] = ()

    @property
    def end_s(self) -> float:
        """Time in seconds up to which there is something to see, where charts end.

        That of the last completion or submission; `ended_s` if something was left to happen, or nothing completed.
        Where a job waits for ever, a simulation goes on after it through all faults that lie ahead.
        """
        completed = [attempt.end_s for attempt in self.attempts if attempt.outcome == "completed"]
        if not self.done or not completed:
            return self.ended_s
        return min(self.ended_s, max([*completed, *(job.submitted_s for job in self.jobs)]))

    def __repr__(self) -> str:
        gpu_use, completed = self.facts.gpu_use, int(self.facts.jobs["ended_s"].notna().sum())
        use = f"{100 * gpu_use:.1f} % of the GPUs in use" if gpu_use == gpu_use else "no GPU used"
        jobs = f"{completed:,} of {counted(len(self.jobs), 'job')} completed"
        return f"SimulationResult({self.policy}, {self.discipline}: {jobs}, {use})"

    def to_dataframe(self) -> pandas.DataFrame:
        """A row per job, in the order given; times in seconds, NaN where there is none.

        Columns: job, queue, priority, pods, submitted_s, started_s (first start), ended_s, waited_s (all waiting, also
        after faults, and standing still for lost pods), restarts, redone_s (work that faults undid), slowed_s
        (what the network cost), gpus (of the last attempt).
        """
        import pandas

        by_job: dict[int, list[Attempt]] = {}
        for attempt in self.attempts:
            by_job.setdefault(attempt.job, []).append(attempt)
        rows = []
        for number, job in enumerate(self.jobs):
            own = [attempt for attempt in by_job.get(number, []) if attempt.outcome != "standing"]
            done = bool(own) and own[-1].outcome == "completed"
            ready, waited = job.submitted_s, 0.0
            for attempt in own:
                waited += attempt.start_s - ready
                ready = attempt.end_s
            if own and own[-1].outcome == "stopped":
                waited += self.ended_s - ready
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
                    "restarts": max(sum(attempt.outcome != "grown" for attempt in own) - 1, 0),
                    "redone_s": sum(attempt.redone_s for attempt in own),
                    "slowed_s": sum(attempt.slowed_s for attempt in own),
                    "gpus": own[-1].gpus if own else 0,
                }
            )
        return self._signed(pandas.DataFrame(rows, columns=_JOB_COLUMNS))

    @cached_property
    def job_times(self) -> tuple[Floats, Floats, Floats]:
        """Seconds by job: its submission, its end, and how long it waited; NaN where there is none.

        Charts that are drawn again and again read them here.
        """
        frame = self.to_dataframe()
        submitted, ended, waited = (frame[name].to_numpy(np.float64) for name in ("submitted_s", "ended_s", "waited_s"))
        return submitted, ended, waited

    @cached_property
    def waiting_by_reason(self) -> dict[str, tuple[Floats, Floats]]:
        """How many jobs wait for each reason over time: `workbench.simulate.waiting.waiting_by_reason`."""
        return waiting_by_reason(self)

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

    def waiting_frame(self, time_s: float) -> pandas.DataFrame:
        """A row per job that waits at an instant, longest wait first: job, since_s, and code, the reason."""
        import pandas

        rows = [(self.jobs[one.job].gang.key, one.since_s, one.code) for one in waiting_at(self, time_s)]
        return self._signed(pandas.DataFrame(rows, columns=["job", "since_s", "code"]))

    def step_frame(self) -> pandas.DataFrame:
        """A row per interval in which a job's training step takes one time: the distribution of step times.

        Columns: job, from_s, to_s, and seconds of a step: card_s, alone_s, now_s, as of `StepRow`. Empty without a
        network.
        """
        import pandas

        worked = (attempt for attempt in self.attempts if attempt.outcome != "standing")
        ends = {(attempt.job, attempt.start_s): attempt.end_s for attempt in worked}
        starts: dict[int, list[float]] = {}
        for job, start in sorted(ends):
            starts.setdefault(job, []).append(start)
        rows: list[tuple[str, float, float, float, float, float]] = []
        for number, changes in self._changes().items():
            own = starts[number]
            for row, following in zip(changes, [*changes[1:], None], strict=True):
                begun = max(start for start in own if start <= row.time_s)
                end = ends[number, begun]
                until = end if following is None else min(end, following.time_s)
                if until > row.time_s:
                    rows.append((self.jobs[number].gang.key, row.time_s, until, *row[2:]))
        columns = ["job", "from_s", "to_s", "card_s", "alone_s", "now_s"]
        return self._signed(pandas.DataFrame(rows, columns=columns))

    def _changes(self) -> dict[int, list[StepRow]]:
        """Step times of each job, by time; of several at one instant the last."""
        found: dict[int, list[StepRow]] = {}
        for row in self.steps:
            rows = found.setdefault(row.job, [])
            if rows and rows[-1].time_s == row.time_s:
                rows.pop()
            rows.append(row)
        return found

    def link_frame(self) -> pandas.DataFrame:
        """A row per link that carried anything: traffic per link.

        Columns: below, tier, rail, cable, direction, gb_s, gb, and use: mean share of what it can carry, until the last
        change.
        """
        import pandas

        frame = pandas.DataFrame(self.links, columns=LinkUse._fields)
        frame["use"] = frame["gb"] / (frame["gb_s"] * self.ended_s) if self.ended_s else 0.0
        return self._signed(frame)

    def summary(self) -> dict[str, Any]:
        """Numbers of the whole run; times in seconds, NaN where nothing was measured.

        By key of the metric: those of `workbench.evaluate.simulation_metrics`, such as ``waited_mean_s``, and those
        that users added (`workbench.metric` with ``per="simulation"``).
        """
        return {key: float("nan") if value is None else value for key, value in self.measured().values.items()}

    def measured(self, metrics: Sequence[Metric] | None = None) -> Measured:
        """The metrics of the simulation, those that users added included, as tables and pages show them.

        `metrics`: by default all that this process knows.
        """
        return measure_simulation(self.facts, metrics)

    @cached_property
    def facts(self) -> SimulationFacts:
        """What metrics are computed from."""
        return SimulationFacts(self)

    def to_dict(self) -> dict[str, Any]:
        def plain(value: Any) -> Any:
            return None if isinstance(value, float) and value != value else value

        return {
            "policy": self.policy,
            "discipline": self.discipline,
            "summary": {name: plain(value) for name, value in self.summary().items()},
            "jobs": [
                {name: plain(value) for name, value in row.items()} for row in self.to_dataframe().to_dict("records")
            ],
            "refused": {self.jobs[number].gang.key: text for number, text in self.refused.items()},
            "usage": [row._asdict() for row in self.usage],
            "provenance": self.provenance.to_dict(),
        }

    def _signed(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        frame.attrs["provenance"] = self.provenance.to_dict()
        return frame
