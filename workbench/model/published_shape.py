"""`PublishedShape`: how a published training recipe cuts a model over GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.model.value import Value

__all__ = ["ModelSize", "PublishedShape"]


@dataclass(frozen=True)
class ModelSize(Value):
    """What a step of a model computes and sends depends on these.

    Attributes
    ----------
    parameters, active : float
        Of the whole model, and those that one token uses.
    layers, hidden, kv_hidden : int
        Transformer layers; sizes of a token's activation and of its keys.
    moe_layers, top_k : int
        Layers with experts, experts per token.
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
    model : str
    size : ModelSize
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
