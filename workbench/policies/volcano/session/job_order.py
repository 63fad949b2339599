"""The order of the jobs in a queue (plugins priority, gang and drf), and a gang as the configured plugins see it."""

from __future__ import annotations

from dataclasses import replace

from workbench.model.arrays import Floats
from workbench.model.gang import Gang
from workbench.model.scheduler_config import SchedulerConfig
from workbench.policies.volcano.parts.plugins import enabled
from workbench.policies.volcano.session.queues import dominant_share

__all__ = ["job_key", "with_plugins"]


def job_key(config: SchedulerConfig, gang: Gang, ready: bool, allocated: Floats, total: Floats) -> tuple[object, ...]:
    """Sort key of a job: the configured plugins in their order, then age (older first), then ``namespace/name``.

    A job that was not created yet counts as younger than all others.

    Parameters
    ----------
    ready : bool
        Whether the job has its minAvailable; the plugin gang puts jobs that are not ready first.
    allocated, total : ndarray of shape (r,), float64
        Resources of the job and of the cluster; the plugin drf puts the smaller dominant share first.
    """
    key: list[object] = []
    for option in config.plugins:
        if not enabled(option, "JobOrder"):
            continue
        if option.name == "priority":
            key.append(-gang.priority)
        elif option.name == "gang":
            key.append(ready)
        elif option.name == "drf":
            key.append(dominant_share(allocated, total))
    return (*key, not gang.created, gang.created, gang.key.encode())


def with_plugins(config: SchedulerConfig, gang: Gang) -> Gang:
    """The gang as the configured plugins see it.

    Without the plugin gang, or with its job readiness off, no minimum of the job holds a pod back, and without its
    sub-job readiness no minimum of a sub-group does. Without the task order of the plugin priority, roles come in the
    gang's order.
    """
    together, order = config.plugin("gang"), config.plugin("priority")
    if together is None or not enabled(together, "JobReady"):
        roles = tuple(replace(role, min_available=None) for role in gang.roles)
        gang = replace(gang, min_available=0, roles=roles, min_subgroups={})
    if (together is None or not enabled(together, "SubJobReady")) and gang.sub_groups:
        gang = replace(gang, sub_groups=tuple(replace(group, min_available=0) for group in gang.sub_groups))
    if (order is None or not enabled(order, "TaskOrder")) and len({role.priority for role in gang.roles}) > 1:
        # The order of sub-jobs still goes by the priorities of their pods.
        gang = replace(gang, tasks_by_priority=False)
    return gang
