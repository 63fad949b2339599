"""Counts of free GPUs, and bookkeeping of GPUs that several pods share, in thousandths of a GPU.

A GPU is either wholly free (its bit is set in ``gpu_free``), held whole by one pod, or shared. Arrays of shares hold,
for each node and GPU number, the thousandths that pods hold of a shared GPU (1 to 1000), and 0 for any other GPU. A
cluster without shared GPUs has no such array.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.kernels.gpu_sets import indices_of
from workbench.model.arrays import Ints, Longs, Words

__all__ = [
    "WHOLE_GPU",
    "Milli",
    "add_shares",
    "capped_by_gpus",
    "check_shares",
    "free_milli",
    "gpu_counts",
    "gpu_width",
    "shared_words",
    "shares_of_mask",
    "shares_of_pods",
    "words_of_mask",
]

Milli = npt.NDArray[np.int16]
#: Thousandths of one GPU.
WHOLE_GPU = 1000


def gpu_width(gpu_total: Words) -> int:
    """Highest GPU number of any node, plus one: the number of columns of an array with one column per GPU.

    `gpu_total` holds the GPUs of each node as bits: uint64 of shape (n, w).
    """
    together = np.bitwise_or.reduce(gpu_total, axis=0)
    return int.from_bytes(together.astype("<u8").tobytes(), "little").bit_length()


def free_milli(gpu_free: Words, gpu_total: Words, shares: Milli | None) -> Milli:
    """Free thousandths of each GPU of each node.

    Returns ndarray of shape (n, g), int16: 1000 for a GPU that is wholly free, 0 for a GPU that is held whole and for
    one that the node does not have.

    `gpu_free`: ndarray of shape (n, w), uint64; bits of the GPUs that are wholly free. `gpu_total`: ndarray of shape
    (n, w), uint64; bits of the GPUs that a node has. `shares`: ndarray of shape (n, g), int16; thousandths in use of
    each shared GPU; None: no GPU is shared, and g is `gpu_width(gpu_total)`.
    """
    width = gpu_width(gpu_total) if shares is None else shares.shape[1]
    free = _bits(gpu_free, width) * np.int16(WHOLE_GPU)
    if shares is None:
        return free
    return np.where(shares > 0, (np.int16(WHOLE_GPU) - shares) * _bits(gpu_total, width), free)


def _bits(words: Words, width: int) -> Milli:
    """The first `width` bits of each row of `words` (uint64, shape (n, w)) as 0 or 1: int16 of shape (n, width)."""
    numbers = np.arange(width, dtype=np.uint64)
    bits = words[:, (numbers >> np.uint64(6)).astype(np.intp)] >> (numbers & np.uint64(63))
    return (bits & np.uint64(1)).astype(np.int16)


def shares_of_mask(node: int, mask: int, milli: int) -> tuple[Ints, Ints, Ints]:
    """The GPU shares of one pod as the three arrays (nodes, gpus, milli) that `add_shares` takes.

    `node`: the pod's node. `mask`: bits of the GPUs of which the pod has a share. `milli`: thousandths of each of these
    GPUs.

    Returns
    -------
    nodes, gpus, milli : ndarray of shape (k,), int32
        One entry for each GPU of the mask, ascending.
    """
    gpus = np.array(indices_of(mask), dtype=np.int32)
    return np.full(len(gpus), node, dtype=np.int32), gpus, np.full(len(gpus), milli, dtype=np.int32)


def shares_of_pods(nodes: Ints, words: Words, milli: Milli) -> tuple[Ints, Ints, Ints]:
    """The GPU shares of placed pods as the three arrays (nodes, gpus, milli) that `add_shares` takes.

    `nodes`: ndarray of shape (p,), int32; node of each pod; -1: it has none. `words`: ndarray of shape (p, w), uint64;
    GPUs of each pod, as bits. `milli`: ndarray of shape (p,), int16; thousandths that each pod holds of each of its
    GPUs; pods with whole GPUs (1000) have no share.

    Returns
    -------
    nodes, gpus, milli : ndarray of shape (k,), int32
    """
    bits = _bits(words, 64 * words.shape[1]) * ((milli < WHOLE_GPU) & (nodes >= 0))[:, None]
    pod, gpu = np.nonzero(bits)
    return nodes[pod], gpu.astype(np.int32), milli[pod].astype(np.int32)


def add_shares(
    sign: int,
    nodes: Ints,
    gpus: Ints,
    milli: Ints,
    shares: Milli,
    gpu_free: Words,
    total: Words,
    *,
    restoring: bool = False,
) -> None:
    """Add the thousandths of GPUs that pods take to an array of shares, or subtract those that pods give back.

    A GPU stops being wholly free when the first thousandth is taken, and becomes so again when the last one is given
    back.

    Raises InputError: no such node or GPU, a share outside 1 to 1000, more thousandths than the GPU has free, or more
    taken away than are held; nothing is changed then.

    Parameters
    ----------
    sign : {1, -1}
    nodes, gpus, milli : ndarray of shape (p,), int32
        Node, number of the GPU there and thousandths of each share; a GPU may appear several times.
    shares : ndarray of shape (n, g), int16
        Thousandths held of each shared GPU, 0 for others; changed.
    gpu_free : ndarray of shape (n, w), uint64
        GPUs that are wholly free; changed.
    total : ndarray of shape (n, w), uint64
        Healthy GPUs of each node; only these are taken or become free.
    restoring : bool
        Take the shares back even if the GPU is broken by now, because the pods held them before.
    """
    n, width = shares.shape
    known = (nodes >= 0) & (nodes < n) & (gpus >= 0) & (gpus < width)
    _refuse(~known, nodes, gpus, milli, "no such node or GPU", f"nodes 0 to {n - 1}, GPUs 0 to {width - 1}")
    _refuse((milli < 1) | (milli > WHOLE_GPU), nodes, gpus, milli, "no share of a GPU", f"1 to {WHOLE_GPU}")
    at, index = np.unique(nodes.astype(np.int64) * width + gpus, return_inverse=True)
    more = np.bincount(index, weights=milli, minlength=len(at)).astype(np.int64)
    where, number = at // width, at % width
    word, bit = number // 64, np.uint64(1) << (number % 64).astype(np.uint64)
    held = shares[where, number].astype(np.int64)
    after = held + sign * more
    if sign > 0:
        wholly_free = (gpu_free[where, word] & bit) != 0
        healthy = (total[where, word] & bit) != 0
        gone = np.zeros_like(healthy) if restoring else ((held == 0) & ~wholly_free) | ~healthy
        _refuse(
            (gone | (after > WHOLE_GPU))[index],
            nodes, gpus, milli, "the GPU has not so much left", "no more than its free thousandths",
        )  # fmt: skip
    else:
        expected = "no more than is held of the GPU"
        _refuse((after < 0)[index], nodes, gpus, milli, "more than was taken is given back", expected)
    shares[where, number] = after
    free = after == 0
    np.bitwise_and.at(gpu_free, (where[~free], word[~free]), ~bit[~free])
    np.bitwise_or.at(gpu_free, (where[free], word[free]), bit[free] & total[where[free], word[free]])


def _refuse(wrong: npt.NDArray[np.bool_], nodes: Ints, gpus: Ints, milli: Ints, message: str, expected: str) -> None:
    if wrong.any():
        i = int(wrong.argmax())
        where = f"node {int(nodes[i])}, GPU {int(gpus[i])}"
        raise InputError(message, source="shares", where=where, got=f"{int(milli[i])} thousandths", expected=expected)


def shared_words(shares: Milli, like: Words) -> Words:
    """Bit mask of the GPUs that pods share, in the shape of `like`: uint64 of shape (n, w).

    `shares`, int16 of shape (n, g), holds the thousandths in use of each GPU; a GPU is shared if its number is not 0.
    """
    packed = np.packbits(shares > 0, axis=1, bitorder="little")
    padded = np.zeros((len(like), 8 * like.shape[1]), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64)


def check_shares(shares: Milli, gpu_free: Words, gpu_total: Words) -> None:
    """Raise an error if an array of GPU shares contradicts the GPU masks of a snapshot.

    Raises InputError: another dtype or shape, a number outside 0 to 1000, or a shared GPU that counts as wholly free.

    `shares`: ndarray of shape (n, g), int16; thousandths in use of each shared GPU. `gpu_free`, `gpu_total`: ndarray of
    shape (n, w), uint64; bits of the GPUs that are wholly free, and of those that a node has.
    """
    n, least, most = len(gpu_total), gpu_width(gpu_total), 64 * gpu_total.shape[1]
    if shares.dtype != np.int16 or shares.ndim != 2 or len(shares) != n or not least <= shares.shape[1] <= most:
        got, expected = f"{shares.dtype} of shape {shares.shape}", f"int16 of {n} rows and {least} to {most} columns"
        raise InputError("wrong array", source="gpu_shares", got=got, expected=expected)
    if shares.size and not 0 <= int(shares.min()) <= int(shares.max()) <= WHOLE_GPU:
        got = f"{int(shares.min())} to {int(shares.max())}"
        raise InputError("no share of a GPU", source="gpu_shares", got=got, expected=f"0 to {WHOLE_GPU}")
    both = np.argwhere(shared_words(shares, gpu_free) & gpu_free)
    if len(both):
        node = int(both[0][0])
        raise InputError("a shared GPU counts as wholly free", source="gpu_shares", where=f"node {node}")


def gpu_counts(words: Words) -> Longs:
    """Number of set bits in each row of a GPU bit mask, uint64 of shape (n, w); the result is int64 of shape (n,)."""
    bits = np.bitwise_count(words)
    counts: Longs = bits[:, 0].astype(np.int64) if bits.shape[1] == 1 else bits.sum(axis=1, dtype=np.int64)
    return counts


def capped_by_gpus(idle: Longs, gpu_free: Words, gpu_columns: Sequence[int]) -> Longs:
    """Idle amounts of each node, with the GPU columns limited to the number of GPUs that are free.

    `idle`: ndarray of shape (n, r), int64. `gpu_free`: ndarray of shape (n, w), uint64; bits of the free GPUs of each
    node. `gpu_columns`: columns of `idle` that count GPUs. Returns ndarray of shape (n, r), int64: `idle` itself if no
    amount is above the limit, else a read-only copy.
    """
    columns = list(gpu_columns)
    free = gpu_counts(gpu_free)[:, None]
    if not (idle[:, columns] > free).any():
        return idle
    capped = idle.copy()
    capped[:, columns] = np.minimum(capped[:, columns], free)
    capped.flags.writeable = False
    return capped


def words_of_mask(mask: int, width: int) -> Words:
    """A GPU bit mask, given as a Python int, as `width` 64-bit words (uint64, least significant word first)."""
    return np.frombuffer(mask.to_bytes(8 * width, "little"), dtype="<u8").astype(np.uint64)
