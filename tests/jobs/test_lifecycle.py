"""A Job's life step by step, by the rules alone: each answer is carried out on values and asked for the next one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import max_examples
from workbench import InputError
from workbench.jobs import JobRequest, Observed, job_request, next_status
from workbench.jobs.lifecycle.observed import GroupState, PodState
from workbench.jobs.lifecycle.request import CreatePod, DeletePod, DeletePodGroup, RecordEvent, RunHooks
from workbench.objects.job import read_job
from workbench.objects.job_status import JobStatus, job_status_manifest, read_job_status


def job_of(*tasks, **spec):
    return read_job({"metadata": {"name": "j", "uid": "u"}, "spec": {"tasks": list(tasks), **spec}})


JOB = job_of(
    {"name": "w", "replicas": 3},
    minAvailable=2,
    policies=[
        {"event": "PodFailed", "action": "RestartJob"},
        {"event": "PodPending", "action": "AbortJob", "timeout": "1m"},
    ],
)
RUNNING = GroupState("Running")


def carried_out(observed, step):
    """The world after a step, in which created pods wait and deleted ones are gone."""
    gone = {action.name for action in step.actions if isinstance(action, DeletePod)}
    made = [PodState(action.name, action.task) for action in step.actions if isinstance(action, CreatePod)]
    pods = tuple(pod for pod in observed.pods if pod.name not in gone and not pod.terminating)
    return replace(observed, status=step.status, pods=(*pods, *made), delayed=step.delayed)


def in_phase(observed, phase):
    return replace(observed, pods=tuple(replace(pod, phase=phase) for pod in observed.pods))


def synchronised(job, observed):
    return carried_out(observed, next_status(job, observed, "OutOfSync"))


def test_from_nothing_to_completed():
    waiting = synchronised(JOB, Observed())
    assert (waiting.status.phase, waiting.pods) == ("Pending", ())
    created = synchronised(JOB, replace(waiting, pod_group=RUNNING))
    assert [pod.name for pod in created.pods] == ["j-w-0", "j-w-1", "j-w-2"]
    assert created.status.pending == 3
    running = synchronised(JOB, in_phase(created, "Running"))
    assert (running.status.phase, running.status.running) == ("Running", 3)
    done = synchronised(JOB, in_phase(running, "Succeeded"))
    assert [one.phase for one in done.status.conditions] == ["Pending", "Running", "Completed"]
    after = next_status(JOB, done, "OutOfSync")
    assert after.status.phase == "Completed"
    assert not any(isinstance(action, DeletePod) for action in after.actions)
    # Upstream counts no pod that a kill keeps.
    assert after.status.succeeded == 0


def started(job=JOB):
    return synchronised(job, in_phase(synchronised(job, Observed(pod_group=RUNNING)), "Running"))


def test_a_failed_pod_restarts_the_job_and_too_many_restarts_fail_it():
    world = started()
    for attempt in range(1, 4):
        failed = replace(world.pods[0], phase="Failed", exit_code=1)
        request = job_request(JOB, world.pods[0], failed, world.pods)
        assert (request.event, request.exit_code) == ("PodFailed", 1)
        step = next_status(JOB, replace(world, pods=(failed, *world.pods[1:])), request)
        assert (step.action, step.status.phase, step.status.retry_count) == ("RestartJob", "Restarting", attempt)
        assert RunHooks("delete") in step.actions and DeletePodGroup() in step.actions
        world = synchronised(JOB, carried_out(world, step))
        if attempt < 3:
            assert world.status.phase == "Pending"
            world = synchronised(JOB, in_phase(synchronised(JOB, world), "Running"))
    assert world.status.phase == "Failed"


def test_events_of_a_job_before_its_restart_only_synchronise():
    world = started()
    world = replace(world, status=replace(world.status, version=2))
    old = JobRequest("PodFailed", task="w", pod="j-w-0", job_version=1)
    assert next_status(JOB, world, old).action == "SyncJob"
    assert next_status(JOB, world, replace(old, job_version=2)).action == "RestartJob"


def test_an_action_with_a_timeout_waits_until_the_pod_runs():
    world = started()
    pod = replace(world.pods[0], phase="Pending", uid="p")
    step = next_status(JOB, world, job_request(JOB, None, pod))
    assert (step.action, step.actions, step.status) == ("AbortJob", (), world.status)
    assert [one.delay for one in step.delayed] == [60]
    waiting = replace(world, delayed=step.delayed)
    again = next_status(JOB, waiting, job_request(JOB, None, pod))
    assert again.delayed == step.delayed
    runs = job_request(JOB, pod, replace(pod, phase="Running"))
    assert next_status(JOB, waiting, runs).delayed == ()
    assert next_status(JOB, waiting, replace(runs, pod_uid="another")).delayed == step.delayed
    due = replace(step.delayed[0].request, action="AbortJob")
    assert next_status(JOB, waiting, due).status.phase == "Aborting"


def test_restart_of_a_task_leaves_the_others():
    job = job_of({"name": "a", "replicas": 1}, {"name": "b", "replicas": 2})
    step = next_status(job, started(job), JobRequest(action="RestartTask", task="b"))
    deleted = [action.name for action in step.actions if isinstance(action, DeletePod)]
    assert deleted == ["j-b-0", "j-b-1"]
    assert DeletePodGroup() not in step.actions and step.status.version == 0


def test_pods_wait_for_the_tasks_that_theirs_depends_on():
    job = job_of(
        {"name": "w", "replicas": 1, "dependsOn": {"name": ["m"]}}, {"name": "m", "replicas": 1, "minAvailable": 1}
    )
    world = synchronised(job, Observed(pod_group=RUNNING))
    assert [pod.name for pod in world.pods] == ["j-m-0"]
    assert [pod.name for pod in synchronised(job, in_phase(world, "Running")).pods] == ["j-m-0", "j-w-0"]


def test_a_missing_claim_keeps_the_job_pending():
    job = job_of({"name": "w"}, volumes=[{"mountPath": "/d", "volumeClaimName": "data"}])
    step = next_status(job, Observed(pod_group=RUNNING), "OutOfSync")
    assert step.status.phase == "Pending"
    assert [action.reason for action in step.actions if isinstance(action, RecordEvent)] == ["PVCError"]
    assert not any(isinstance(action, CreatePod) for action in step.actions)
    there = next_status(job, Observed(pod_group=RUNNING, claims=frozenset({"data"})), "OutOfSync")
    assert any(isinstance(action, CreatePod) for action in there.actions)


def test_a_scaled_down_job_deletes_the_last_pods():
    world = started()
    step = next_status(job_of({"name": "w", "replicas": 1}), world, "OutOfSync")
    assert [action.name for action in step.actions if isinstance(action, DeletePod)] == ["j-w-1", "j-w-2"]
    assert (step.status.running, step.status.terminating) == (1, 2)


def test_a_status_is_read_back_as_written():
    status = started().status
    status = replace(status, controlled_resources={"plugin-svc": "svc"}, retry_count=1, version=4)
    assert read_job_status({"status": job_status_manifest(status)}) == status


def test_a_manifest_is_read_and_a_wrong_field_is_named():
    manifest = {"metadata": {"name": "j"}, "spec": {"tasks": [{"name": "w", "policies": [{"timeout": "soon"}]}]}}
    with pytest.raises(InputError, match=r"spec\.tasks\[0\]\.policies\[0\]\.timeout"):
        next_status(manifest, Observed(), "OutOfSync")


PHASES = st.sampled_from(["Pending", "Running", "Succeeded", "Failed"])
EVENTS = st.sampled_from(["OutOfSync", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted"])
ACTIONS = st.sampled_from(["", "RestartJob", "RestartTask", "AbortJob", "ResumeJob", "CompleteJob", "TerminateJob"])


@max_examples(200)
@given(st.lists(st.tuples(EVENTS, ACTIONS, st.lists(PHASES, min_size=3, max_size=3)), max_size=12))
def test_any_sequence_keeps_indices_once_and_ends_where_it_ends(steps):
    world = Observed(pod_group=RUNNING)
    for event, action, phases in steps:
        pods = tuple(replace(pod, phase=phase) for pod, phase in zip(world.pods, phases, strict=False))
        world = replace(world, pods=pods)
        before = world.status
        step = next_status(JOB, world, JobRequest(event, action, task="w"))
        assert step == next_status(JOB, world, JobRequest(event, action, task="w"))
        world = carried_out(world, step)
        names = [pod.name for pod in world.pods]
        assert len(set(names)) == len(names) and set(names) <= {"j-w-0", "j-w-1", "j-w-2"}
        assert step.status.retry_count - before.retry_count in (0, 1)
        if before.phase in ("Completed", "Failed", "Terminated"):
            assert step.status.phase == before.phase
    assert isinstance(world.status, JobStatus)
