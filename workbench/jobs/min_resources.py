"""minResources of a PodGroup that Volcano's controller creates: the summed requests of the pods needed to start.

Source: docs/reference/volcano-jobs.md, sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from workbench.jobs.roles import Priorities
from workbench.model.resources import CPU, MEMORY, PODS
from workbench.objects.job import Job, Task
from workbench.objects.pod import PodTemplate

__all__ = [
    "keeps_task_minimums",
    "min_resources_of_job",
    "min_resources_of_pods",
    "of_first_pods",
    "of_minimums_first",
    "quota_usage",
]

#: Resources whose limits count, too.
_LIMITED = (CPU, MEMORY, "ephemeral-storage")


def min_resources_of_job(job: Job, priorities: Priorities) -> dict[str, int]:
    """Summed requests of the first minAvailable pods of a Job, pending or running, for its PodGroup's minResources.

    Tasks are taken by the priority of their pods, higher first, then in the order of the Job. If minAvailable is less
    than the sum of the tasks' minimums, each task gives all its pods in this order; otherwise each task first gives its
    minimum, then the rest in the same order.

    Returns dict of str to int: base units, by the names of a quota (`quota_usage`); empty for minAvailable 0.
    """
    of = of_minimums_first if keeps_task_minimums(job) else of_first_pods
    return of(job, priorities)


def keeps_task_minimums(job: Job) -> bool:
    """Whether a Job's minAvailable is at least the sum of its tasks' minimums.

    A task without one needs all its pods.
    """
    return job.min_available >= sum(map(_own_minimum, job.tasks))


def of_first_pods(job: Job, priorities: Priorities) -> dict[str, int]:
    """Summed requests of minAvailable pods of a Job, in base units, taking all pods of a task before the next task's.

    Tasks of higher priority come first.
    """
    return _taken(job, priorities, [lambda task: task.replicas])


def of_minimums_first(job: Job, priorities: Priorities) -> dict[str, int]:
    """Summed requests of minAvailable pods of a Job, in base units, taking each task's minimum before any further pods.

    Tasks of higher priority come first.
    """
    return _taken(job, priorities, [_own_minimum, lambda task: task.replicas])


def _own_minimum(task: Task) -> int:
    return task.replicas if task.min_available is None else task.min_available


def _taken(job: Job, priorities: Priorities, rounds: Sequence[Callable[[Task], int]]) -> dict[str, int]:
    """Summed requests of minAvailable pods; each function in `rounds` gives a task's total of pods after that round."""
    # A class that is not in the input is noted where the roles are made.
    order = sorted(job.tasks, key=lambda task: -priorities.of(task.template.spec.priority_class, []))
    usages = [quota_usage(task.template) for task in order]
    left = job.min_available
    total: dict[str, int] = {}
    taken = [0] * len(order)
    for wanted in rounds:
        for i, task in enumerate(order):
            count = max(min(wanted(task), task.replicas, taken[i] + left) - taken[i], 0)
            _add(total, usages[i], count)
            taken[i] += count
            left -= count
    return total


def min_resources_of_pods(template: PodTemplate, min_member: int) -> dict[str, int]:
    """Quota used by `min_member` pods of a template, for the PodGroup of pods without a Job.

    Empty if `min_member` is 0.
    """
    total: dict[str, int] = {}
    _add(total, quota_usage(template), min_member)
    return total


def quota_usage(template: PodTemplate) -> dict[str, int]:
    """Amounts that one pod of a template uses of a ResourceQuota, by quota name, in base units.

    Every request counts under its own name and with the prefix ``requests.``, limits of resources that a quota can
    limit with the prefix ``limits.``, and the pod itself as ``pods`` and ``count/pods``. A scheduler reads only the
    names that nodes have.
    """
    requests = template.spec.requests
    return {
        **requests,
        **{f"requests.{name}": amount for name, amount in requests.items()},
        **{f"limits.{name}": amount for name, amount in template.limits.items() if name in _LIMITED},
        PODS: 1,
        f"count/{PODS}": 1,
    }


def _add(total: dict[str, int], usage: Mapping[str, int], count: int) -> None:
    if count > 0:
        for name, amount in usage.items():
            total[name] = total.get(name, 0) + amount * count
