"""`RunningJob`: a job that runs in a simulation, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.model.placement import Placement
from workbench.simulate.result import Attempt

__all__ = ["RunningJob"]


@dataclass(slots=True)
class RunningJob:
    """One attempt of a job under way.

    Attributes
    ----------
    placement : Placement
    start_s : float
        When it was placed.
    begins_s : float
        When its work goes on, after a restart.
    total_s : float
        Seconds that it needs from then on with all its pods and free links, checkpoints included.
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
    """

    placement: Placement
    start_s: float
    begins_s: float
    total_s: float
    gpus: float
    whole: int
    pace: float = 1.0
    done_s: float = 0.0
    since_s: float = 0.0
    slowdown: float = 1.0
    step_s: float = 0.0

    def __post_init__(self) -> None:
        self.since_s = self.begins_s

    def work_until(self, now_s: float) -> None:
        """Count the work up to an instant.

        Parameters
        ----------
        now_s : float
            Not before the last one.
        """
        if now_s > self.since_s:
            self.done_s = min(self.done_s + (now_s - self.since_s) / (self.pace * self.slowdown), self.total_s)
            self.since_s = now_s

    @property
    def end_s(self) -> float:
        """When it will be done if nothing changes; infinite: never."""
        left = self.total_s - self.done_s
        return self.since_s + left * self.pace * self.slowdown if left else self.since_s

    def attempt(self, job: int, end_s: float, outcome: str, saved_s: float) -> Attempt:
        """The attempt as it ends now.

        Parameters
        ----------
        job : int
        end_s : float
        outcome : str
        saved_s : float
            As for `Attempt`.
        """
        slowed = max(end_s - self.begins_s, 0.0) - self.done_s * self.pace
        # What is left of a subtraction of large numbers is no second.
        slowed = slowed if slowed > 1e-6 else 0.0
        nodes = tuple(self.placement.node.tolist())
        return Attempt(job, self.start_s, end_s, outcome, saved_s, nodes, self.gpus, slowed)
