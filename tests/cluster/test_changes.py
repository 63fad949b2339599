from __future__ import annotations

from typing import Any

import pytest

from workbench.cluster.changes import ObjectChange, added, deleted, read_change
from workbench.errors import InputError, UnknownNameError
from workbench.model.snapshot import Queue
from workbench.objects.admission.gpu_group import GPU_GROUP_NAME_LABEL
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.objects.pod import Pod, PodSpec


def manifest(kind: str, version: str = "v1", namespace: str = "ns", **parts: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": namespace}, **parts}


REFUSED = manifest("Pod", spec={"containers": []})
REFUSED["metadata"] |= {
    "labels": {GPU_GROUP_NAME_LABEL: "x"},
    "annotations": {"gang.scheduling.koordinator.sh/name": "y"},
}
NOTED = manifest("Deployment", "apps/v1", spec={"template": {}})
NOTED["metadata"]["annotations"] = {"scheduling.volcano.sh/group-min-member": "two"}


def test_an_object_is_known_by_its_kind_and_key() -> None:
    pod = Pod(Metadata("x", "ns"), PodSpec({}))
    assert added(pod) == ObjectChange("Pod", "ns/x", pod)
    assert added(Node(Metadata("x"), {})).key == "x"
    assert added(Queue("q")).key == "q"


def test_an_event_brings_what_admission_says() -> None:
    refused, noted = read_change(REFUSED), read_change(NOTED)
    assert refused is not None and noted is not None
    cluster = ClusterObjects()
    assert refused.apply_to(cluster) and noted.apply_to(cluster)
    want = ClusterObjects()
    want.add(REFUSED)
    want.add(NOTED)
    assert cluster == want
    assert cluster.refused.keys() == {"Pod ns/x"}
    assert cluster.notes.keys() == {"Deployment ns/x"}


@pytest.mark.parametrize("data", [REFUSED, NOTED])
def test_what_is_deleted_leaves_nothing(data: dict[str, Any]) -> None:
    cluster = ClusterObjects()
    cluster.add(data)
    gone = read_change(data, gone=True)
    assert gone == deleted(data["kind"], "ns/x")
    assert gone.apply_to(cluster)
    assert cluster == ClusterObjects()
    assert not gone.apply_to(cluster)


def test_an_object_that_admission_accepts_now_is_refused_no_more() -> None:
    cluster = ClusterObjects()
    pod = Pod(Metadata("x", "ns"), PodSpec({}))
    assert added(pod, "no container").apply_to(cluster)
    assert not added(pod, "no container").apply_to(cluster)
    assert added(pod).apply_to(cluster)
    assert cluster.refused == {}


def test_a_modified_object_keeps_its_place() -> None:
    cluster = ClusterObjects()
    for name in ("b", "a"):
        added(Node(Metadata(name), {})).apply_to(cluster)
    assert added(Node(Metadata("b"), {}, unschedulable=True)).apply_to(cluster)
    assert list(cluster.nodes) == ["b", "a"]


def test_other_kinds_are_no_change() -> None:
    assert read_change(manifest("ConfigMap")) is None
    with pytest.raises(UnknownNameError, match="ConfigMap"):
        deleted("ConfigMap", "ns/x")


def test_a_wrong_field_is_named() -> None:
    with pytest.raises(InputError, match="spec"):
        read_change(manifest("Pod", spec=[]))
