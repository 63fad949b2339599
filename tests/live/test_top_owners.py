"""Jobs of Kubernetes, JobSets and their like in a live cluster: read where they are served, without their programs."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from workbench.live.kubernetes.configuration import Cluster
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.rbac import reader_role
from workbench.live.kubernetes.resources import OWNERS
from workbench.live.kubernetes.snapshot import LiveSnapshot, read_cluster

SECRET = "planted"
CONTAINER = {
    "name": "c",
    "resources": {"limits": {"nvidia.com/gpu": "4"}},
    "env": [{"name": "TOKEN", "value": SECRET}],
    "args": [SECRET],
}
TEMPLATE = {"spec": {"containers": [CONTAINER], "schedulerName": "volcano"}}


def made(name: str, **parts: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team", "uid": f"u-{name}", "resourceVersion": "1"}
    return {**parts, "metadata": metadata | parts.get("metadata", {})}


JOB = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": TEMPLATE}
BY_JOB_SET = {
    "ownerReferences": [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "controller": True}]
}
RAY = {
    "entrypoint": SECRET,
    "runtimeEnvYAML": SECRET,
    "rayClusterSpec": {
        "headGroupSpec": {"rayStartParams": {"redis-password": SECRET}, "template": TEMPLATE},
        "workerGroupSpecs": [{"groupName": "g", "replicas": 1, "template": TEMPLATE}],
    },
}
RUNS = {
    "labels": {"jobset.sigs.k8s.io/jobset-name": "set", "jobset.sigs.k8s.io/replicatedjob-name": "w"},
    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "set-w-0", "controller": True}],
}
ITEMS: dict[str, list[dict[str, Any]]] = {
    "/apis/batch/v1/jobs": [made("alone", spec=JOB), made("set-w-0", spec=JOB, metadata=BY_JOB_SET)],
    "/apis/jobset.x-k8s.io/v1alpha2/jobsets": [
        made("set", spec={"replicatedJobs": [{"name": "w", "template": {"spec": JOB}}]})
    ],
    "/apis/ray.io/v1/rayjobs": [made("ray", spec=RAY)],
    "/apis/kubeflow.org/v2beta1/mpijobs": [made("mpi", spec={"mpiReplicaSpecs": {"Worker": {"template": TEMPLATE}}})],
    "/api/v1/nodes": [
        {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8", "pods": "99", "nvidia.com/gpu": "8"}}}
    ],
    "/api/v1/pods": [
        made("set-w-0-1-abcde", spec={**TEMPLATE["spec"], "nodeName": "n"}, metadata=RUNS, status={"phase": "Running"})
    ],
}
GROUPS = ["batch/v1", "jobset.x-k8s.io/v1alpha2", "ray.io/v1", "kubeflow.org/v1", "kubeflow.org/v2beta1"]


def read(groups: list[str] | None = GROUPS, refused: str = "") -> tuple[LiveSnapshot, list[str]]:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        seen.append(path)
        if path == "/apis":
            listed = [{"name": one.rpartition("/")[0], "versions": [{"groupVersion": one}]} for one in groups or ()]
            return httpx.Response(403 if groups is None else 200, json={"groups": listed})
        if path == refused:
            return httpx.Response(403)
        if "/configmaps/" in path or (path.startswith("/apis/") and "volcano" not in path and path not in ITEMS):
            return httpx.Response(404)
        return httpx.Response(200, json={"metadata": {}, "items": ITEMS.get(path, [])})

    cluster = Cluster("test", "jane", "https://cluster.example:6443", lambda: "")
    with Connection(cluster, 5.0, httpx.MockTransport(answer)) as connection:
        return read_cluster(connection), seen


WANT = [
    ("BatchJob", "team/alone", 0, 2),
    ("MPIJob", "team/mpi", 0, 1),
    ("RayJob", "team/ray", 0, 2),
    ("JobSet", "team/set", 1, 1),
]


@pytest.mark.parametrize("anonymous", [False, True])
def test_they_become_gangs_with_their_running_pods(anonymous: bool) -> None:
    found, _ = read()
    assert not [gap for gap in found.gaps if any(one.plural in gap.subject for one in OWNERS)]
    scenario = (found.anonymized() if anonymous else found).scenario()
    gangs = [(one.kind, one.key, one.ready, one.n_pods) for one in scenario.gangs]
    if anonymous:
        # Names are others, in the same order.
        assert [(kind, *numbers) for kind, _, *numbers in gangs] == [(kind, *numbers) for kind, _, *numbers in WANT]
    else:
        assert gangs == WANT
        assert [pod.gang for pod in scenario.snapshot.running] == ["team/set"]


def test_programs_and_credentials_stay_in_the_cluster() -> None:
    found, _ = read()
    assert SECRET not in found.to_json().decode()
    assert "mpijobs.kubeflow.org" in found.versions


def test_only_what_the_cluster_serves_is_asked_for() -> None:
    _, seen = read(["batch/v1"])
    assert [path for path in seen if path.startswith("/apis/") and path in ITEMS] == ["/apis/batch/v1/jobs"]
    assert not any("kubeflow" in path or "ray.io" in path for path in seen)


def test_where_nobody_may_ask_for_the_groups_every_list_is_tried() -> None:
    found, _ = read(None)
    assert [(one.kind, one.key, one.ready, one.n_pods) for one in found.scenario().gangs] == WANT


def test_without_the_right_there_is_a_gap_that_names_the_rule() -> None:
    found, _ = read(refused="/apis/ray.io/v1/rayjobs")
    gaps = [gap for gap in found.gaps if gap.code == "not-permitted"]
    assert [gap.subject for gap in gaps] == ["rayjobs.ray.io"]
    rules = reader_role("user:jane")[0]["rules"]
    assert {
        "apiGroups": ["ray.io"],
        "resources": ["rayjobs", "rayclusters"],
        "verbs": ["get", "list", "watch"],
    } in rules


def test_events_are_kept_about_what_has_not_ended() -> None:
    ended = made("over", spec=JOB, status={"conditions": [{"type": "Complete", "status": "True"}]})
    events = [
        made(
            f"e-{name}", involvedObject={"kind": "Job", "namespace": "team", "name": name}, message="m", type="Warning"
        )
        for name in ("alone", "over")
    ]
    ITEMS["/apis/batch/v1/jobs"].append(ended)
    ITEMS["/api/v1/events"] = events
    try:
        found, _ = read()
    finally:
        ITEMS["/apis/batch/v1/jobs"].pop()
        del ITEMS["/api/v1/events"]
    kept = [json.loads(one) for one in found.objects]
    assert [one["metadata"]["name"] for one in kept if one["kind"] == "Event"] == ["e-alone"]
