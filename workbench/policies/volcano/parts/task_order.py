"""The order in which Volcano tries the pods of a job; consecutive pods of one role form a run.

Source: Volcano, task order (plugin priority; index of the pod in its name, time of creation, uid): pods of several
roles alternate.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from workbench.kernels.sub_jobs import Runs, runs_of_queues
from workbench.model.arrays import Ints, Longs
from workbench.model.gang import Gang, Role, pod_index

__all__ = ["runs_of", "runs_of_gang", "task_rank"]


_RANK_OF_GANG: WeakKeyDictionary[Gang, Longs] = WeakKeyDictionary()


def task_rank(gang: Gang) -> Longs:
    """Rank of each pod in the order in which Volcano tries a gang's pods, from 0: int64 (n_pods,), read-only.

    Higher priority first if the gang's tasks are ordered by priority, then by the gang's `order`, or without one by the
    numbers at the end of the pods' names; ties: the earlier role.
    """
    known = _RANK_OF_GANG.get(gang)
    if known is None:
        known = _RANK_OF_GANG[gang] = _rank(gang)
    return known


def _rank(gang: Gang) -> Longs:
    if gang.order:
        turn = {name: i for i, name in enumerate(gang.order)}
        place = np.array([turn[name] for name in gang.pod_names(np.arange(gang.n_pods))], dtype=np.int64)
    else:
        place = np.concatenate([np.zeros(0, dtype=np.int64), *map(_indices, gang.roles)])
    counts = gang.tasks_by_priority
    priority = np.array([role.priority * counts for role in gang.roles], dtype=np.int64)[gang.role_of_pod]
    rank = np.empty(gang.n_pods, dtype=np.int64)
    rank[np.lexsort((gang.role_of_pod, place, -priority))] = np.arange(gang.n_pods)
    return rank


def _indices(role: Role) -> Longs:
    """Index of each pod of a role, int64; for pods with names of their own the number at the end of the name."""
    indices = [pod_index(name) for name in role.pod_names or ()]
    found = [index for index in indices if index is not None]
    if found and len(found) == len(indices):
        return np.array(found, dtype=np.int64)
    return role.first_index + np.arange(role.count, dtype=np.int64)


def runs_of(gang: Gang, start: Longs, positions: Longs) -> Runs:
    """Order the pods of several queues (one per sub-job) as Volcano tries them, as runs of neighbours of one role.

    `start`: ndarray of shape (queues + 1,), int64; offsets into ``positions``, ascending from 0. `positions`: ndarray
    of int64; pods of queue i, each once: ``positions[start[i]:start[i + 1]]``, in any order.
    """
    return runs_of_queues(start, positions, task_rank(gang), gang.role_of_pod, len(gang.roles))


_OF_GANG: WeakKeyDictionary[Gang, tuple[Ints, Longs]] = WeakKeyDictionary()


def runs_of_gang(gang: Gang) -> tuple[Ints, Longs]:
    """Runs of consecutive pods of one role in the order in which a gang's pods are tried.

    Best-effort pods are left out. Returns the role of each run, and the number of that role's pods up to the run's
    end.
    """
    known = _OF_GANG.get(gang)
    if known is None:
        known = _OF_GANG[gang] = _runs_of_asking(gang)
    return known


def _runs_of_asking(gang: Gang) -> tuple[Ints, Longs]:
    asking = gang.tried_roles
    if len(asking) == 1:
        # Nothing to sort: most jobs.
        return np.array(asking, dtype=np.int32), np.array([gang.roles[asking[0]].count], dtype=np.int64)
    pods = np.array([not role.best_effort for role in gang.roles], dtype=np.bool_)[gang.role_of_pod].nonzero()[0]
    return runs_of(gang, np.array([0, len(pods)]), pods)[1:]
