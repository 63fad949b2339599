"""`ParallelShape` and `TrainingModel`: how a job splits a model over its GPUs, and the collectives that result."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.evaluate.cost.checks import keep_whole, not_negative, positive
from workbench.evaluate.cost.traffic import (
    context_parallel_bytes,
    data_parallel_bytes,
    expert_parallel_bytes,
    pipeline_bytes,
    tensor_parallel_bytes,
)
from workbench.model.job_log import SHAPE

__all__ = ["Exchange", "ParallelShape", "TrainingModel", "exchanges"]

#: Largest numbers of a model: beyond any model, and no product of them overflows.
_MOST, _MOST_WHOLE = 1e18, 10**9


@dataclass(frozen=True)
class ParallelShape:
    """Degrees of parallelism of a training job.

    Ranks are numbered with the tensor-parallel position fastest, then context, data and pipeline.

    `data`, `tensor`, `pipeline`, `context`: degrees; their product is the number of GPUs. `expert`: ranks of a pipeline
    stage that share the experts of a layer; no further factor. It divides the data- and context-parallel ranks, and
    every tensor-parallel rank then holds its part of an expert; or it divides all ranks of a stage, and every rank
    holds whole experts.
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1

    #: How a shape is written.
    FORM: ClassVar[str] = "DPxTPxPPxCPxEP"

    def __post_init__(self) -> None:
        keep_whole(self, "data", "tensor", "pipeline", "context", "expert")
        stage = self.data * self.context * self.tensor
        if stage % self.expert:
            raise InputError(
                "the ranks of a stage do not share the experts evenly",
                source="shape",
                got=f"DP x CP x TP = {stage}, EP {self.expert}",
                expected="EP divides DP x CP x TP",
            )

    @classmethod
    def parse(cls, text: str, source: str) -> ParallelShape:
        """A shape from text such as ``16x8x2x1x1``; degrees left out at the end are 1.

        `source`: name of the argument, for the error.
        """
        if not re.fullmatch(SHAPE, text):
            raise InputError("no parallel shape", source=source, got=repr(text), expected=f"{cls.FORM}, such as 16x8x2")
        return cls(*(int(degree) for degree in text.split("x")))

    @property
    def ranks(self) -> int:
        """GPUs of the job."""
        return self.data * self.tensor * self.pipeline * self.context

    def __str__(self) -> str:
        return f"{self.data}x{self.tensor}x{self.pipeline}x{self.context}x{self.expert}"

    def groups(self, kind: str) -> npt.NDArray[np.int64]:
        """Ranks that communicate with each other: shape (groups, ranks of a group).

        `kind`: ``tensor``, ``context``, ``expert``, ``pipeline`` (pairs of neighbouring stages), ``data`` (the replicas
        of a parameter: data- and context-parallel ranks together) or ``expert-data`` (the replicas of an expert).
        """
        grid = np.arange(self.ranks).reshape(self.pipeline, self.data, self.context, self.tensor)
        if kind == "tensor":
            return grid.reshape(-1, self.tensor)
        if kind == "context":
            return grid.transpose(0, 1, 3, 2).reshape(-1, self.context)
        if kind == "expert":
            return self._experts().reshape(-1, self.expert)
        if kind == "expert-data":
            return self._experts().swapaxes(1, 2).reshape(-1, self.expert_replicas)
        if kind == "pipeline":
            return np.stack([grid[:-1].ravel(), grid[1:].ravel()], axis=1)
        return grid.transpose(0, 3, 1, 2).reshape(-1, self.data * self.context)

    @property
    def cuts_experts(self) -> bool:
        """Whether tensor-parallel ranks share each expert; if not, they hold different ones."""
        return self.data * self.context % self.expert == 0

    @property
    def expert_replicas(self) -> int:
        """Ranks that hold the same part of the same experts."""
        return self.data * self.context * (1 if self.cuts_experts else self.tensor) // self.expert

    def _experts(self) -> npt.NDArray[np.int64]:
        """Ranks as (groups of replicas, replica, expert-parallel rank), neighbours in rank in one expert group."""
        grid = np.arange(self.ranks).reshape(self.pipeline, self.data, self.context, self.tensor)
        if self.data % self.expert == 0:
            grid = grid.transpose(0, 3, 2, 1).reshape(self.pipeline * self.tensor, self.context, -1, self.expert)
            return grid.reshape(self.pipeline * self.tensor, -1, self.expert)
        if self.cuts_experts:
            return grid.transpose(0, 3, 1, 2).reshape(self.pipeline * self.tensor, -1, self.expert)
        return grid.reshape(self.pipeline, -1, self.expert)


@dataclass(frozen=True)
class TrainingModel:
    """Sizes of a model and its training step on which the communication depends.

    Raises InputError: a number out of range, of 1e9 at most where it is whole and 1e18 where not; more parameters in
    experts than in the model, more layers with experts or chunks of layers than layers; the time of one pass only.

    Attributes
    ----------
    parameters : float
        Of the whole model. They are spread evenly over tensor- and pipeline-parallel ranks, those of experts over
        expert-parallel ranks, too.
    expert_parameters : float
        Those of `parameters` that are in experts; 0: none, or they count as held by every rank like the others.
    layers, hidden, sequence : int
        Transformer layers of the whole model, size of a token's activation, tokens of a sample.
    micro_batch, microbatches : int
        Samples of one micro batch on one replica; micro batches per step.
    bytes_per_element : float
        Of activations.
    gradient_bytes : float
        Bytes of a gradient element; 4 where gradients are reduced in fp32.
    moe_layers, top_k : int
        Layers with experts, of the whole model; experts per token.
    kv_hidden : int
        Size of a token's keys; 0: `hidden`.
    sharded : bool
        FSDP or ZeRO-3.
    forward_s, backward_s : float
        Seconds of one micro batch on one stage, without communication; both or neither. 0: unknown; the step then holds
        communication only.
    interleave : int
        Chunks of layers of each pipeline stage (virtual pipeline stages): they shorten the bubble, and a stage sends
        so many times as often.
    """

    parameters: float
    layers: int
    hidden: int
    sequence: int
    micro_batch: int = 1
    microbatches: int = 1
    bytes_per_element: float = 2.0
    gradient_bytes: float = 2.0
    moe_layers: int = 0
    top_k: int = 1
    kv_hidden: int = 0
    sharded: bool = False
    forward_s: float = 0.0
    backward_s: float = 0.0
    expert_parameters: float = 0.0
    interleave: int = 1

    def __post_init__(self) -> None:
        for name in ("parameters", "bytes_per_element", "gradient_bytes"):
            positive(getattr(self, name), name)
        keep_whole(self, "layers", "hidden", "sequence", "micro_batch", "microbatches", "top_k", "interleave")
        keep_whole(self, "moe_layers", "kv_hidden", least=0)
        for name in ("forward_s", "backward_s", "expert_parameters"):
            not_negative(getattr(self, name), name)
        for each in fields(self):
            value, most = getattr(self, each.name), _MOST_WHOLE if each.type == "int" else _MOST
            if value > most:
                raise InputError("too large a number", source=each.name, got=f"{value:g}", expected=f"at most {most:g}")
        for name in ("moe_layers", "interleave"):
            value = getattr(self, name)
            if value > self.layers:
                expected = f"at most {self.layers}, the layers of the model"
                raise InputError("more than there are layers", source=name, got=str(value), expected=expected)
        if bool(self.forward_s) != bool(self.backward_s):
            raise InputError(
                "the time of one pass only",
                source="forward_s and backward_s (forward_ms and backward_ms)",
                got=f"{self.forward_s:g} s and {self.backward_s:g} s",
                expected="both, or neither",
            )
        if self.expert_parameters > self.parameters:
            raise InputError(
                "more parameters in experts than in the model",
                source="expert_parameters",
                got=f"{self.expert_parameters:g}",
                expected=f"at most {self.parameters:g}",
            )


@dataclass(frozen=True)
class Exchange:
    """Collective calls of one kind of parallelism in a training step.

    Attributes
    ----------
    kind : str
        As for `ParallelShape.groups`.
    collective : str
        A calibrated collective. Two pipeline stages count as an all-gather of two ranks: each sends one half.
    size : float
        Bytes of one call, as nccl-tests counts them.
    calls : int
        Calls per step that are on the critical path if nothing is hidden.
    bytes_per_rank : float
        Bytes that one rank sends in a step.
    """

    kind: str
    collective: str
    size: float
    calls: int
    bytes_per_rank: float


def exchanges(shape: ParallelShape, model: TrainingModel) -> tuple[Exchange, ...]:
    """The communication of one training step (docs/cost.md has the table).

    Kinds of parallelism whose degree is 1 are left out. Layers count as spread evenly over the stages, rounded up.
    """
    layers = -(-model.layers // shape.pipeline)
    moe_layers = -(-model.moe_layers // shape.pipeline)
    sequence = -(-model.sequence // shape.context)
    m, b, e = model.microbatches, model.micro_batch, model.bytes_per_element
    activation = b * sequence * model.hidden * e
    found = []
    if shape.tensor > 1:
        sent = tensor_parallel_bytes(shape.tensor, layers, m, b, sequence, model.hidden, e)
        found.append(Exchange("tensor", "all-reduce", activation, 4 * layers * m, sent))
    if shape.context > 1:
        kv = model.kv_hidden or model.hidden
        sent = context_parallel_bytes(shape.context, layers, m, b, model.sequence, kv, e)
        found.append(Exchange("context", "all-gather", 2 * b * model.sequence * kv * e, 2 * layers * m, sent))
    if shape.expert > 1 and moe_layers:
        sent = expert_parallel_bytes(shape.expert, moe_layers, model.top_k, m, b, sequence, model.hidden, e)
        found.append(Exchange("expert", "all-to-all", activation * model.top_k, 4 * moe_layers * m, sent))
    if shape.pipeline > 1:
        sent = model.interleave * pipeline_bytes(m, b, sequence, model.hidden, e)
        found.append(Exchange("pipeline", "all-gather", 2 * activation, 2 * (shape.pipeline - 1), sent))
    experts = model.expert_parameters if shape.expert > 1 else 0.0
    # Of a rank: tensor- and pipeline-parallel ranks share the rest, expert-parallel ranks the experts.
    dense = (model.parameters - experts) / (shape.tensor * shape.pipeline)
    experts /= shape.expert * shape.pipeline * (shape.tensor if shape.cuts_experts else 1)
    for kind, parameters, replicas in (
        ("data", dense, shape.data * shape.context),
        ("expert-data", experts, shape.expert_replicas),
    ):
        if replicas > 1 and parameters:
            sent = data_parallel_bytes(parameters, replicas, model.gradient_bytes, model.sharded)
            collective, calls = ("all-gather", 3) if model.sharded else ("all-reduce", 1)
            found.append(Exchange(kind, collective, parameters * model.gradient_bytes, calls, sent))
    return tuple(found)
