"""Faults that are written to the objects of an embedded cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.control.manifests import hypernode, job, node, pods_of, small_cluster, task
from workbench.control.cluster import EmbeddedCluster
from workbench.control.kinds import Ref
from workbench.errors import InputError, UnknownNameError
from workbench.objects.device import device_manifest


def npu_node(name: str) -> dict[str, Any]:
    amounts = {"cpu": "64", "huawei.com/Ascend910": "8"}
    return node(name) | {"status": {"allocatable": amounts, "capacity": amounts}}


def healthy(cluster: EmbeddedCluster, name: str) -> int:
    return int(cluster.snapshot.gpu_total[cluster.snapshot.topology.node(name)][0])


def made(*objects: dict[str, Any]) -> EmbeddedCluster:
    cluster = EmbeddedCluster("volcano-1.15")
    cluster.submit(*objects)
    cluster.settle()
    return cluster


@pytest.mark.parametrize(
    ("objects", "where"),
    [
        ([node("n")], "a Device is made"),
        ([node("n"), device_manifest("n", range(8))], "its Device"),
        ([npu_node("n")], "its annotation"),
    ],
)
def test_a_faulty_gpu_is_reported_as_its_vendor_does(objects: list[dict[str, Any]], where: str) -> None:
    cluster = made(*objects)
    for gpu in (3, 5):
        cluster.fail_gpu("n", gpu)
    assert healthy(cluster, "n") == 0b11010111, where
    snapshot = cluster.snapshot
    assert snapshot.allocatable[0, snapshot.gpu_columns[0]] == 6
    (stored,) = cluster.store.list("Node")
    listed = (stored["metadata"].get("annotations") or {}).get("huawei.com/Ascend910-Unhealthy")
    assert listed == ("Ascend910-3,Ascend910-5" if where == "its annotation" else None)
    with pytest.raises(InputError, match="no such healthy GPU"):
        cluster.fail_gpu("n", 3)


def test_a_gpu_of_every_node_of_a_hypernode_fails() -> None:
    cluster = made(*small_cluster())
    cluster.fail_gpu("leaf1", 0)
    assert [healthy(cluster, f"n{i}") for i in range(4)] == [255, 255, 254, 254]


def test_only_pods_on_the_gpu_fail() -> None:
    cluster = made(*small_cluster(2), job(tasks=[task(replicas=4, gpus=4)]))
    first = next(pod for pod in cluster.pods() if 0 in pod.gpus and pod.node == "n0")
    cluster.fail_gpu("n0", 0)
    phases = pods_of(cluster)
    assert phases.pop(first.name) == "Failed" and set(phases.values()) == {"Running"}


def test_a_failed_node_is_not_ready_and_loses_its_pods() -> None:
    cluster = made(*small_cluster(2), job(tasks=[task(replicas=2)]))
    cluster.fail_node("n1")
    cluster.settle()
    assert cluster.snapshot.not_ready.tolist() == [False, True]
    assert sorted(pods_of(cluster).values()) == ["Pending", "Running"]
    stored = cluster.store.get(Ref("Node", "", "n1"))
    assert stored is not None and stored["status"]["conditions"] == [{"type": "Ready", "status": "False"}]


def test_a_node_comes_before_a_hypernode_of_its_name() -> None:
    cluster = made(node("a"), node("b"), hypernode("a", 1, ["a", "b"]))
    cluster.lose("a")
    assert [one["metadata"]["name"] for one in cluster.store.list("Node")] == ["b"]
    with pytest.raises(UnknownNameError, match="node or HyperNode"):
        cluster.not_ready("c")
