"""`JobLog`: jobs with the times of their arrival and their work, as a trace or a generator's file gives them.

`PublishedShape`: how a published training recipe cuts a model over GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.number_text import duration_text
from workbench.model.value import Value

__all__ = ["GPU", "MOST_SECONDS", "SHAPE", "JobLog", "LoggedJob", "LoggedStep", "ModelSize", "PublishedShape"]

#: Resource by which the jobs of every log ask for GPUs, whatever the cluster calls its own.
GPU = "nvidia.com/gpu"
#: The longest time that a job may have, and the latest that it may arrive at: 30,000 years. Sums stay exact to a
#: millisecond.
MOST_SECONDS = 1e12
#: How degrees of parallelism are written, as DPxTPxPPxCPxEP; those left out at the end are 1.
SHAPE = r"[1-9][0-9]{0,6}(x[1-9][0-9]{0,6}){0,4}"


@dataclass(frozen=True)
class LoggedStep(Value):
    """What a job computes and sends in a training step.

    `compute_s`: seconds without traffic between nodes. `sent_gb`: GB that one rank sends, by kind of parallelism:
    ``data``, ``tensor``, ``pipeline``, ``context``, ``expert``. `shape`: degrees of parallelism, DPxTPxPPxCPxEP; empty:
    every GPU is a data-parallel rank.
    """

    compute_s: float
    sent_gb: Mapping[str, float]
    shape: str = ""


@dataclass(frozen=True)
class LoggedJob(Value):
    """A gang with its times, in seconds since the start of the log.

    `duration_s`: seconds of work. `checkpoint_s`: seconds of work between checkpoints; None: the log does not say.
    `step`: one training step; None: the log does not say.
    """

    gang: Gang
    submitted_s: float
    duration_s: float
    checkpoint_s: float | None = None
    step: LoggedStep | None = None


@dataclass(frozen=True, repr=False)
class JobLog(Value):
    """The jobs of a log, by submission; those of one instant in the order of the log.

    `format`: name of the format. `quotas`: by queue: what its jobs may hold together, base units; empty where the log
    has none. `notes`: what of the log was left out or read in another way, with counts. `inputs`: SHA-256 of the file,
    by its name.
    """

    jobs: tuple[LoggedJob, ...]
    format: str
    quotas: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    notes: tuple[Notice, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        last = self.jobs[-1].submitted_s if self.jobs else 0.0
        number = counted(len(self.jobs), "job", form=",")
        return f"JobLog({number} of {self.format}, submitted within {duration_text(last)})"


@dataclass(frozen=True)
class ModelSize(Value):
    """What a step of a model computes and sends depends on these.

    `parameters`, `active`: of the whole model, and those that one token uses. `layers`, `hidden`, `kv_hidden`:
    transformer layers; sizes of a token's activation and of its keys. `moe_layers`, `top_k`: layers with experts,
    experts per token.
    """

    parameters: float
    active: float
    layers: int
    hidden: int
    kv_hidden: int
    moe_layers: int
    top_k: int


@dataclass(frozen=True)
class PublishedShape(Value):
    """One recipe.

    Attributes
    ----------
    degrees : tuple of int
        Data, tensor, pipeline, context and expert parallelism; the product of the first four is the number of GPUs.
    sequence, micro_batch, microbatches : int
        Tokens of a sample; samples of a micro batch; micro batches of a step on each replica.
    sharded : bool
        FSDP or ZeRO-3.
    interleave : int
        Chunks of layers of each pipeline stage (virtual pipeline stages).
    """

    model: str
    size: ModelSize
    degrees: tuple[int, int, int, int, int]
    sequence: int
    micro_batch: int
    microbatches: int
    sharded: bool
    interleave: int = 1
