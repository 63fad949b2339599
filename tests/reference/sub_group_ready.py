"""When a sub-group counts as ready by the statuses of its tasks, in Volcano 1.15.

The product's search counts pods as it places them; a snapshot keeps no statuses of tasks.

Source: docs/reference/volcano-topology.md, section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Statuses of tasks that hold their place.
_PLACED = ("Allocated", "Binding", "Bound", "Running", "Succeeded")


def is_ready(min_available: int, tasks: Mapping[str, int], pending_best_effort: int = 0) -> bool:
    """Whether enough tasks (pods) of a sub-group have a node: allocated, binding, bound, running or succeeded.

    Parameters
    ----------
    min_available : int
        Pods that the sub-group needs (subGroupSize of its policy); 1 for pods without a policy.
    tasks : mapping of str to int
        Number of the sub-group's tasks (pods) in each of Volcano's statuses: ``Allocated``, ``Pipelined``, ...
    pending_best_effort : int
        Number of pending tasks without any request; they count as placed, because they need no room.
    """
    return sum(tasks.get(status, 0) for status in _PLACED) + pending_best_effort >= min_available


def is_pipelined(min_available: int, tasks: Mapping[str, int], pending_best_effort: int = 0) -> bool:
    """Whether a sub-group has its minimum of tasks, counting those that wait for terminating pods (pipelined).

    Parameters
    ----------
    min_available, tasks, pending_best_effort
        As in `is_ready`.
    """
    return is_ready(min_available - tasks.get("Pipelined", 0), tasks, pending_best_effort)
