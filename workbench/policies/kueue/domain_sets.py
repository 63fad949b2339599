"""The choice of a smallest set of domains that holds a request with least room to spare, for balanced placement.

Source: Kueue 0.19, pkg/cache/scheduler/tas_balanced_placement.go, evaluateGreedyAssignment and
selectOptimalDomainSetToFit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.policies.kueue.orders import Domains

__all__ = ["Greedy", "entropy_order", "greedy", "smallest_set"]

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Greedy:
    """Domains that hold a request if those with most room are taken first.

    `count`: number of domains. `last_leader`, `last_plain`: the last domain taken with a leader and the last one
    without; -1: none.
    """

    count: int
    last_leader: int = -1
    last_plain: int = -1


def greedy(domains: Domains, level: int, chosen: Longs, slices: int, leaders: int) -> Greedy | None:
    """Take domains of a level with most room first until the request is held; None if they do not hold it.

    `chosen`: ndarray of shape (m,), int64; domains of that level to take from. `slices`, `leaders`: the request.
    """
    counts = domains.counts
    ordered = domains.with_leader_order(level, chosen)
    at, last_leader = 0, -1
    while leaders > 0 and at < len(ordered) and counts.leaders[level][ordered[at]] > 0:
        last_leader = int(ordered[at])
        leaders -= int(counts.leaders[level][last_leader])
        slices -= int(counts.slices_with_leader[level][last_leader])
        at += 1
    if leaders > 0:
        return None
    if slices <= 0:
        return Greedy(at, last_leader)
    plain = domains.plain_order(level, ordered[at:])
    upto = np.cumsum(counts.slices[level][plain])
    last = int(np.searchsorted(upto, slices))
    # Affinity may sort domains without room before others; nothing is taken behind one of those.
    empty = np.flatnonzero(counts.slices[level][plain] <= 0)
    if last >= (int(empty[0]) if len(empty) else len(plain)):
        return None
    return Greedy(at + last + 1, last_leader, int(plain[last]))


def smallest_set(
    domains: Domains, level: int, ordered: Longs, slices: int, leaders: int, slice_size: int
) -> list[int] | None:
    """Of all sets with as few domains as the greedy choice needs, the one that leaves least room; None: none holds it.

    The result is in the order of `ordered`.

    `ordered`: ndarray of int64; domains of that level; the order decides between equal sets. `slices`, `leaders`,
    `slice_size`: what the set must hold. A dynamic programme over states (domains used, leaders left, pods left), as
    upstream's: the first way to reach a state is kept. States from which no set can be completed are left out, which
    changes no answer. `_States` holds all states in two integers.
    """
    bound = greedy(domains, level, ordered, slices, leaders)
    if bound is None:
        return None
    counts = domains.counts
    options = _Options(
        counts.pods[level][ordered].tolist(),
        counts.pods_with_leader[level][ordered].tolist(),
        (counts.leaders[level][ordered] > 0).tolist(),
        (counts.slices[level][ordered] > 0).tolist(),
    )
    found = _States(options, bound.count, slices * slice_size).best(leaders)
    return None if found is None else ordered[found].tolist()


@dataclass(frozen=True)
class _Options:
    """Per domain its pods, its pods beside a leader, whether a leader fits, and whether a slice fits."""

    pods: Sequence[int]
    beside: Sequence[int]
    can_lead: Sequence[bool]
    usable: Sequence[bool]


class _States:
    """States of the search for a set: bit sets of (domains used, deficit), of sets with their leader and without it.

    The deficit is how many pods fewer the domains used hold than as many of the largest domain would. A set can be
    completed only if its deficit is at most that of the whole.

    `options`: domains, in the order in which they are tried. `most`: number of domains in a set. `need`: pods that a
    set must hold.
    """

    def __init__(self, options: _Options, most: int, need: int) -> None:
        self.options = options
        self.most = most
        self.largest = max(options.pods, default=0)
        self.limit = most * self.largest - need
        self.width = self.limit + 1
        self._masks: dict[int, int] = {}
        # A set that holds all pods is not enlarged once it has its leader.
        self.unfinished = 0
        for used in range(most):
            enough = min(max(used * self.largest - need + 1, 0), self.width)
            self.unfinished |= (((1 << self.width) - 1) >> enough << enough) << (used * self.width)

    def best(self, leaders: int) -> list[int] | None:
        """Positions of the domains of the set with the largest deficit, first way first; None: there is no set."""
        settled, missing = (0, 1) if leaders else (1, 0)
        added: list[tuple[int, int]] = []
        for i in range(len(self.options.pods)):
            more, more_missing = self._with_domain(i, settled, missing)
            added.append((more, more_missing))
            settled, missing = settled | more, missing | more_missing
        row = settled >> (self.most * self.width)
        return self._trace(added, settled, row.bit_length() - 1) if row else None

    def _with_domain(self, i: int, settled: int, missing: int) -> tuple[int, int]:
        """States that are new with one domain more: with their leader, and without."""
        options, more, more_missing = self.options, 0, 0
        if options.usable[i]:
            less = self.largest - options.pods[i]
            fits = self._within(less)
            more = (settled & self.unfinished & fits) << (self.width + less)
            more_missing = (missing & fits) << (self.width + less)
        if missing and options.can_lead[i]:
            less = self.largest - options.beside[i]
            more |= (missing & self._within(less)) << (self.width + less)
        return more ^ (more & settled), more_missing ^ (more_missing & missing)

    def _within(self, less: int) -> int:
        """The states of incomplete sets whose deficit may grow by `less`."""
        found = self._masks.get(less)
        if found is None:
            row = (1 << max(self.width - less, 0)) - 1
            found = 0
            for used in range(self.most):
                found |= row << (used * self.width)
            self._masks[less] = found
        return found

    def _trace(self, added: Sequence[tuple[int, int]], settled: int, deficit: int) -> list[int]:
        """The domains that led to a complete set with a deficit; `settled` has all states with their leader."""
        options, used, leads = self.options, self.most, False
        chosen: list[int] = []
        for i in range(len(added) - 1, -1, -1):
            settled ^= added[i][0]
            if not used or not added[i][leads] >> (used * self.width + deficit) & 1:
                continue
            chosen.append(i)
            used -= 1
            plain = deficit - (self.largest - options.pods[i])
            before = settled & self.unfinished
            if leads or (options.usable[i] and plain >= 0 and before >> (used * self.width + plain) & 1):
                deficit = plain
            else:
                deficit -= self.largest - options.beside[i]
                leads = True
        return chosen[::-1]


def entropy_order(domains: Domains, level: int, chosen: Longs) -> Longs:
    """Domains by leaders, slices beside a leader, and how evenly their pods are spread over their children.

    `chosen`: ndarray of shape (m,), int64; domains of that level. Returns ndarray of shape (m,), int64: the domains,
    most of each first; ties: the smallest path.
    """
    counts = domains.counts
    rank = domains.tree.rank[level]

    def key(domain: int) -> tuple[int, int, float, int]:
        return (
            -int(counts.leaders[level][domain]),
            -int(counts.slices_with_leader[level][domain]),
            -_entropy(domains, level, domain),
            int(rank[domain]),
        )

    return np.array(sorted(chosen.tolist(), key=key), dtype=np.int64)


def _entropy(domains: Domains, level: int, domain: int) -> float:
    """Shannon entropy of the pods of a domain over its children, in bits."""
    if level == domains.tree.depth - 1:
        return 0.0
    pods = domains.counts.pods[level + 1][domains.tree.children(level, [domain])]
    pods = pods[pods > 0]
    if not len(pods):
        return 0.0
    shares = pods / pods.sum()
    return -math.fsum((shares * np.log2(shares)).tolist())
