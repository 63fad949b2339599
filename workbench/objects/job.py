"""`Job` (batch.volcano.sh): a Volcano Job with its tasks, read from a manifest; `launch_order`: their order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.model.gang import TopologyConstraint
from workbench.objects.fields import get_count, get_int, get_map, get_maps, get_text
from workbench.objects.lifecycle_policy import DependsOn, LifecyclePolicy, read_depends_on, read_lifecycle_policies
from workbench.objects.metadata import Metadata, read_metadata
from workbench.objects.partition import PartitionPolicy, read_partition_policy
from workbench.objects.pod import PodTemplate, read_template
from workbench.objects.topology_spec import read_constraint

__all__ = ["DEFAULT_MAX_RETRY", "Job", "Task", "launch_order", "read_job"]

#: maxRetry of a Job or a task that says nothing or 0.
DEFAULT_MAX_RETRY = 3


@dataclass(frozen=True)
class Task:
    """One entry of a Volcano Job's spec.tasks: a number of equal pods.

    `min_available`: minAvailable of the task as written; None: absent. `policies`: policies of the task; they take
    precedence over the Job's. `max_retry`: container restarts after which the task has failed; below 0: never.
    """

    name: str
    replicas: int
    min_available: int | None
    template: PodTemplate
    partition: PartitionPolicy | None = None
    policies: tuple[LifecyclePolicy, ...] = ()
    depends_on: DependsOn | None = None
    max_retry: int = DEFAULT_MAX_RETRY

    @property
    def minimum(self) -> int:
        """minAvailable of the task after Volcano's mutating webhook.

        If absent, it is the number of pods in the minimum of partitions, or else all pods of the task.
        """
        if self.min_available is not None:
            return self.min_available
        return self.partition.min_pods if self.partition and self.partition.min_partitions > 0 else self.replicas


@dataclass(frozen=True)
class Job:
    """A Volcano Job with those defaults of the mutating webhook that do not depend on the cluster.

    Attributes
    ----------
    min_available : int
        minAvailable; if absent or 0, the sum of the tasks' minimums (`Task.minimum`).
    queue : str
        Name of the queue; ``default`` if absent.
    plugins : tuple of str
        Names of its job plugins, in byte order.
    scheduler : str
        Scheduler of tasks whose template names none; ``volcano`` if absent.
    max_retry : int
        Number of restarts after which the Job has failed.
    min_success : int, optional
        Number of pods that must succeed for the Job to be complete; None: absent.
    claims : tuple of str
        Names of existing volume claims that the Job uses; they must exist before pods are created.
    """

    metadata: Metadata
    tasks: tuple[Task, ...]
    min_available: int
    queue: str = "default"
    priority_class: str = ""
    constraint: TopologyConstraint | None = None
    plugins: tuple[str, ...] = ()
    scheduler: str = "volcano"
    policies: tuple[LifecyclePolicy, ...] = ()
    max_retry: int = DEFAULT_MAX_RETRY
    min_success: int | None = None
    claims: tuple[str, ...] = ()


def read_job(data: Mapping[str, Any]) -> Job:
    """Read a Volcano Job from a parsed manifest.

    Defaults: docs/reference/volcano-jobs.md, section 3.1 (a task without a name is ``default<position>``, queue
    ``default``, minAvailable). Replicas default to 1.

    Raises InputError: a field of the wrong type. The checks of the webhook are in `workbench.objects.admission`.
    """
    spec = get_map(data, "spec", "")
    metadata = read_metadata(data, namespaced=True)
    submitted = not metadata.stored
    tasks = tuple(_task(item, path, i, submitted) for i, (path, item) in enumerate(get_maps(spec, "tasks", "spec")))
    floor = sum(task.minimum for task in tasks)
    return Job(
        metadata=metadata,
        tasks=tasks,
        min_available=get_int(spec, "minAvailable", "spec") or floor,
        queue=get_text(spec, "queue", "spec") or "default",
        priority_class=get_text(spec, "priorityClassName", "spec"),
        constraint=read_constraint(spec, "spec", submitted=submitted),
        plugins=tuple(sorted(get_map(spec, "plugins", "spec"))),
        scheduler=get_text(spec, "schedulerName", "spec") or "volcano",
        policies=read_lifecycle_policies(spec, "spec"),
        max_retry=get_int(spec, "maxRetry", "spec") or DEFAULT_MAX_RETRY,
        min_success=get_int(spec, "minSuccess", "spec"),
        claims=_claims(spec),
    )


def _claims(spec: Mapping[str, Any]) -> tuple[str, ...]:
    volumes = [item for item in get_maps(spec, "volumes", "spec") if item[1].get("volumeClaim") is None]
    names = [get_text(item, "volumeClaimName", path) for path, item in volumes]
    return tuple(name for name in names if name)


def _task(item: Mapping[str, Any], path: str, position: int, submitted: bool) -> Task:
    return Task(
        name=get_text(item, "name", path) or f"default{position}",
        replicas=get_count(item, "replicas", path, default=1),
        min_available=get_int(item, "minAvailable", path),
        template=read_template(item, path),
        partition=read_partition_policy(item, path, submitted=submitted),
        policies=read_lifecycle_policies(item, path),
        depends_on=read_depends_on(item, path),
        max_retry=get_int(item, "maxRetry", path) or DEFAULT_MAX_RETRY,
    )


def launch_order(tasks: Sequence[tuple[str, Collection[str]]]) -> tuple[str, ...] | None:
    """Order the tasks of a Volcano Job so that each comes after the tasks it depends on, otherwise in the order given.

    `tasks`: name of each task, and names of the tasks that it depends on. Returns None: there is no such order, because
    a task depends on itself, directly or through others, or on a task that the Job does not have.
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
