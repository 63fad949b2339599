"""`launch_order`: the order in which a Volcano Job's tasks start, as their dependsOn demands."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["launch_order"]


def launch_order(tasks: Sequence[tuple[str, Collection[str]]]) -> tuple[str, ...] | None:
    """Order the tasks of a Volcano Job so that each comes after the tasks it depends on, otherwise in the order given.

    Parameters
    ----------
    tasks : sequence of (str, collection of str)
        Name of each task, and names of the tasks that it depends on.

    Returns
    -------
    tuple of str or None
        None: there is no such order, because a task depends on itself, directly or through others, or on a task that
        the Job does not have.
    """
    left = {name: set(before) for name, before in tasks}
    order: list[str] = []
    while left:
        ready = next((name for name, before in left.items() if not before), None)
        if ready is None:
            return None
        order.append(ready)
        del left[ready]
        for before in left.values():
            before.discard(ready)
    return tuple(order)
