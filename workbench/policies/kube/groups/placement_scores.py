"""Scores of placements: how many pods of the group they take, and how full their nodes become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.policies.kube.status import Code, Status

__all__ = ["ALWAYS", "FULL", "best_totals", "fit_score", "normalised_counts", "total_of"]

#: The largest score.
FULL = 100

#: Resources that count for every group, requested or not.
ALWAYS = ("cpu", "memory", "ephemeral-storage")


def normalised_counts(counts: Sequence[int]) -> list[int] | Status:
    """Scale the numbers of pods that placements hold to 0..100 (plugin PodGroupPodsCount).

    `counts`: for each placement: pods of the group that have a node already, and pods placed in it.

    The result is an error if no placement holds a pod.
    """
    largest = max(counts, default=0)
    if largest == 0:
        return Status(Code.ERROR, ("no pods from pod group are assigned to any of the candidate placements",))
    return [_normalised(count, largest) for count in counts]


def total_of(count: int, fit: int, largest: int) -> int:
    """Sum of the two scores of a placement.

    `count`: pods of the group in it. `fit`: its `fit_score`. `largest`: pods in the placement that holds most of them.
    """
    return _normalised(count, largest) + fit


def _normalised(count: int, largest: int) -> int:
    return FULL * count // largest if largest else 0


def fit_score(
    allocatable: Mapping[str, int],
    used: Mapping[str, int],
    requested: Mapping[str, int],
    resources: Sequence[tuple[str, int]],
) -> int:
    """Score how full the nodes of a placement become, the fullest highest (plugin NodeResourcesFit, ScorePlacement).

    Returns 0 to 100; whole-number arithmetic, rounding down.

    `allocatable`, `used`: sums over the nodes of the placement, base units: what they have, and what their pods hold.
    `requested`: sums over the pods that the group placed in it. An extended resource that none of them requests does
    not count. `resources`: sequence of (str, int); resources with their weights.
    """
    total = weights = 0
    for name, weight in resources:
        capacity = allocatable.get(name, 0)
        asked = requested.get(name, 0)
        if capacity == 0 or (asked == 0 and name not in ALWAYS):
            continue
        total += weight * (min(asked + used.get(name, 0), capacity) * FULL // capacity)
        weights += weight
    return total // weights if weights else 0


def best_totals(totals: Sequence[int]) -> list[int]:
    """Positions of the largest totals; several are a tie, of which the first is taken here and any upstream."""
    largest = max(totals)
    return [position for position, total in enumerate(totals) if total == largest]
