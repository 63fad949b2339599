"""Benchmark of listing, ranking and unranking k-subsets, compared with itertools and plain Python."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator

import numpy as np
from measure import row

from workbench._core import subsets as kernel
from workbench.kernels import subsets

SIZES = ((8, 4), (16, 8), (24, 6))


def measure(call: Callable[[], object], *, repeats: int) -> list[float]:
    """Microseconds per call, `repeats` values after a warm-up call.

    Each value is a mean of 100 calls if a call takes less than 10 microseconds.
    """
    call()
    batch = 100 if min(timed(call, 1) for _ in range(5)) < 10.0 else 1
    return [timed(call, batch) for _ in range(repeats)]


def timed(call: Callable[[], object], batch: int) -> float:
    start = time.perf_counter()
    for _ in range(batch):
        call()
    return (time.perf_counter() - start) * 1e6 / batch


def itertools_masks(n: int, k: int) -> list[int]:
    return [sum(1 << i for i in chosen) for chosen in itertools.combinations(range(n), k)]


def python_rank(n: int, k: int, mask: int) -> int:
    """Baseline: lexicographic rank of the k-subset `mask` of n elements, by the kernel's way of counting in plain
    Python.
    """
    value, place = 0, 0
    for position in range(n):
        if place == k:
            break
        if mask >> position & 1:
            place += 1
        else:
            value += math.comb(n - position - 1, k - place - 1)
    return value


def cases(n: int, k: int) -> list[tuple[str, Callable[[], object], str, Callable[[], object]]]:
    """(operation, our call, the baseline's name, the baseline's call), each over all k-subsets of n elements."""
    mask = (1 << n) - 1
    whole = subsets.words_of_mask(mask)
    words = subsets.enumerate_masks(mask, k)
    listed = subsets.masks_of_words(words)
    ranks = np.arange(len(listed))
    return [
        ("list", lambda: subsets.enumerate_masks(mask, k), "itertools", lambda: itertools_masks(n, k)),
        ("unrank", lambda: kernel.unrank(whole, k, ranks), "itertools (lists them)", lambda: itertools_masks(n, k)),
        ("rank", lambda: subsets.rank(mask, words), "plain Python", lambda: [python_rank(n, k, m) for m in listed]),
    ]


def rows() -> Iterator[dict[str, object]]:
    """One row of the result table per operation and size; times are those of whole lists, in microseconds."""
    for n, k in SIZES:
        for name, ours, baseline, theirs in cases(n, k):
            times = measure(ours, repeats=100)
            yield row(
                f"subsets: {name} all",
                f"{k} of {n} ({math.comb(n, k)})",
                times,
                baseline,
                min(measure(theirs, repeats=2)),
                None,
                "whole list per call, checks included; means of 100 calls where one takes under 10 us",
            )


if __name__ == "__main__":
    for measurement in rows():
        print(measurement)
