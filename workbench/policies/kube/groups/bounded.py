"""Trials of placements in the order of an upper bound of their scores, until none of the others can win.

The answer is that of trying all placements: the same one is kept, with the same pods on the same nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from workbench.policies.kube.groups.placement_scores import total_of

__all__ = ["PlacementBound", "bounded_trials"]

T = TypeVar("T")


class PlacementBound(NamedTuple):
    """The most that a placement can reach, whatever becomes of the pods that are tried in it.

    `pods`: pods of the group that find a node. `fit`: score of how full the placement becomes, 0 to 100.
    """

    pods: int
    fit: int


def bounded_trials(
    bounds: Sequence[PlacementBound], minimum: int, attempt: Callable[[int], tuple[T, PlacementBound | None]]
) -> list[T]:
    """Try placements by falling bound until none of the others can be kept.

    Parameters
    ----------
    bounds : sequence of PlacementBound
        Bounds of each placement, in the order in which ties are broken.
    minimum : int
        Pods that must find a node.
    attempt : callable
        Tries the placement at a position; returns the trial and what it reached, None if it failed.

    Returns
    -------
    list of T
        The trials in the order of the placements. If all of them failed, the first placement's is among them.
    """
    most = max((each.pods for each in bounds), default=0)
    left = [position for position, bound in enumerate(bounds) if bound.pods >= minimum]
    left.sort(key=lambda position: (-total_of(*bounds[position], most), position))
    trials: dict[int, T] = {}
    reached: dict[int, PlacementBound] = {}
    while left:
        position = left.pop(0)
        trials[position], found = attempt(position)
        if found is not None:
            reached[position] = found
        if not reached:
            continue
        most = max(found.pods for found in reached.values())
        total, first = max((total_of(*found, most), -position) for position, found in reached.items())
        if all(
            bounds[other].pods <= most and (total_of(*bounds[other], most), -other) < (total, first) for other in left
        ):
            break
    if not reached and bounds and 0 not in trials:
        trials[0], _ = attempt(0)
    return [trials[position] for position in sorted(trials)]
