"""Groups of kube-scheduler in a live cluster: read in the versions of Kubernetes 1.37, told otherwise, and as rows."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.cli.test_live_compare_systems import group, initially, member
from workbench.live import Recording
from workbench.live.kubernetes.configuration import Cluster
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.snapshot import LiveSnapshot, read_cluster
from workbench.model.kube_group import KubeGroup

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"allocatable": {"cpu": "8", "pods": "9", "nvidia.com/gpu": "8"}},
}
COMPOSITE = {"metadata": {"name": "root", "namespace": "default"}, "spec": {"schedulingPolicy": {"basic": {}}}}


def read(groups: list[str] | None, events: Any = ()) -> tuple[LiveSnapshot, list[str]]:
    told = group(conditions=[initially("False", "no placement")])
    told["spec"]["parentCompositePodGroupName"] = "root"
    items = {
        "/apis/scheduling.k8s.io/v1beta1/podgroups": [told],
        "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups": [COMPOSITE],
        "/api/v1/nodes": [NODE],
        "/api/v1/pods": [member(0), member(1)],
        "/api/v1/events": list(events),
    }
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        seen.append(path)
        if path == "/apis":
            listed = [{"versions": [{"groupVersion": one}]} for one in groups or ()]
            return httpx.Response(403 if groups is None else 200, json={"groups": listed})
        known = path in items or "volcano" in path or "koordinator" in path or path.endswith("priorityclasses")
        return httpx.Response(200 if known else 404, json={"metadata": {}, "items": items.get(path, [])})

    cluster = Cluster("test", "jane", "https://cluster.example:6443", lambda: "")
    with Connection(cluster, 5.0, httpx.MockTransport(answer)) as connection:
        return read_cluster(connection), seen


SERVED = ["scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"]


@pytest.mark.parametrize("groups", [SERVED, None])
def test_they_are_gangs_whichever_scheduler_their_pods_name(groups: list[str] | None) -> None:
    found, _ = read(groups)
    (gang,) = found.scenario().gangs
    assert (gang.kind, gang.key, gang.min_available, gang.n_pods) == ("PodGroup", "default/gang", 2, 2)
    assert [one.name for one in gang.extra(KubeGroup).parents] == ["root"]


def test_where_they_are_not_served_nobody_asks_and_nothing_is_missed() -> None:
    found, seen = read(["scheduling.k8s.io/v1"])
    assert not any("podgroups" in path and "volcano" not in path for path in seen)
    assert not [gap for gap in found.gaps if "scheduling.k8s.io" in gap.subject]


def test_another_version_is_a_gap() -> None:
    found, _ = read(["scheduling.k8s.io/v1", "scheduling.k8s.io/v1alpha2"])
    gaps = [(gap.code, gap.subject) for gap in found.gaps if "scheduling.k8s.io" in gap.subject]
    assert ("kind-not-served", "podgroups.scheduling.k8s.io") in gaps


def test_events_about_a_group_that_waits_are_kept() -> None:
    about = {"kind": "PodGroup", "namespace": "default", "name": "gang"}
    event = {"metadata": {"name": "e", "namespace": "default"}, "involvedObject": about, "type": "Warning"}
    found, _ = read(SERVED, [event])
    assert [json.loads(one)["kind"] for one in found.objects].count("Event") == 1


def recorded(*objects: Any) -> Recording:
    head = {"recording": 1, "context": "c", "began": "2026-11-27T01:00:00.000+00:00"}
    put = [
        {**one, "metadata": {"resourceVersion": "1", "uid": one["metadata"]["name"], **one["metadata"]}}
        for one in objects
    ]
    lines = [head, {"t": 0.0, "put": put, "gone": []}]
    return Recording("".join(json.dumps(line) + "\n" for line in lines), policy="kube-1.37-topology")


def test_a_recording_has_rows_for_groups_and_for_what_owns_pods() -> None:
    told = group(conditions=[initially("False", "no placement")])
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"parallelism": 1, "template": {"spec": member(9)["spec"]}},
        "status": {"conditions": [{"type": "Complete", "status": "True"}]},
    }
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
    mine = member(9, "n")
    mine["metadata"] |= {"name": "train-x", "ownerReferences": [owner]}
    mine["spec"]["schedulingGroup"]["podGroupName"] = "of-train"
    made = {**told, "metadata": {"name": "of-train", "namespace": "default"}}
    view = recorded(NODE, told, member(0), member(1), job, mine, made)
    rows = [(row.kind, row.name, row.phase, row.pending, row.running, row.waits_for) for row in view.jobs()]
    assert rows == [
        ("PodGroup", "gang", "Pending", 2, 0, "no placement"),
        ("BatchJob", "train", "Complete", 0, 1, ""),
    ]
    assert [decision.gang.key for decision in view.what_if()] == ["default/gang"]


def test_of_two_groups_of_one_name_volcanos_counts() -> None:
    volcano = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default"},
        "spec": {"minMember": 1},
    }
    for objects in ((volcano, group()), (group(), volcano)):
        (gang,) = recorded(NODE, *objects, member(0), member(1)).scenario().gangs
        assert gang.min_available == 1
