"""Bytes that one rank sends per training step, from the parallel shape of a job."""

from __future__ import annotations

from workbench.evaluate.cost.checks import not_negative, positive, whole

__all__ = [
    "context_parallel_bytes",
    "data_parallel_bytes",
    "expert_parallel_bytes",
    "pipeline_bytes",
    "tensor_parallel_bytes",
]


def data_parallel_bytes(
    parameters_per_rank: float, degree: int, bytes_per_element: float = 2, sharded: bool = False
) -> float:
    """Gradients of data-parallel training: an all-reduce, or under FSDP two all-gathers and a reduce-scatter.

    Parameters
    ----------
    parameters_per_rank : float
    degree : int
        Replicas.
    bytes_per_element : float
        4 where gradients are reduced in fp32.
    sharded : bool
        FSDP or ZeRO-3, with parameters kept over the micro batches. ZeRO-1 sends what plain data parallelism sends.
    """
    times = 3 if sharded else 2
    whole(degree, "degree")
    return times * (degree - 1) / degree * not_negative(parameters_per_rank, "parameters_per_rank") * bytes_per_element


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

    Parameters
    ----------
    degree : int
        Ranks of a tensor-parallel group.
    layers : int
        Layers of the rank.
    microbatches, micro_batch, sequence, hidden : int
        Micro batches per step; samples of one; tokens of a sample; size of a token's activation.
    bytes_per_element : float
    """
    whole(degree, "degree")
    return 4 * layers * microbatches * 2 * (degree - 1) / degree * micro_batch * sequence * hidden * bytes_per_element


def pipeline_bytes(
    microbatches: int, micro_batch: int, sequence: int, hidden: int, bytes_per_element: float = 2, split: int = 1
) -> float:
    """Activations and their gradients over one boundary between two pipeline stages.

    Parameters
    ----------
    microbatches, micro_batch, sequence, hidden : int
        As in `tensor_parallel_bytes`.
    bytes_per_element : float
    split : int
        Ranks that share the boundary by scatter and gather.
    """
    return 2 * microbatches * micro_batch * sequence * hidden * bytes_per_element / whole(split, "split")


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

    Parameters
    ----------
    degree : int
        Ranks that share the experts of a layer.
    moe_layers : int
        Layers with experts, of the rank.
    top_k : int
        Experts per token.
    microbatches, micro_batch, sequence, hidden : int
        As in `tensor_parallel_bytes`.
    bytes_per_element : float
    """
    tokens = microbatches * micro_batch * sequence
    return 4 * moe_layers * tokens * top_k * hidden * bytes_per_element * (whole(degree, "degree") - 1) / degree


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

    Parameters
    ----------
    degree : int
        Ranks that share a sequence.
    layers : int
        Layers of the rank.
    microbatches, micro_batch, sequence : int
        As in `tensor_parallel_bytes`.
    kv_hidden : int
        Size of a token's keys; its values are as large.
    bytes_per_element : float
    """
    once = layers * microbatches * 2 * (whole(degree, "degree") - 1) / degree * micro_batch * sequence * kv_hidden
    return 2 * once * positive(bytes_per_element, "bytes_per_element")
