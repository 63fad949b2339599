"""`TrainingStep`: what a job computes and sends in each training step, whatever its placement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.evaluate.cost.checks import not_negative
from workbench.evaluate.cost.parallel_shape import ParallelShape, TrainingModel, exchanges
from workbench.evaluate.cost.step_time import PipelineStep
from workbench.model.value import Value

__all__ = ["TrainingStep"]


@dataclass(frozen=True, eq=False)
class TrainingStep(Value):
    """Compute and traffic of one step; steps follow each other for as long as the job runs.

    Attributes
    ----------
    compute_s : float
        Seconds without traffic between nodes.
    sent_gb : mapping of str to float
        GB that one rank sends in a step, by kind of parallelism as for `ParallelShape.groups`. Without a shape the one
        kind is ``data``.
    shape : ParallelShape, optional
        None: every GPU is a data-parallel rank.
    """

    compute_s: float
    sent_gb: Mapping[str, float] = field(default_factory=dict)
    shape: ParallelShape | None = None

    def __post_init__(self) -> None:
        not_negative(self.compute_s, "compute_s")
        for kind, gb in self.sent_gb.items():
            not_negative(gb, f"GB sent, {kind}")

    @classmethod
    def of(cls, shape: ParallelShape, model: TrainingModel) -> TrainingStep:
        """The step of a model that is cut in this shape, its compute with the bubbles of the pipeline.

        Parameters
        ----------
        model : TrainingModel
            With `forward_s` and `backward_s`, else a step is communication only.
        """
        step = PipelineStep(model.microbatches, shape.pipeline, model.forward_s, model.backward_s, model.interleave)
        sent = {each.kind: each.bytes_per_rank / 1e9 for each in exchanges(shape, model)}
        return cls(step.time(overlapped=False).step_s, sent, shape)
