"""Pods of a Job and the names of tasks and pods: `cases/volcano-jobs/create-pod.json`, `helpers.json`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conformance.registry import Runners
from tests.conformance.runners.volcano_jobs_asserts import assert_holds, assert_same
from tests.reference.pod_order import pod_before
from workbench.errors import InputError
from workbench.jobs.create_pod import create_pod
from workbench.jobs.task_pods import (
    OUT_OF_SYNC_ANNOTATION,
    index_from_label,
    is_out_of_sync,
    name_of,
    pod_name,
    pod_names,
    replicas_of_task,
    task_position,
    tasks_of,
)

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def register(runners: Runners) -> None:
    """Add the operations of create-pod.json and helpers.json to the area's runners."""
    runners.op("create-pod", "create-pod", ("job", "template", "task", "index", "jobForwarding"), ("assert",))(create)
    for op, given, want, run in (
        ("pod-order-before", ("left", "right"), ("before",), before),
        ("task-index-in-job", ("task", "taskNames"), ("index",), position),
        ("pod-names-of-task", ("task", "job"), ("names",), names),
        ("task-index-from-label", ("pod",), ("index", "raises"), index),
        ("task-replicas", ("task", "tasks"), ("replicas",), replicas),
        ("is-out-of-sync", ("pod",), ("value",), out_of_sync),
        ("out-of-sync-json-patch", (), ("patch",), patch),
        ("pod-name", ("job", "task", "index"), ("name",), name),
    ):
        runners.op("helpers", op, given, want)(run)


def create(given: dict[str, Any], want: dict[str, Any]) -> None:
    forwarding = given.get("jobForwarding") or False
    pod = create_pod(given["job"], given["template"], given["task"], given["index"], job_forwarding=forwarding)
    assert_holds({"pod": pod}, want["assert"])


def before(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert pod_before(pod_of(given["left"]), pod_of(given["right"])) == want["before"]


def pod_of(given: dict[str, Any]) -> dict[str, Any]:
    created = (_EPOCH + timedelta(seconds=given["created"])).isoformat()
    return {"metadata": {"name": given["pod"], "uid": given["uid"], "creationTimestamp": created}}


def position(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert task_position([{"name": each} for each in given["taskNames"]], given["task"]) == want["index"]


def names(given: dict[str, Any], want: dict[str, Any]) -> None:
    job, task = given["job"], given["task"]
    assert_same(pod_names(name_of(job), task, replicas_of_task(tasks_of(job), task)), want["names"])


def index(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Upstream returns -1 beside its error."""
    found, raised = -1, False
    try:
        found = index_from_label(given["pod"])
    except InputError:
        raised = True
    assert (found, raised) == (want["index"], bool(want["raises"]))


def replicas(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert replicas_of_task(given["tasks"], given["task"]) == want["replicas"]


def out_of_sync(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert is_out_of_sync(given["pod"]) == want["value"]


def patch(given: dict[str, Any], want: dict[str, Any]) -> None:
    path = f"/metadata/annotations/{OUT_OF_SYNC_ANNOTATION.replace('/', '~1')}"
    assert [{"op": "add", "path": path, "value": "true"}] == want["patch"]


def name(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert pod_name(given["job"], given["task"], given["index"]) == want["name"]
