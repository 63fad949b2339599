"""`sync_job`: which pods of a Job the controller creates and deletes, and how it counts the existing ones."""

from __future__ import annotations

from collections.abc import Collection

from workbench.jobs.lifecycle.dependencies import may_start
from workbench.jobs.lifecycle.events import pending_text
from workbench.jobs.lifecycle.observed import Observed, PodState
from workbench.jobs.lifecycle.phases import counted, with_phase
from workbench.jobs.lifecycle.request import Action, CreatePod, DeletePod, KeepPodGroup, RecordEvent, RunHooks
from workbench.jobs.task_pods import pod_names
from workbench.objects.job import Job, Task, launch_order
from workbench.objects.job_status import JobStatus

__all__ = ["Synced", "missing_claim", "sync_job"]

Synced = tuple[JobStatus, tuple[Action, ...], bool]


def sync_job(job: Job, observed: Observed) -> Synced:
    """Decide which pods to create and delete so that a Job has the pods of its spec, and update its counters.

    As long as the scheduler has not admitted the PodGroup no pod is touched, and the counters stay as stored.

    Returns
    -------
    status : JobStatus
    actions : tuple of Action
    complete : bool
        False: a volume claim is missing, and the phase stays as it is.
    """
    status = observed.status
    if not status.phase:
        status = with_phase(counted(job, status, (), 0), "Pending", observed.now)
    starting = status.phase == "Pending"
    actions: list[Action] = [RunHooks("add" if starting else "update")]
    if starting and (missing := missing_claim(job, observed.claims)):
        return status, (*actions, RecordEvent("PVCError", missing)), False
    actions.append(KeepPodGroup())
    group = observed.pod_group
    if group is not None and (text := pending_text(job, group)):
        actions.append(RecordEvent("PodGroupPending", text))
    if group is None or not group.lets_pods_be_created:
        return status, tuple(actions), True
    status, changes = _pods(job, status, observed)
    return status, (*actions, *changes), True


def missing_claim(job: Job, claims: Collection[str]) -> str:
    """Message on a missing volume claim, named by the user, for which the Job waits; empty if all claims exist."""
    name = next((name for name in job.claims if name not in claims), "")
    waits = "the job will be in the Pending state until the PVC is created"
    return f"pvc {name} is not found, {waits}" if name else ""


def _pods(job: Job, status: JobStatus, observed: Observed) -> tuple[JobStatus, list[Action]]:
    existing = {pod.name: pod for pod in observed.pods}
    wanted: dict[str, PodState] = {}
    created: list[Action] = []
    for task in _in_order(job):
        names = pod_names(job.metadata.name, task.name, task.replicas)
        missing = [index for index, name in enumerate(names) if name not in existing]
        if missing and may_start(job, task, observed.pods):
            created += [CreatePod(names[index], task.name, index) for index in missing]
            wanted |= {names[index]: PodState(names[index], task.name) for index in missing}
        wanted |= {name: existing[name] for name in names if name in existing}
    n_terminating = sum(pod.terminating for pod in wanted.values())
    # A pod that is out of sync is counted by its phase, and once more as one that is being deleted.
    stale = [pod for pod in wanted.values() if pod.out_of_sync and not pod.terminating]
    superfluous = [pod for pod in observed.pods if pod.name not in wanted]
    doomed = [*stale, *superfluous]
    deleted = [DeletePod(pod.name) for pod in doomed if not pod.terminating]
    stay = [pod for pod in wanted.values() if not pod.terminating]
    return counted(job, status, stay, n_terminating + len(doomed)), [*created, *deleted]


def _in_order(job: Job) -> tuple[Task, ...]:
    """The tasks of a Job sorted so that each comes after the tasks in its dependsOn."""
    order = launch_order([(task.name, task.depends_on.names if task.depends_on else ()) for task in job.tasks])
    by_name = {task.name: task for task in job.tasks}
    return tuple(by_name[name] for name in order or by_name)
