"""minResources of a PodGroup that the controller creates: requests of the pods that the job needs to start.

Source: docs/reference/volcano-jobs.md, sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.jobs.roles import Priorities
from workbench.model.resources import PODS
from workbench.objects.job import Job

__all__ = ["min_resources_of_job", "min_resources_of_pods"]


def min_resources_of_job(job: Job, priorities: Priorities) -> dict[str, int]:
    """Requests of the first minAvailable pods of a Job, pending or running, in sum.

    Tasks are taken by the priority of their pods, higher first, then in the order of the Job. If minAvailable is less
    than the sum of the tasks' minimums, each task gives all its pods in this order; otherwise each task first gives its
    minimum, then the rest in the same order.

    Parameters
    ----------
    job : Job
    priorities : Priorities

    Returns
    -------
    dict of str to int
        Base units, a ``pods`` for each pod; empty for minAvailable 0. Names with ``requests.`` or ``limits.`` before
        them, which the controller writes too, are left out: no node has them.
    """
    # A class that is not in the input is noted where the roles are made.
    order = sorted(job.tasks, key=lambda task: -priorities.of(task.template.spec.priority_class, []))
    own = [task.replicas if task.min_available is None else task.min_available for task in order]
    left = job.min_available
    total: dict[str, int] = {}
    taken = [0] * len(order)
    rounds = [[task.replicas for task in order]]
    if left >= sum(own):
        rounds.insert(0, own)
    for wanted in rounds:
        for i, task in enumerate(order):
            count = max(min(wanted[i], task.replicas, taken[i] + left) - taken[i], 0)
            _add(total, task.template.spec.requests, count)
            taken[i] += count
            left -= count
    return total


def min_resources_of_pods(requests: Mapping[str, int], min_member: int) -> dict[str, int]:
    """minMember times the request of one pod, for a PodGroup made for bare pods; empty for minMember 0."""
    total: dict[str, int] = {}
    _add(total, requests, min_member)
    return total


def _add(total: dict[str, int], requests: Mapping[str, int], count: int) -> None:
    if count > 0:
        for name, amount in {**requests, PODS: 1}.items():
            total[name] = total.get(name, 0) + amount * count
