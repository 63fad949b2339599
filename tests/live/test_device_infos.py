"""Faulty NPUs of a live cluster: read where nodes have NPUs, and still told when the names are hidden."""

from __future__ import annotations

import json
from typing import Any

import httpx

from workbench.live.kubernetes.configuration import Cluster
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.resources import DEVICE_INFOS
from workbench.live.kubernetes.snapshot import LiveSnapshot, read_cluster

NPU = "huawei.com/Ascend910"
UNHEALTHY, NETWORK = f"{NPU}-Unhealthy", f"{NPU}-NetworkUnhealthy"


def node(name: str, resource: str, **annotations: str) -> dict[str, Any]:
    amounts = {"cpu": "8", resource: "8"}
    metadata = {"name": name, "annotations": annotations}
    return {"metadata": metadata, "status": {"allocatable": amounts, "capacity": amounts}}


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "kube-system"}, "data": data}


LISTED = {"DeviceInfo": {"DeviceList": {UNHEALTHY: "Ascend910-4,Ascend910-5"}, "UpdateTime": 1}}
MAPS = [config_map("coredns", Corefile="x"), config_map("mindx-dl-deviceinfo-racked", DeviceInfoCfg=json.dumps(LISTED))]


def read(resource: str, status: int = 200) -> tuple[LiveSnapshot, list[str]]:
    seen: list[str] = []
    annotations = {NETWORK: "Ascend910-1"} if resource == NPU else {}
    nodes = [node("racked", resource), node("other", resource, **annotations)]
    items = {"/api/v1/nodes": nodes, DEVICE_INFOS.path: MAPS}

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.path)
        if request.url.path == DEVICE_INFOS.path and status != 200:
            return httpx.Response(status)
        if "/configmaps/" in request.url.path:
            return httpx.Response(404)
        return httpx.Response(200, json={"metadata": {}, "items": items.get(request.url.path, [])})

    cluster = Cluster("test", "jane", "https://cluster.example:6443", lambda: "")
    with Connection(cluster, 5.0, httpx.MockTransport(answer)) as connection:
        return read_cluster(connection), seen


def left(snapshot: LiveSnapshot) -> list[int]:
    """Bits of the NPUs that each node has for jobs, nodes by name."""
    return [int(row[0]) for row in snapshot.scenario().snapshot.gpu_total]


def test_faulty_npus_of_config_maps_and_annotations_are_not_used() -> None:
    found, _ = read(NPU)
    assert found.gaps == ()
    maps = [each["metadata"]["name"] for each in map(json.loads, found.objects) if each["kind"] == "ConfigMap"]
    assert maps == ["mindx-dl-deviceinfo-racked"]
    assert left(found) == [0b1111_1101, 0b1100_1111]


def test_without_the_names_the_same_npus_are_faulty() -> None:
    found, _ = read(NPU)
    hidden = found.anonymized()
    assert b"racked" not in hidden.to_json()
    assert left(hidden) == left(found)


def test_without_npus_no_config_map_is_listed() -> None:
    _, seen = read("nvidia.com/gpu")
    assert DEVICE_INFOS.path not in seen


def test_without_the_right_there_is_a_gap_that_names_the_rule() -> None:
    found, _ = read(NPU, 403)
    (gap,) = found.gaps
    assert (gap.code, gap.subject) == ("not-permitted", "configmaps")
    assert gap.message == (
        "user jane may not list configmaps in kube-system; the rule "
        '{apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"]} in kube-system would allow it'
    )
    assert left(found) == [0b1111_1101, 0b1111_1111]
