"""The controller of Volcano Jobs: `cases/volcano-jobs/{kill,policies,state-machine,sync-job}.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners.volcano_jobs_asserts import assert_holds
from tests.conformance.runners.volcano_jobs_plugins import Objects, done
from workbench.jobs.frameworks.registry import on_job_delete
from workbench.jobs.lifecycle.dependencies import is_met, is_ready
from workbench.jobs.lifecycle.events import (
    event_of_addition,
    event_of_deletion,
    event_of_update,
    is_task_completed,
    pending_text,
)
from workbench.jobs.lifecycle.next_status import kill_job, kill_target, next_status
from workbench.jobs.lifecycle.observed import GroupState, Observed, PodState, read_pod_state
from workbench.jobs.lifecycle.phases import after_work, with_phase
from workbench.jobs.lifecycle.request import (
    Action,
    CreatePod,
    DeletePod,
    DeletePodGroup,
    JobRequest,
    RunHooks,
    answer_to,
)
from workbench.jobs.lifecycle.sync import missing_claim
from workbench.objects.job import Job, Task, read_job
from workbench.objects.job_status import JobStatus, read_job_status
from workbench.objects.lifecycle_policy import read_depends_on
from workbench.objects.pod import PodSpec, PodTemplate

_ACTION_OF_TARGET = {"task": "RestartTask", "pod": "RestartPod", "partition": "RestartPartition"}
_REQUEST = {
    "event": "event",
    "action": "action",
    "taskName": "task",
    "podName": "pod",
    "podUid": "pod_uid",
    "jobUid": "job_uid",
    "exitCode": "exit_code",
    "jobVersion": "job_version",
}


def register(runners: Runners) -> None:
    """Add the operations of the controller's files to the area's runners."""
    for file, op, given, want, runner in (
        ("kill", "kill-target", ("job", "pods", "objects", "retain", "target"), ("survives",), kill_of_target),
        ("kill", "kill-job", ("job", "pods", "objects", "retain"), ("killed", "versionDelta"), kill_of_job),
        ("policies", "apply-policies", ("job", "request"), ("action", "delaySeconds"), apply_policies),
        (
            "policies",
            "pod-update-event",
            ("oldPhase", "newPhase", "taskCompleted", "taskFailed", "outOfSync"),
            ("event",),
            pod_update,
        ),
        ("policies", "pod-add-event", ("outOfSync", "inCache"), ("event",), pod_add),
        ("policies", "pod-delete-event", ("outOfSync", "inCache"), ("event",), pod_delete),
        (
            "state-machine",
            "execute",
            ("phase", "action", "job", "pods", "podGroupVisible", "counters", "terminatingPods"),
            ("phase", "retryCountDelta"),
            execute,
        ),
        ("state-machine", "task-completed-event", ("task", "replicas", "podPhases"), ("taskCompleted",), completed),
        ("sync-job", "sync-job", ("job", "podGroup", "cachedPods", "plugins"), ("totalPods",), sync),
        ("sync-job", "depends-on-ready", ("job", "task", "pods", "jobKnownToLister"), ("ready",), depends_on_ready),
        ("sync-job", "depends-on", ("dependsOn", "taskReady"), ("met",), depends_on),
        ("sync-job", "create-job-io", ("job", "existingClaims"), ("error",), create_job_io),
        ("sync-job", "append-condition", ("conditions", "new"), ("conditions",), append_condition),
        ("sync-job", "creates-pods", ("podGroupPhase",), ("createsPods",), creates_pods),
        ("sync-job", "podgroup-event", ("job", "conditions"), ("event",), podgroup_event),
    ):
        more = ("error", "assert") if file in ("kill", "sync-job") and op != "create-job-io" else ()
        runners.op(file, op, given, (*want, *more))(runner)


def job_as_stored(data: Mapping[str, Any]) -> Job:
    """A Job whose absent fields are zero, not what admission fills in: upstream's tests call the controller alone."""
    spec = data.get("spec", {})
    tasks = [
        {**task, "policies": [_in_seconds(policy) for policy in task.get("policies", ())]}
        for task in spec.get("tasks", ())
    ]
    policies = [_in_seconds(policy) for policy in spec.get("policies", ())]
    job = read_job({**data, "spec": {**spec, "tasks": tasks, "policies": policies}})
    as_stored = zip(job.tasks, tasks, strict=True)
    return replace(
        job,
        min_available=spec.get("minAvailable", 0),
        max_retry=spec.get("maxRetry", 0),
        tasks=tuple(replace(task, replicas=item.get("replicas", 0)) for task, item in as_stored),
    )


def _in_seconds(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The time-out of a case in the notation of manifests."""
    timeout = policy.get("timeout")
    return {**policy, "timeout": f"{timeout['duration']}s" if timeout else None}


def pods_of(given: Mapping[str, Mapping[str, str]]) -> tuple[PodState, ...]:
    return tuple(PodState(name, task, phase) for task, pods in given.items() for name, phase in pods.items())


def kill_of_target(given: dict[str, Any], want: dict[str, Any]) -> None:
    target = given["target"]
    job, observed = job_as_stored(given["job"]), observed_of(given["job"], given["pods"])
    if target is None:
        _, actions = kill_job(job, observed, _keeps(given["retain"]))
    else:
        action = _ACTION_OF_TARGET[target["type"]]
        request = JobRequest(task=target.get("taskName", ""), pod=target.get("podName", ""))
        _, actions = kill_target(job, observed, action, request)
    assert want.get("error") is None
    gone = deleted(actions)
    assert {name: name not in gone for name in want.get("survives", {})} == want.get("survives", {})
    assert_objects(given, want, actions)


def kill_of_job(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The case's retention is what the state asks for; on the last try every kill keeps finished pods."""
    job, observed = job_as_stored(given["job"]), observed_of(given["job"], given["pods"])
    last_try = observed.status.retry_count >= job.max_retry - 1
    status, actions = kill_job(job, observed, _keeps(given["retain"]) or last_try)
    assert want.get("error") is None
    if "killed" in want:
        assert deleted(actions) == set(want["killed"])
    if "versionDelta" in want:
        assert status.version - observed.status.version == want["versionDelta"]
    assert_objects(given, want, actions)


def observed_of(job: Mapping[str, Any], pods: Mapping[str, Mapping[str, str]], **more: Any) -> Observed:
    return Observed(status=read_job_status(job), pods=pods_of(pods), **more)


def _keeps(retain: str) -> bool:
    if retain not in ("none", "soft"):
        raise NotUnderstood(f"retain {retain!r}; known are none, soft")
    return retain == "soft"


def deleted(actions: Sequence[Action]) -> set[str]:
    return {action.name for action in actions if isinstance(action, DeletePod)}


def assert_objects(given: Mapping[str, Any], want: Mapping[str, Any], actions: Sequence[Action]) -> None:
    """Objects that exist afterwards: without the PodGroup where it goes, and after the hooks that are asked for."""
    if "assert" not in want:
        return
    job = given["job"]
    stored: Objects = {(kind, name): {} for kind, names in given.get("objects", {}).items() for name in names}
    for action in actions:
        if isinstance(action, DeletePodGroup):
            stored = {key: manifest for key, manifest in stored.items() if key[0] != "PodGroup"}
        elif isinstance(action, RunHooks):
            assert action.moment == "delete"
            stored = done(stored, on_job_delete(job, job.get("spec", {}).get("plugins") or {}, stored).actions)
    left: dict[str, dict[str, Any]] = {kind: {} for kind in ("PodGroup", *given.get("objects", {}))}
    for (kind, name), manifest in stored.items():
        left[kind][name] = manifest
    assert_holds({"objects": left}, want["assert"])


def apply_policies(given: dict[str, Any], want: dict[str, Any]) -> None:
    unknown = given["request"].keys() - _REQUEST.keys()
    if unknown:
        raise NotUnderstood(f"a request with {', '.join(sorted(unknown))}")
    request = JobRequest(**{"job_version": 0} | {_REQUEST[key]: value for key, value in given["request"].items()})
    answer = answer_to(job_as_stored(given["job"]), read_job_status(given["job"]).version, request)
    assert {"action": answer.action, "delaySeconds": answer.delay} == want


def pod_update(given: dict[str, Any], want: dict[str, Any]) -> None:
    before = PodState("p", phase=given["oldPhase"])
    after = PodState("p", phase=given["newPhase"], out_of_sync=given.get("outOfSync", False))
    facts = given.get("taskCompleted", False), given.get("taskFailed", False)
    assert event_of_update(before, after, *facts) == want["event"]


def pod_add(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert event_of_addition(PodState("p", out_of_sync=given.get("outOfSync", False))) == want["event"]


def pod_delete(given: dict[str, Any], want: dict[str, Any]) -> None:
    pod = PodState("p", out_of_sync=given.get("outOfSync", False))
    assert event_of_deletion(pod, given.get("inCache", False)) == want["event"]


def execute(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The state that is named executes the action, whatever phase the stored status has."""
    job, before = job_as_stored(given["job"]), replace(read_job_status(given["job"]), phase=given["phase"])
    if "counters" in given:
        counters = read_job_status({"status": given["counters"]})
        ending = given.get("terminatingPods", 0)
        status = after_work(
            job,
            given["action"],
            replace(
                counters,
                phase=before.phase,
                terminating=ending,
                retry_count=before.retry_count,
                min_available=before.min_available or counters.min_available,
            ),
        )
    else:
        group = GroupState("Running") if given.get("podGroupVisible", False) else None
        observed = Observed(before, pods_of(given["pods"]), group)
        target = next((name for name, pods in given["pods"].items() if pods), "")
        status = next_status(job, observed, JobRequest(action=given["action"], task=target)).status
    found = {"phase": status.phase, "retryCountDelta": status.retry_count - before.retry_count}
    assert found == want


def completed(given: dict[str, Any], want: dict[str, Any]) -> None:
    task = Task(given["task"], given["replicas"], None, PodTemplate(PodSpec({}), {}, {}))
    pods = [PodState(name, given["task"], phase) for name, phase in given["podPhases"].items()]
    assert is_task_completed(task, pods) == want["taskCompleted"]


def sync(given: dict[str, Any], want: dict[str, Any]) -> None:
    pods = tuple(PodState(name, task) for task, names in given["cachedPods"].items() for name in names)
    group = GroupState.read(given["podGroup"]) if given.get("podGroup") else None
    job = job_as_stored(given["job"])
    observed = Observed(read_job_status(given["job"]), pods, group)
    actions = next_status(job, observed, JobRequest(action="SyncJob")).actions
    created = sum(isinstance(action, CreatePod) for action in actions)
    assert want.get("error") is None
    assert len(pods) + created - len(deleted(actions)) == want["totalPods"]


def depends_on_ready(given: dict[str, Any], want: dict[str, Any]) -> None:
    pods = [read_pod_state(pod) for pod in given["pods"]]
    found = is_ready(job_as_stored(given["job"]), given["task"], pods, given.get("jobKnownToLister", True))
    assert found == want["ready"]


def depends_on(given: dict[str, Any], want: dict[str, Any]) -> None:
    read = read_depends_on({"dependsOn": given["dependsOn"]}, "task")
    assert (read is None or is_met(read, given["taskReady"].__getitem__)) == want["met"]


def create_job_io(given: dict[str, Any], want: dict[str, Any]) -> None:
    found = missing_claim(job_as_stored(given["job"]), given["existingClaims"])
    assert (not found) if want["error"] is None else want["error"] in found


def append_condition(given: dict[str, Any], want: dict[str, Any]) -> None:
    status = JobStatus()
    for phase in (*given["conditions"], given["new"]):
        status = with_phase(status, phase)
    assert [one.phase for one in status.conditions] == want["conditions"]


def creates_pods(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert GroupState(given["podGroupPhase"]).lets_pods_be_created == want["createsPods"]


def podgroup_event(given: dict[str, Any], want: dict[str, Any]) -> None:
    job = job_as_stored({"metadata": given["job"], "spec": {}})
    found = pending_text(job, GroupState.read({"status": {"conditions": given["conditions"]}}))
    assert found == (want["event"] or "")
