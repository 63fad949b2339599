"""Bytes that one rank sends per training step, from the parallel shape of a job, and the collectives that send them."""

from __future__ import annotations

import math

from workbench.evaluate.cost.checks import known, not_negative, positive, whole

__all__ = [
    "COLLECTIVES",
    "bus_factor",
    "context_parallel_bytes",
    "data_parallel_bytes",
    "expert_parallel_bytes",
    "pipeline_bytes",
    "tensor_parallel_bytes",
]


def _product(**counts: int) -> int:
    """Product of whole numbers of at least 1; a wrong one is refused by its name."""
    return math.prod(whole(value, name) for name, value in counts.items())


def data_parallel_bytes(
    parameters_per_rank: float, degree: int, bytes_per_element: float = 2, sharded: bool = False
) -> float:
    """Gradients of data-parallel training: an all-reduce, or under FSDP two all-gathers and a reduce-scatter.

    `parameters_per_rank`: parameters of the model that one rank holds. `degree`: replicas. `bytes_per_element`: 4 where
    gradients are reduced in fp32. `sharded`: FSDP or ZeRO-3, with parameters kept over the micro batches. ZeRO-1 sends
    what plain data parallelism sends.
    """
    times, degree = 3 if sharded else 2, whole(degree, "degree")
    elements = not_negative(parameters_per_rank, "parameters_per_rank")
    return times * (degree - 1) / degree * elements * positive(bytes_per_element, "bytes_per_element")


def tensor_parallel_bytes(
    degree: int,
    layers: int,
    microbatches: int,
    micro_batch: int,
    sequence: int,
    hidden: int,
    bytes_per_element: float = 2,
) -> float:
    """Activations of tensor parallelism: four all-reduces per layer; sequence parallelism sends equally many bytes.

    `degree`: ranks of a tensor-parallel group. `layers`: layers of the rank. `microbatches`, `micro_batch`, `sequence`,
    `hidden`: micro batches per step; samples of one; tokens of a sample; size of a token's activation.
    """
    degree = whole(degree, "degree")
    elements = _product(microbatches=microbatches, micro_batch=micro_batch, sequence=sequence, hidden=hidden)
    sent = elements * positive(bytes_per_element, "bytes_per_element")
    return 4 * whole(layers, "layers", 0) * 2 * (degree - 1) / degree * sent


def pipeline_bytes(
    microbatches: int, micro_batch: int, sequence: int, hidden: int, bytes_per_element: float = 2, split: int = 1
) -> float:
    """Activations and their gradients over one boundary between two pipeline stages.

    `microbatches`, `micro_batch`, `sequence`, `hidden`: as in `tensor_parallel_bytes`. `split`: ranks that share the
    boundary by scatter and gather.
    """
    elements = _product(microbatches=microbatches, micro_batch=micro_batch, sequence=sequence, hidden=hidden)
    return 2 * elements * positive(bytes_per_element, "bytes_per_element") / whole(split, "split")


def expert_parallel_bytes(
    degree: int,
    moe_layers: int,
    top_k: int,
    microbatches: int,
    micro_batch: int,
    sequence: int,
    hidden: int,
    bytes_per_element: float = 2,
) -> float:
    """Tokens sent to experts and back, forward and backward, with balanced routing.

    `degree`: ranks that share the experts of a layer. `moe_layers`: layers with experts, of the rank. `top_k`: experts
    per token. `microbatches`, `micro_batch`, `sequence`, `hidden`: as in `tensor_parallel_bytes`.
    """
    degree = whole(degree, "degree")
    tokens = _product(microbatches=microbatches, micro_batch=micro_batch, sequence=sequence)
    sent = tokens * _product(top_k=top_k, hidden=hidden) * positive(bytes_per_element, "bytes_per_element")
    return 4 * whole(moe_layers, "moe_layers", 0) * sent * (degree - 1) / degree


def context_parallel_bytes(
    degree: int,
    layers: int,
    microbatches: int,
    micro_batch: int,
    sequence: int,
    kv_hidden: int,
    bytes_per_element: float = 2,
) -> float:
    """Keys and values that ring attention passes around, forward and backward.

    `degree`: ranks that share a sequence. `layers`: layers of the rank. `microbatches`, `micro_batch`, `sequence`: as
    in `tensor_parallel_bytes`. `kv_hidden`: size of a token's keys; its values are as large.
    """
    degree = whole(degree, "degree")
    elements = _product(microbatches=microbatches, micro_batch=micro_batch, sequence=sequence, kv_hidden=kv_hidden)
    once = whole(layers, "layers", 0) * 2 * (degree - 1) / degree * elements
    return 2 * once * positive(bytes_per_element, "bytes_per_element")


#: Times that every byte but a rank's own crosses a link; None: the factor is 1 for any number of ranks.
COLLECTIVES: dict[str, int | None] = {
    "all-reduce": 2,
    "all-gather": 1,
    "reduce-scatter": 1,
    "all-to-all": 1,
    "broadcast": None,
    "reduce": None,
}


def bus_factor(collective: str, ranks: int) -> float:
    """Bus bandwidth of a collective over its bytes per second, as nccl-tests counts it.

    2(n-1)/n for an all-reduce, (n-1)/n, or 1 (broadcast, reduce).
    """
    times = known(COLLECTIVES, collective, "collective")
    return 1.0 if times is None else times * (whole(ranks, "ranks") - 1) / ranks
