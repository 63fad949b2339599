"""Jobs that hold nodes in a simulation: `RunningJob`, and how far it is; `StandingJob`, which waits for lost pods."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from workbench.model.extras import FormerPod
from workbench.model.gang import Gang
from workbench.model.placement import Placement
from workbench.simulate.held_nodes import held_gpus, pace_of, whole_gpus
from workbench.simulate.lost_pods import missing_pods
from workbench.simulate.result import Attempt

__all__ = ["RunningJob", "StandingJob"]


@dataclass(slots=True)
class RunningJob:
    """One attempt of a job under way.

    Attributes
    ----------
    placement : Placement
    start_s : float
        When it was placed, or last got more pods.
    begins_s : float
        When its work goes on, after a restart.
    total_s : float
        Seconds that it needs from then on with all its pods and free links, checkpoints included.
    former : tuple of FormerPod
        Ranks and nodes of pods that it lost to faults and goes on without.
    gpus : float
        GPUs that it holds; a share counts as a part of one.
    whole : int
        Whole GPUs among them.
    pace : float
        Seconds that one second of `total_s` takes with the pods that run: 1 with all of them.
    done_s : float
        Seconds of `total_s` that are done.
    since_s : float
        Until when they are counted.
    slowdown : float
        By how much the links make that longer now.
    step_s : float
        Seconds of `total_s` that one training step is; 0: none is known.
    unslowed_s : float
        Seconds that `done_s` would have taken if no link had slowed it.
    told_slowed_s : float
        Seconds of slow links that rows of the result hold already.
    """

    placement: Placement
    start_s: float
    begins_s: float
    total_s: float
    former: tuple[FormerPod, ...] = ()
    gpus: float = field(init=False)
    whole: int = field(init=False)
    pace: float = field(init=False)
    done_s: float = 0.0
    since_s: float = 0.0
    slowdown: float = 1.0
    step_s: float = 0.0
    unslowed_s: float = 0.0
    told_slowed_s: float = 0.0

    def __post_init__(self) -> None:
        self.since_s = self.begins_s
        self._measure()

    def _measure(self) -> None:
        """Keep the sizes of the placement: backfilling reads them of every running job at every event."""
        self.gpus, self.whole = held_gpus(self.placement), whole_gpus(self.placement)
        self.pace = pace_of(self.placement)

    def work_until(self, now_s: float) -> None:
        """Count the work up to an instant.

        Parameters
        ----------
        now_s : float
            Not before the last one.
        """
        if now_s > self.since_s:
            before = self.done_s
            self.done_s = min(before + (now_s - self.since_s) / (self.pace * self.slowdown), self.total_s)
            self.unslowed_s += (self.done_s - before) * self.pace
            self.since_s = now_s

    @property
    def end_s(self) -> float:
        """When it will be done if nothing changes; infinite: never."""
        left = self.total_s - self.done_s
        return self.since_s + left * self.pace * self.slowdown if left else self.since_s

    def attempt(self, job: int, end_s: float, outcome: str, saved_s: float, undone_s: float = 0.0) -> Attempt:
        """The attempt as it ends now.

        Parameters
        ----------
        job : int
        end_s : float
        outcome : str
        saved_s : float
            As for `Attempt`.
        undone_s : float
            Seconds of work, with all pods, that are lost.
        """
        slowed = _seconds(end_s - self.begins_s - self.unslowed_s)
        # At the present pace: GPU-seconds of a second of work are the same with few pods as with all.
        redone = undone_s * self.pace
        nodes = tuple(self.placement.node.tolist())
        told, self.told_slowed_s = self.told_slowed_s, slowed
        return Attempt(job, self.start_s, end_s, outcome, saved_s, nodes, self.gpus, _seconds(slowed - told), redone)

    def grow(self, job: int, now_s: float, placement: Placement) -> Attempt:
        """Go on with more pods; returns the time with the former ones as a row of the result.

        Parameters
        ----------
        job : int
        now_s : float
            Work up to then is counted.
        placement : Placement
            With the further pods.
        """
        row = self.attempt(job, now_s, "grown", 0.0)
        self.placement, self.start_s = placement, now_s
        self._measure()
        return row


def _seconds(difference: float) -> float:
    """Clamp rounding errors of a subtraction to 0."""
    return difference if difference > 1e-6 else 0.0


@dataclass(frozen=True, slots=True)
class StandingJob:
    """A job that holds nodes, and does no work, while pods that it lost to a fault wait for others.

    Attributes
    ----------
    placement : Placement
        Of the whole job; lost pods, and those of a HyperJob's Jobs that have stopped, are unplaced.
    start_s : float
    gpus : float
        GPUs that it holds; a share counts as a part of one.
    former : tuple of FormerPod
        Ranks and nodes of the lost pods; empty for a HyperJob.
    """

    placement: Placement
    start_s: float
    gpus: float
    former: tuple[FormerPod, ...] = ()

    def missing(self, faulty: Collection[str]) -> Gang:
        """The gang of the pods that have no node; `faulty` holds the names of the nodes that are broken now."""
        return missing_pods(self.placement, self.former, faulty)

    def attempt(self, job: int, end_s: float) -> Attempt:
        """The time that the job has stood still, as a row of `SimulationResult.attempts`."""
        nodes = tuple(self.placement.node.tolist())
        return Attempt(job, self.start_s, end_s, "standing", 0.0, nodes, self.gpus)
