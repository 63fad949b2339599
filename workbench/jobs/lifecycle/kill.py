"""Kill the pods of a Job: all of them, or those of one task, one pod or one partition."""

from __future__ import annotations

from dataclasses import replace

from workbench.jobs.lifecycle.counts import counted
from workbench.jobs.lifecycle.observed import Observed, PodState
from workbench.jobs.lifecycle.request import Action, DeletePod, DeletePodGroup, JobRequest, RunHooks
from workbench.objects.job import Job
from workbench.objects.job_status import JobStatus

__all__ = ["kill_job", "kill_target"]


def kill_job(job: Job, observed: Observed, keep_finished: bool) -> tuple[JobStatus, tuple[Action, ...]]:
    """Kill a whole Job: its pods, except finished ones if `keep_finished`, and its PodGroup.

    Pods that are kept are not counted: after the kill of a Job whose pods all finished, every counter is 0.

    Parameters
    ----------
    keep_finished : bool
        Spare pods that succeeded or failed.
    """
    doomed = [pod for pod in observed.pods if not (keep_finished and pod.phase in ("Succeeded", "Failed"))]
    terminating = [pod for pod in observed.pods if pod.terminating]
    victims = [pod for pod in doomed if not pod.terminating]
    status = counted(job, observed.status, (), len(terminating) + len(victims))
    return replace(status, version=status.version + 1), (*_deletions(victims), RunHooks("delete"), DeletePodGroup())


def kill_target(job: Job, observed: Observed, action: str, request: JobRequest) -> tuple[JobStatus, tuple[Action, ...]]:
    """Kill all pods, finished or not, of the task, pod or partition that is to be restarted.

    The PodGroup stays, and so does status.version. Only pods of the target are counted. The hooks for a kill run here
    too, so that objects that plugins made for the whole Job are made again (docs/reference/volcano-jobs.md, section 7).

    Parameters
    ----------
    action : str
        RestartTask, RestartPod or RestartPartition.
    request : JobRequest
        Request that names the task, pod or partition.
    """
    targets = [pod for pod in observed.pods if _concerns(action, request, pod)]
    victims = [pod for pod in targets if not pod.terminating]
    return counted(job, observed.status, (), len(targets)), (*_deletions(victims), RunHooks("delete"))


def _concerns(action: str, request: JobRequest, pod: PodState) -> bool:
    if pod.task != request.task:
        return False
    if action == "RestartPod":
        return pod.name == request.pod
    return action == "RestartTask" or (pod.partition == request.partition and bool(request.partition))


def _deletions(pods: list[PodState]) -> tuple[Action, ...]:
    return tuple(DeletePod(pod.name) for pod in pods)
