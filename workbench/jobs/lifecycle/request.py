"""Requests to the Job controller, the choice of an action by the Job's lifecycle policies, and delayed actions.

Actions that the rules of the controller demand are values; the caller carries them out in the given order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from workbench.objects.job import Job
from workbench.objects.lifecycle_policy import ANY_EVENT, LifecyclePolicy

__all__ = [
    "SYNC",
    "Action",
    "Answer",
    "CreatePod",
    "Delayed",
    "DeletePod",
    "DeletePodGroup",
    "JobRequest",
    "KeepPodGroup",
    "RecordEvent",
    "RunHooks",
    "after_action",
    "after_event",
    "answer_to",
    "with_delayed",
]

SYNC = "SyncJob"
#: Events that always ask for a synchronisation.
_SYNCHRONISING = ("OutOfSync", "CommandIssued", "PodRunning")
#: What the end of a wait takes back: event that started the wait -> later events of the same pod.
_TAKEN_BACK = {
    "PodPending": ("PodRunning", "PodFailed", "PodEvicted"),
    "PodFailed": ("PodRunning",),
    "PodEvicted": ("PodRunning",),
}
_OF_JOB = ("AbortJob", "RestartJob", "TerminateJob", "CompleteJob", "ResumeJob")
_OF_TARGET = ("RestartTask", "RestartPod", "RestartPartition")


@dataclass(frozen=True)
class JobRequest:
    """A request to Volcano's Job controller: an event that happened, or a user's command.

    Attributes
    ----------
    event : str
        Name of the event, such as ``PodFailed``; empty if `action` is given.
    action : str
        Action commanded by a user, which takes precedence over every policy; empty if `event` is given.
    task, pod, pod_uid, partition : str
        Task, pod or partition that the request concerns; empty: the Job as a whole.
    exit_code : int
        Exit code of the pod's first container; 0: none.
    job_uid : str
        uid of the Job that the pod belonged to; empty: unknown.
    job_version : int, optional
        status.version of the Job when the pod was made; None: the present one.
    """

    event: str = ""
    action: str = ""
    task: str = ""
    pod: str = ""
    pod_uid: str = ""
    partition: str = ""
    exit_code: int = 0
    job_uid: str = ""
    job_version: int | None = None


@dataclass(frozen=True)
class Answer:
    """The action that the Job controller takes on a request, and its delay in seconds."""

    action: str
    delay: float = 0.0


@dataclass(frozen=True)
class Delayed:
    """An action that a policy delays: the action, the request it answers, and the delay in seconds."""

    action: str
    request: JobRequest
    delay: float


def answer_to(job: Job, version: int, request: JobRequest) -> Answer:
    """Choose the action with which the Job controller answers a request, by the policies of the task and the Job.

    `version`: status.version of the Job. A user's command takes precedence. Requests about another Job or an older
    version of the Job, and events that need nothing else, lead to a synchronisation. Otherwise the first matching
    policy decides: those of the task in their order, then those of the Job.
    """
    if request.action:
        return Answer(request.action)
    other_job = bool(request.job_uid) and request.job_uid != job.metadata.uid
    older = request.job_version is not None and request.job_version < version
    if request.event in _SYNCHRONISING or other_job or older:
        return Answer(SYNC)
    task = next((task for task in job.tasks if request.task and task.name == request.task), None)
    for policy in (*(task.policies if task else ()), *job.policies):
        if _matches(policy, request):
            return Answer(policy.action, policy.timeout or 0.0)
    return Answer(SYNC)


def _matches(policy: LifecyclePolicy, request: JobRequest) -> bool:
    if request.event == "PodPending" and policy.timeout is None:
        return False
    if policy.events and request.event and {request.event, ANY_EVENT} & set(policy.events):
        return True
    return policy.exit_code is not None and policy.exit_code == request.exit_code


def with_delayed(waiting: Iterable[Delayed], new: Delayed) -> tuple[Delayed, ...]:
    """The delayed actions with `new` added, unless an equal action is already delayed for the same pod.

    A different action that is delayed for the pod remains: its timer is not stopped.
    """
    waiting = tuple(waiting)
    known = any(one.action == new.action and one.request.pod == new.request.pod for one in waiting)
    return waiting if known else (*waiting, new)


def after_event(waiting: Iterable[Delayed], request: JobRequest) -> tuple[Delayed, ...]:
    """The delayed actions that remain after the event in `request`.

    Actions on a pod that was pending are cancelled when the pod starts to run or ends.
    """
    return tuple(one for one in waiting if not _takes_back(request, one))


def _takes_back(request: JobRequest, waiting: Delayed) -> bool:
    if request.event not in _TAKEN_BACK.get(waiting.request.event, ()):
        return False
    if waiting.request.event == "PodPending":
        return request.pod_uid == waiting.request.pod_uid and request.pod == waiting.request.pod
    return request.pod == waiting.request.pod


def after_action(waiting: Iterable[Delayed], action: str, request: JobRequest) -> tuple[Delayed, ...]:
    """The delayed actions that remain after an action was carried out.

    An action on the whole Job cancels all others, an action on a task, pod or partition those with the same target.

    `waiting`: the actions that wait, the one that was carried out not among them. `request`: request that names the
    target of the action.
    """
    if action in _OF_JOB:
        return ()
    if action not in _OF_TARGET:
        return tuple(waiting)
    target = _target(action, request)
    return tuple(one for one in waiting if one.action != action or _target(action, one.request) != target)


def _target(action: str, request: JobRequest) -> tuple[str, ...]:
    if action == "RestartTask":
        return (request.task,)
    return (request.task, request.pod if action == "RestartPod" else request.partition)


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Action: create a pod of a Job's task, unless a pod of that name exists."""

    name: str
    task: str
    index: int


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Action: mark a pod as out of sync, then delete it; if the mark cannot be written, do not delete the pod."""

    name: str


@dataclass(frozen=True, slots=True)
class KeepPodGroup:
    """Action: create the Job's PodGroup, or update the existing one (`workbench.jobs.pod_group_of_job`)."""


@dataclass(frozen=True, slots=True)
class DeletePodGroup:
    """Action: delete the Job's PodGroup."""


@dataclass(frozen=True, slots=True)
class RunHooks:
    """Action: run one kind of hook of the Job's plugins: for adding it, for updating it, or for killing its pods."""

    moment: Literal["add", "update", "delete"]


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """Action: record a Kubernetes event of type Warning for the Job."""

    reason: str
    message: str


Action = CreatePod | DeletePod | KeepPodGroup | DeletePodGroup | RunHooks | RecordEvent
