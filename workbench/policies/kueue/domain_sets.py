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

    Attributes
    ----------
    count : int
        Number of domains.
    last_leader, last_plain : int
        The last domain taken with a leader and the last one without; -1: none.
    """

    count: int
    last_leader: int = -1
    last_plain: int = -1


def greedy(domains: Domains, level: int, chosen: Longs, slices: int, leaders: int) -> Greedy | None:
    """Take domains of a level with most room first until the request is held; None if they do not hold it."""
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

    Parameters
    ----------
    domains : Domains
    level : int
    ordered : ndarray of int64
        Domains of that level; the order decides between equal sets.
    slices, leaders, slice_size : int

    Returns
    -------
    list of int
        In the order of `ordered`.

    Notes
    -----
    A dynamic programme over states (domains used, leaders left, pods left), as upstream's: the first way to reach a
    state is kept. States from which no set can be completed are dropped, which changes no answer.
    """
    bound = greedy(domains, level, ordered, slices, leaders)
    if bound is None:
        return None
    counts = domains.counts
    pods, beside = counts.pods[level][ordered].tolist(), counts.pods_with_leader[level][ordered].tolist()
    can_lead, usable = counts.leaders[level][ordered].tolist(), (counts.slices[level][ordered] > 0).tolist()
    best_left = _largest_sums(pods, bound.count)
    # (leaders left, pods left, -domains used) -> the domains that led there, by position.
    start = (leaders, slices * slice_size, 0)
    links: dict[tuple[int, int, int], tuple[int, ...]] = {start: ()}
    for i in range(len(ordered)):
        new: dict[tuple[int, int, int], tuple[int, ...]] = {}
        after = best_left[i + 1]
        for state in sorted(links):
            lead, left, used = state
            if (lead <= 0 and left <= 0) or -used >= bound.count:
                continue
            steps = []
            if lead > 0 and can_lead[i] > 0:
                steps.append((lead - can_lead[i], left - beside[i], used - 1))
            if usable[i]:
                steps.append((lead, left - pods[i], used - 1))
            for step in steps:
                if step[1] <= after[bound.count + step[2]] and step not in links and step not in new:
                    new[step] = (*links[state], i)
        links.update(new)
    done = [state for state in links if state[0] <= 0 and state[1] <= 0 and -state[2] == bound.count]
    if not done:
        return None
    best = max(done, key=lambda state: state[1])
    return [int(ordered[i]) for i in links[best]]


def _largest_sums(pods: Sequence[int], most: int) -> list[list[int]]:
    """For each position the most pods that 0, 1, ... `most` of the domains from there on hold."""
    largest: list[int] = []
    sums = [[0] * (most + 1)]
    for count in reversed(pods):
        largest = sorted([*largest, count], reverse=True)[:most]
        row = [0]
        for each in range(most):
            row.append(row[-1] + (largest[each] if each < len(largest) else 0))
        sums.append(row)
    return sums[::-1]


def entropy_order(domains: Domains, level: int, chosen: Longs) -> Longs:
    """Domains by leaders, slices beside a leader, and how evenly their pods are spread over their children."""
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
