"""Koordinator's policies from manifests to annotations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.machines import koordinator_matrix_a
from workbench.model.bandwidth import BandwidthMatrix
from workbench.objects.device import device_manifest

MATRIX = BandwidthMatrix(koordinator_matrix_a())


def node(name: str) -> dict[str, Any]:
    amounts = {"cpu": "64", "pods": "110", "nvidia.com/gpu": "8"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": amounts}}


def pod(name: str, replica: int, **annotations: str) -> dict[str, Any]:
    labels = {
        "gputopology.scheduling.koordinator.sh/name": "train",
        "gputopology.scheduling.koordinator.sh/replica": str(replica),
    }
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    objects = [node("host04"), node("host05"), device_manifest("host04", range(8), MATRIX)]
    objects += [device_manifest("host05", range(8), MATRIX, unhealthy=(1, 2, 3, 4, 5))]
    return write(tmp_path / "cluster.json", objects)


def write(path: Path, objects: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    return path


def test_a_gpu_group_is_planned_on_one_node_with_the_documents_gpus(run: Run, cluster: Path) -> None:
    """host05 has three healthy GPUs left: the four of the group go to host04, where 0 to 3 have 48.33 GB/s."""
    jobs = write(cluster.parent / "jobs.json", [pod("w-0", 2), pod("w-1", 2)])
    result = run("place", "-f", cluster, "-f", jobs, "--policy", "koordinator-gpu", "-o", "json")
    assert result.status == 0
    (job,) = result.json["jobs"]
    assert [(p["node"], p["gpus"]) for p in job["pods"]] == [("host04", [0, 3]), ("host04", [1, 2])]
    written = json.loads(job["pods"][1]["annotations"]["topology.scheduling.koordinator.sh/gpu"])
    assert written == {"allocatedGPUs": {"0": ["1", "2"]}, "visibleGPUs": ["0", "1", "2", "3"]}


def test_its_reasons_are_shown(run: Run, cluster: Path) -> None:
    jobs = write(cluster.parent / "jobs.json", [pod("w-0", 2), pod("w-1", 2)])
    result = run("place", "-f", cluster, "-f", jobs, "--policy", "koordinator-gpu", "-o", "json", "--explain")
    (explanation,) = result.json["explanations"]
    scores = {c["name"]: (c["score"], c["why"]) for c in explanation["candidates"]}
    assert scores == {"host04": (100.0, "2 pods, 4 GPUs left over"), "host05": (0.0, "not in the node set")}


def test_the_objective_and_the_group_can_be_set(run: Run, cluster: Path) -> None:
    jobs = write(cluster.parent / "jobs.json", [pod("w-0", 2), pod("w-1", 2)])
    options = ("--policy", "koordinator-gpu", "--set", "objective=pods", "--set", "plan_ttl_s=0")
    (job,) = run("place", "-f", cluster, "-f", jobs, *options, "-o", "json").json["jobs"]
    assert {tuple(p["gpus"]) for p in job["pods"]} == {(0, 6), (2, 3)}
    wrong = run("place", "-f", cluster, "-f", jobs, "--policy", "koordinator-gpu", "--set", "objective=both")
    assert (wrong.status, "union or pods" in wrong.err) == (2, True)


def test_a_group_and_a_gang_that_disagree_are_refused_everywhere(run: Run, cluster: Path) -> None:
    gang = {
        "gang.scheduling.koordinator.sh/name": "train",
        "gang.scheduling.koordinator.sh/min-available": "3",
    }
    jobs = write(cluster.parent / "jobs.json", [pod("w-0", 2, **gang)])
    validated = run("validate", "-f", jobs, "-o", "json")
    assert validated.status == 1
    assert "replica is '2'" in validated.json["objects"][0]["message"]
    placed = run("place", "-f", cluster, "-f", jobs, "--policy", "koordinator-gpu", "-o", "json")
    assert placed.status == 1
    assert placed.json["refused"][0]["subject"] == "Pod default/w-0"


def test_a_gang_gathers_in_a_layer_of_the_network(run: Run, tmp_path: Path) -> None:
    layers = [
        {"topologyLayer": "BlockLayer", "parentTopologyLayer": "ClusterTopologyLayer", "labelKey": ["block"]},
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "BlockLayer"},
    ]
    topology = {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": layers},
    }
    nodes = [node(f"n{i}") for i in range(6)]
    for i, one in enumerate(nodes):
        one["metadata"]["labels"] = {"block": "b0" if i < 2 else "b1"}
    wish = {"gatherStrategy": [{"layer": "BlockLayer", "strategy": "MustGather"}]}
    annotations = {
        "gang.scheduling.koordinator.sh/name": "g",
        "gang.scheduling.koordinator.sh/network-topology-spec": json.dumps(wish),
    }
    pods = [pod(f"p-{i}", 3, **annotations) for i in range(3)]
    for one in pods:
        one["metadata"]["labels"] = {}
        one["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "8"
    path = write(tmp_path / "all.json", [topology, *nodes, *pods])
    result = run("place", "-f", path, "--policy", "koordinator-network", "-o", "json")
    (job,) = result.json["jobs"]
    assert (result.status, job["hypernode"], [p["node"] for p in job["pods"]]) == (0, "b1", ["n2", "n3", "n4"])


def test_podgroups_of_two_api_groups_are_no_duplicates(run: Run, tmp_path: Path) -> None:
    groups = ("scheduling.sigs.k8s.io/v1alpha1", "scheduling.volcano.sh/v1beta1")
    texts = [
        f"apiVersion: {group}\nkind: PodGroup\nmetadata: {{name: g}}\nspec: {{minMember: 1}}\n" for group in groups
    ]
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {scheduling.k8s.io/group-name: g}}\n"
        "spec: {schedulerName: volcano, containers: [{name: c, image: i}]}\n"
    )
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: 8, memory: 8Gi, pods: 10}}\n"
    for order in (texts, texts[::-1]):
        path = tmp_path / "groups.yaml"
        path.write_text("---\n".join([node, *order, pod]), encoding="utf-8")
        result = run("place", path, "--policy", "gang", "-o", "json")
        assert result.status == 0, result.err
        assert "ignored: PodGroup of Koordinator beside Volcano's (1)" in result.err
