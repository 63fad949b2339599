"""Oracle of the ``states`` kernel: every set of every state, by itertools."""

from __future__ import annotations

import itertools
import math


def bottleneck(weights, gpus):
    return min((weights[a][b] for a, b in itertools.combinations(gpus, 2)), default=math.inf)


def best_bottleneck(weights, free, k):
    """None where fewer than k are free."""
    return max((bottleneck(weights, chosen) for chosen in itertools.combinations(free, k)), default=None)
