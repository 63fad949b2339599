from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import workbench
from workbench.cluster.assemble import assemble
from workbench.formats.write_manifests import to_yaml
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.device import device_manifest
from workbench.objects.kinds import ClusterObjects

NPU = "huawei.com/Ascend910"
UNHEALTHY, NETWORK = f"{NPU}-Unhealthy", f"{NPU}-NetworkUnhealthy"


def node(name: str, allocatable: int, capacity: int | None = 8, **annotations: str) -> dict[str, Any]:
    status = {"allocatable": {"cpu": "8", NPU: str(allocatable)}}
    if capacity is not None:
        status["capacity"] = {"cpu": "8", NPU: str(capacity)}
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def device_info(name: str, **listed: str) -> dict[str, Any]:
    text = json.dumps({"DeviceInfo": {"DeviceList": listed, "UpdateTime": 1}})
    metadata = {"name": f"mindx-dl-deviceinfo-{name}", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"DeviceInfoCfg": text}}


def snapshot_of(*manifests: dict[str, Any], **settings: Any) -> ClusterSnapshot:
    cluster = ClusterObjects()
    for manifest in manifests:
        cluster.add(manifest)
    return assemble(cluster, **settings)[0]


def npus(snapshot: ClusterSnapshot, index: int = 0) -> tuple[list[int], int]:
    """Numbers of the NPUs that a node has for jobs, and how many it offers."""
    word = int(snapshot.gpu_total[index, 0])
    assert int(snapshot.gpu_free[index, 0]) == word
    offered = int(snapshot.allocatable[index, snapshot.resources.index(NPU)])
    return [i for i in range(64) if word >> i & 1], offered


@pytest.mark.parametrize(
    ("manifests", "want"),
    [
        # The kubelet's allocatable leaves the unhealthy NPU out, and counts one whose network is faulty.
        ([node("n", 7), device_info("n", **{UNHEALTHY: "Ascend910-4"})], ([0, 1, 2, 3, 5, 6, 7], 7)),
        ([node("n", 8), device_info("n", **{NETWORK: "Ascend910-0"})], ([1, 2, 3, 4, 5, 6, 7], 7)),
        (
            [node("n", 7), device_info("n", **{UNHEALTHY: "Ascend910-4", NETWORK: "Ascend910-0"})],
            ([1, 2, 3, 5, 6, 7], 6),
        ),
        ([node("n", 7, **{UNHEALTHY: "Ascend910-4"})], ([0, 1, 2, 3, 5, 6, 7], 7)),
        # Without a capacity, allocatable counts all.
        ([node("n", 8, None, **{UNHEALTHY: "Ascend910-4"})], ([0, 1, 2, 3, 5, 6, 7], 7)),
        # Fewer are offered for another reason, too.
        ([node("n", 4, **{UNHEALTHY: "Ascend910-4"})], ([0, 1, 2, 3, 5, 6, 7], 4)),
        # The ConfigMap knows better than the annotation.
        ([node("n", 8, **{UNHEALTHY: "Ascend910-4"}), device_info("n", **{UNHEALTHY: ""})], (list(range(8)), 8)),
        # A Device says which GPUs there are.
        (
            [node("n", 8), device_info("n", **{UNHEALTHY: "1"}), device_manifest("n", range(4), unhealthy=[0])],
            ([2, 3], 2),
        ),
        ([node("n", 0), device_info("n", **{UNHEALTHY: ",".join(f"Ascend910-{i}" for i in range(8))})], ([], 0)),
    ],
)
def test_faulty_npus_are_not_offered(manifests: list[dict[str, Any]], want: tuple[list[int], int]) -> None:
    assert npus(snapshot_of(*manifests)) == want


def test_faulty_and_unknown_npus_are_counted() -> None:
    snapshot = snapshot_of(
        node("n0", 7, **{UNHEALTHY: "Ascend910-4,Ascend910-9"}),
        node("n1", 8),
        node("n2", 8),
        device_info("n1", **{NETWORK: "Ascend910-0", UNHEALTHY: "Ascend910-2c-100-1"}),
        device_info("gone"),
    )
    gaps = {gap.code: gap for gap in snapshot.gaps}
    assert dict(gaps["faulty-npus"].numbers) == {"count": 2, "nodes": 2, "network": 1}
    assert gaps["faulty-npus"].message == (
        "faulty NPUs are not used: 2 on 2 nodes, 1 of them because of the network alone"
    )
    assert dict(gaps["unknown-npus"].numbers) == {"count": 2}
    assert dict(gaps["device-without-node"].numbers) == {"count": 1}


def test_a_matrix_has_a_row_for_a_faulty_npu_too() -> None:
    matrix = BandwidthMatrix([[0.0 if i == j else 10.0 for j in range(8)] for i in range(8)], source="m")
    manifests = [node("n", 7), device_info("n", **{UNHEALTHY: "Ascend910-7"})]
    assert npus(snapshot_of(*manifests, matrices=[("n", matrix)])) == (list(range(7)), 7)


def test_jobs_are_placed_beside_faulty_npus(tmp_path: Path) -> None:
    container = {"name": "c", "resources": {"limits": {NPU: "7"}}}
    spec = {"schedulerName": "volcano", "containers": [container]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    path = tmp_path / "cluster.yaml"
    path.write_text(to_yaml([node("n", 7), device_info("n", **{UNHEALTHY: "Ascend910-3"}), pod]))
    scenario = workbench.load(path)
    result = workbench.place(scenario.gangs[0], scenario.snapshot, "allocate")
    assert isinstance(result, Placement)
    assert result.pod(0).gpus == (0, 1, 2, 4, 5, 6, 7)
