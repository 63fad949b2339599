"""Requests that fail are made again after longer and longer pauses, then the Job is terminated."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from tests.control.manifests import job, phase_of, pods_of, small_cluster, task
from workbench.control.cluster import EmbeddedCluster
from workbench.control.kinds import Ref
from workbench.control.retries import MOST_RETRIES, Retries
from workbench.control.store import Object
from workbench.jobs.lifecycle.request import JobRequest

JOB = Ref("Job", "default", "train")
SYNC, FAILED = JobRequest("OutOfSync"), JobRequest("PodFailed", pod="p")


def test_a_request_is_made_again_fifteen_times_with_pauses_that_double() -> None:
    retries, now, pauses = Retries(), 0.0, []
    while retries.again(JOB, SYNC, now):
        due = retries.next_time(JOB)
        assert due is not None and retries.take_due(JOB, due - 0.001) is None and retries.planned() == [(JOB, SYNC)]
        pauses.append(due - now)
        now = due
        assert retries.take_due(JOB, now) == SYNC and retries.next_time(JOB) is None and retries.planned() == []
    assert len(pauses) == MOST_RETRIES == 15 and pauses == pytest.approx([0.005 * 2**i for i in range(15)])
    assert retries.again(JOB, SYNC, now), "it was forgotten when it was given up"


def test_requests_are_counted_each_on_its_own_and_anew_after_a_success() -> None:
    retries = Retries()
    assert retries.again(JOB, SYNC, 0.0) and retries.again(JOB, SYNC, 0.0) and retries.again(JOB, FAILED, 0.0)
    assert retries.next_time(JOB) == 0.005 and retries.take_due(JOB, 1.0) == SYNC
    copied = copy.copy(retries)
    retries.forget(JOB, SYNC)
    assert retries.again(JOB, SYNC, 1.0) and retries.next_time(JOB) == 0.005
    assert retries.take_due(JOB, 1.0) == FAILED and retries.next_time(JOB) == 1.005
    assert copied.take_due(JOB, 1.0) == FAILED and copied.again(JOB, SYNC, 1.0) and copied.next_time(JOB) == 1.02
    retries.forget(JOB)
    assert retries.next_time(JOB) is None
    assert retries.again(Ref("Job", "default", "other"), SYNC, 0.0) and retries.next_time(JOB) is None


def without_head() -> EmbeddedCluster:
    """A cluster with a Job whose plugin ray fails, because no task is called head."""
    cluster = EmbeddedCluster("volcano-1.15")
    cluster.submit(*small_cluster(), job(plugins={"ray": []}), job("good"))
    return cluster


def test_a_job_whose_plugin_fails_is_terminated_after_the_last_retry() -> None:
    cluster = without_head()
    cluster.run(until=81.0)
    assert phase_of(cluster) in ("", "Pending") and phase_of(cluster, "good") == "Running"
    told = [line for line in cluster.log if line.key == JOB]
    assert [line.reason for line in told] == ["Pending", "FailedSync"] and "head" in told[1].message
    cluster.run(until=165.0)
    assert phase_of(cluster) == "Terminated" and pods_of(cluster) == {} and phase_of(cluster, "good") == "Running"
    assert any("15 retries" in line.message for line in cluster.log)


def test_a_job_is_terminated_whose_plugins_object_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.control.memory_store import MemoryStore
    from workbench.errors import StoreError

    real = MemoryStore.create

    def refusing(self: MemoryStore, data: Object) -> Object:
        if data["kind"] == "Service":
            raise StoreError("Forbidden", "services: exceeded quota")
        return real(self, data)

    monkeypatch.setattr(MemoryStore, "create", refusing)
    cluster = EmbeddedCluster("volcano-1.15")
    cluster.submit(*small_cluster(), job(plugins={"svc": []}))
    cluster.run(until=165.0)
    assert phase_of(cluster) == "Terminated" and pods_of(cluster) == {}
    told = [line.message for line in cluster.log if line.reason == "PluginError"]
    assert told == ["Execute plugin when job add failed, err: services: exceeded quota"]


def test_a_saved_cluster_goes_on_trying(tmp_path: Path) -> None:
    cluster = without_head()
    cluster.run(until=10.0)
    cluster.save(tmp_path / "store.json")
    other = EmbeddedCluster("volcano-1.15")
    other.resume(tmp_path / "store.json")
    other.run(until=10.0 + 165.0)
    assert phase_of(other) == "Terminated"


def test_no_pod_is_created_if_a_plugin_refuses_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.control.reconcilers import jobs
    from workbench.errors import InputError

    real = jobs.on_pod_create

    def refusing(pod: object, *rest: object) -> object:
        if pod["metadata"]["name"] == "train-b-1":  # type: ignore[index]
            raise InputError("this pod cannot be served")
        return real(pod, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(jobs, "on_pod_create", refusing)
    cluster = EmbeddedCluster("volcano-1.15")
    cluster.submit(*small_cluster(), job(tasks=[task("a", gpus=1), task("b", gpus=1)]))
    cluster.run(until=100.0)
    assert pods_of(cluster) == {}
    cluster.run(until=400.0)
    assert phase_of(cluster) == "Terminated"
