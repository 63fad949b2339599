"""The order in which Volcano takes the pods of a job from its queue, as runs of pods of one role.

Source: Volcano, task order (plugin priority; index of the pod in its name, time of creation, uid): pods of several
roles alternate.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from workbench.model.gang import Gang

__all__ = ["Runs", "runs_of", "runs_of_gang"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

#: Start of each queue's runs, role of each run, pods of that role in the queue up to the end of the run.
Runs = tuple[Longs, Ints, Longs]


def runs_of(gang: Gang, queue: Longs, positions: Longs, n_queues: int) -> Runs:
    """The runs of several queues of pods.

    Parameters
    ----------
    gang : Gang
    queue : ndarray of shape (m,), int64
        To which each pod belongs.
    positions : ndarray of shape (m,), int64
        Of the pods in the gang, each once.
    n_queues : int
    """
    order = np.lexsort((gang.task_rank[positions], queue))
    of_role, of_queue = gang.role_of_pod[positions[order]], queue[order]
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = (of_role[1:] != of_role[:-1]) | (of_queue[1:] != of_queue[:-1])
    ends = np.flatnonzero(last)
    lengths, roles, queues = np.diff(ends, prepend=-1), of_role[ends], of_queue[ends]
    # Summed up over the runs of the same role in the same queue.
    together = np.lexsort((np.arange(len(ends)), roles, queues))
    upto = np.cumsum(lengths[together])
    first = np.ones(len(ends), dtype=np.bool_)
    first[1:] = (roles[together][1:] != roles[together][:-1]) | (queues[together][1:] != queues[together][:-1])
    before = (upto - lengths[together])[first]
    upto -= before[np.cumsum(first) - 1]
    counted = np.empty(len(ends), dtype=np.int64)
    counted[together] = upto
    start = np.zeros(n_queues + 1, dtype=np.int64)
    np.cumsum(np.bincount(queues, minlength=n_queues), out=start[1:])
    return start, roles, counted


_OF_GANG: WeakKeyDictionary[Gang, tuple[Ints, Longs]] = WeakKeyDictionary()


def runs_of_gang(gang: Gang) -> tuple[Ints, Longs]:
    """Role of each run of the gang's pods with a request, and the pods of that role up to its end."""
    known = _OF_GANG.get(gang)
    if known is None:
        asking = np.array([not role.best_effort for role in gang.roles], dtype=np.bool_)[gang.role_of_pod].nonzero()[0]
        known = _OF_GANG[gang] = runs_of(gang, np.zeros(len(asking), dtype=np.int64), asking, 1)[1:]
    return known
