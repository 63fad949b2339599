"""Seconds of one training step with a pipeline, and what of its communication is exposed."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.evaluate.cost.checks import keep_whole, not_negative

__all__ = ["PipelineStep", "StepTime"]


@dataclass(frozen=True)
class StepTime:
    """One step.

    `bubble_s`: seconds in which a stage waits while the pipeline fills and drains. `bubble_fraction`: bubble over the
    work of a stage (not over the step). `dp_exposed_s`: seconds of the data-parallel collective that nothing hides.
    """

    bubble_s: float
    bubble_fraction: float
    dp_exposed_s: float
    step_s: float


@dataclass(frozen=True)
class PipelineStep:
    """What a training step consists of. Stages are equal; there are no stragglers.

    Attributes
    ----------
    microbatches, stages, interleave : int
        Micro batches per step, pipeline stages, chunks of layers per stage.
    forward_s, backward_s : float
        Seconds of one micro batch on one stage.
    tp_comm_s, ep_comm_s : float
        Exposed seconds of tensor- and expert-parallel communication of one micro batch on one stage.
    dp_comm_s : float
        Seconds of the data-parallel collective, once per step.
    """

    microbatches: int
    stages: int
    forward_s: float
    backward_s: float
    interleave: int = 1
    tp_comm_s: float = 0.0
    ep_comm_s: float = 0.0
    dp_comm_s: float = 0.0

    def __post_init__(self) -> None:
        keep_whole(self, "microbatches", "stages", "interleave")
        for name in ("forward_s", "backward_s", "tp_comm_s", "ep_comm_s", "dp_comm_s"):
            not_negative(getattr(self, name), name)

    def time(self, overlapped: bool) -> StepTime:
        """Seconds of a step.

        `overlapped`, if True: gradients are sent in buckets, so that the last micro batch's backward pass hides up to
        its own length of the data-parallel collective. False: nothing is hidden.
        """
        unit = self.forward_s + self.backward_s + self.tp_comm_s + self.ep_comm_s
        work, bubble = self.microbatches * unit, (self.stages - 1) / self.interleave * unit
        exposed = max(0.0, self.dp_comm_s - self.backward_s) if overlapped else self.dp_comm_s
        fraction = (self.stages - 1) / (self.interleave * self.microbatches)
        return StepTime(bubble, fraction, exposed, work + bubble + exposed)

    def both_ends(self) -> tuple[StepTime, StepTime]:
        """The step with as much hidden as can be, and with nothing hidden."""
        return self.time(overlapped=True), self.time(overlapped=False)
