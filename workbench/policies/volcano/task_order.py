"""The order in which Volcano takes the pods of a job from its queue, as runs of pods of one role.

Source: Volcano, task order (plugin priority; index of the pod in its name, time of creation, uid): pods of several
roles alternate.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from workbench.kernels.sub_jobs import Runs, runs_of_queues
from workbench.model.gang import Gang

__all__ = ["runs_of", "runs_of_gang"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


def runs_of(gang: Gang, start: Longs, positions: Longs) -> Runs:
    """Runs of consecutive pods of one role in several queues of pods.

    Parameters
    ----------
    gang : Gang
    start : ndarray of shape (queues + 1,), int64
    positions : ndarray of int64
        Pods of queue i, each once: ``positions[start[i]:start[i + 1]]``, in any order.
    """
    return runs_of_queues(start, positions, gang.task_rank, gang.role_of_pod, len(gang.roles))


_OF_GANG: WeakKeyDictionary[Gang, tuple[Ints, Longs]] = WeakKeyDictionary()


def runs_of_gang(gang: Gang) -> tuple[Ints, Longs]:
    """Role of each run of the gang's pods with a request, and the number of that role's pods up to the run's end."""
    known = _OF_GANG.get(gang)
    if known is None:
        asking = np.array([not role.best_effort for role in gang.roles], dtype=np.bool_)[gang.role_of_pod].nonzero()[0]
        known = _OF_GANG[gang] = runs_of(gang, np.array([0, len(asking)]), asking)[1:]
    return known
