"""Oracle of the ``subsets`` kernel: itertools over the set bits."""

from __future__ import annotations

import itertools


def devices(mask):
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def subsets(mask, k):
    """Masks of the k-subsets in lexicographic order of their ascending index lists."""
    return [sum(1 << i for i in chosen) for chosen in itertools.combinations(devices(mask), k)]
