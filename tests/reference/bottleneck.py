"""Oracle of the ``bottleneck`` kernel: every subset, every rule written out. Obvious, not fast; n up to 10 or so."""

from __future__ import annotations

import itertools
import math

import numpy as np


def pairs(weight, subset):
    """Ascending weights of the pairs of a subset."""
    return sorted(float(weight[i, j]) for i, j in itertools.combinations(subset, 2))


def bottleneck(weight, subset):
    return min(pairs(weight, subset), default=math.inf)


def best_bottleneck(weight, free, k):
    """None where fewer than k are free."""
    return max((bottleneck(weight, chosen) for chosen in itertools.combinations(free, k)), default=None)


def objective(weight, link_class, subset):
    """(lowest class, lowest weight); without classes all pairs are of one class."""
    lowest_class = math.inf
    if link_class is not None:
        lowest_class = min((int(link_class[i, j]) for i, j in itertools.combinations(subset, 2)), default=math.inf)
    return lowest_class, bottleneck(weight, subset)


def optimal_subsets(weight, free, k, require=(), link_class=None):
    """All subsets of ``free`` of size ``k`` around ``require`` with the best objective, lexicographic."""
    allowed = [s for s in itertools.combinations(sorted(free), k) if set(require) <= set(s)]
    best = max((objective(weight, link_class, s) for s in allowed), default=None)
    return [s for s in allowed if objective(weight, link_class, s) == best]


def left_over(weight, link_class, free, subset):
    """Best objective of another set of that size among the devices left; (-inf, -inf) when too few are left."""
    rest = sorted(set(free) - set(subset))
    values = [objective(weight, link_class, s) for s in itertools.combinations(rest, len(subset))]
    return max(values, default=(-math.inf, -math.inf))


def chosen_subset(weight, free, k, require=(), link_class=None):
    """The winning tie (docs/decisions.md, decision 1), by (a) what it leaves, (b) its weights, (c) its indices."""
    ties = optimal_subsets(weight, free, k, require, link_class)
    return min(
        ties,
        key=lambda s: (
            tuple(-x for x in left_over(weight, link_class, free, s)),
            tuple(-x for x in pairs(weight, s)),
            s,
        ),
    )


def splits(subset, sizes):
    """Every way to deal a subset to pods of falling sizes, each pod ascending; equal pods in any order."""
    if not sizes:
        yield ()
        return
    for first in itertools.combinations(sorted(subset), sizes[0]):
        for others in splits(set(subset) - set(first), sizes[1:]):
            yield (first, *others)


def best_splits(weight, unions, sizes):
    """The best ascending list of pod bottlenecks over all unions, and all (union, split) that reach it.

    Of equal pods the lexicographically smaller set comes first.
    """
    found = {}
    for union in unions:
        for split in splits(union, sizes):
            equal = zip(split, split[1:], sizes, sizes[1:])
            if any(a > b for a, b, size, other in equal if size == other):
                continue
            found[(union, split)] = sorted(bottleneck(weight, pod) for pod in split)
    best = max(found.values())
    return best, sorted(key for key, value in found.items() if value == best)


def random_machine(rng, n, levels, classes=None, *, more=0):
    """A symmetric matrix with few distinct weights, so that ties happen; and, where asked, unrelated link classes.

    Links to the `more` devices behind the first `n` are drawn together, by one seed: they do not shrink one by one.
    """
    noise = np.random.default_rng(rng.randrange(2**32) if more else 0)

    def symmetric(lowest, highest, dtype):
        values = noise.integers(lowest, highest + 1, (n + more, n + more)).astype(dtype)
        values[:n, :n] = [[rng.randint(lowest, highest) for _ in range(n)] for _ in range(n)]
        return np.minimum(values, values.T)

    return symmetric(1, levels, float), None if classes is None else symmetric(0, classes - 1, np.int32)
