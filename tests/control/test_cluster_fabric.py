"""The fabric of an embedded cluster: its switches, faulty NPUs, HyperNodes that follow labels of nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.control.manifests import cluster_with, hypernode, job, node, phase_of, status_of, task
from workbench.control.cluster import EmbeddedCluster
from workbench.control.kinds import Ref
from workbench.control.scheduler import Scheduler

SWITCHES = Path("datasets/switch-affinity")


def switch_states(cluster: EmbeddedCluster) -> dict[str, Any]:
    stored = cluster.store.get(Ref("ConfigMap", "volcano-system", "tor-share-cm"))
    assert stored is not None
    return dict(json.loads(stored["data"]["global-tor-info"]))


@pytest.mark.parametrize("table", [True, False])
def test_switch_affinity_publishes_the_states_of_the_switches_and_annotates_pods(table: bool) -> None:
    cluster = EmbeddedCluster("switch-affinity", run_seconds=60)
    tables = [SWITCHES / "tor-node.yaml"] if table else []
    cluster.submit(SWITCHES / "cluster.yaml", *tables, SWITCHES / "jobs-hard.yaml")
    cluster.settle()
    states = switch_states(cluster)
    assert len(states) == 6 and {one["IsSharedTor"] for one in states.values()} == {1, 2}
    jobs = {name for one in states.values() for each in one["nodes"] for name in each["JobName"]}
    assert jobs == {row.name for row in cluster.jobs() if row.running}
    at = {node["NodeName"]: one["IsSharedTor"] for one in states.values() for node in one["nodes"]}
    bound = [pod for pod in cluster.store.list("Pod") if pod["spec"].get("nodeName")]
    crossing = [pod for pod in bound if pod["metadata"]["annotations"]["isSharedTor"] != "0"]
    assert crossing
    for pod in crossing:
        assert pod["metadata"]["annotations"]["isSharedTor"] == str(at[pod["spec"]["nodeName"]])
    cluster.run()
    assert {one["IsSharedTor"] for one in switch_states(cluster).values()} == {0}
    assert all(each["JobName"] == [] for one in switch_states(cluster).values() for each in one["nodes"])


def test_other_schedulers_publish_no_switches_and_a_table_nobody_can_read_is_told() -> None:
    for policy in ("volcano-1.15", "switch-affinity-1.0"):
        cluster = EmbeddedCluster(policy)
        cluster.submit(SWITCHES / "cluster.yaml", SWITCHES / "tor-node.yaml", SWITCHES / "jobs-hard.yaml")
        cluster.settle()
        assert cluster.store.get(Ref("ConfigMap", "volcano-system", "tor-share-cm")) is None
    broken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "basic-tor-node-cm"}, "data": {}}
    cluster.submit(broken)
    cluster.settle()
    assert [line.reason for line in cluster.log if line.key.name == "basic-tor-node-cm"] == ["NotRead"]


def device_info(faulty: str, updated: int = 1) -> dict[str, Any]:
    """The ConfigMap in which Ascend's device plugin reports the faulty NPUs of node n0."""
    text = json.dumps({"DeviceInfo": {"DeviceList": {"huawei.com/npu-Unhealthy": faulty}, "UpdateTime": updated}})
    metadata = {"name": "mindx-dl-deviceinfo-n0", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"DeviceInfoCfg": text}}


def test_faulty_npus_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_with(device_info("npu-3"), job(tasks=[task(replicas=4)]))
    key = Ref("ConfigMap", "kube-system", "mindx-dl-deviceinfo-n0")

    def write(text: str) -> list[int]:
        """Change the ConfigMap; returns the NPUs of each node that jobs can have."""
        cluster.store.patch(key, {"data": {"DeviceInfoCfg": text}})
        cluster.settle()
        return npus()

    def npus() -> list[int]:
        return [int(row[0]) for row in cluster.snapshot.gpu_total]

    assert phase_of(cluster) == "Pending" and npus() == [0b1111_0111, 255, 255, 255]
    assert write(device_info("")["data"]["DeviceInfoCfg"]) == [255] * 4
    assert phase_of(cluster) == "Running"
    sessions: list[int] = []
    monkeypatch.setattr(Scheduler, "_session", lambda self: sessions.append(1))
    write(device_info("", updated=2)["data"]["DeviceInfoCfg"])
    assert not sessions, "the same NPUs at another time"
    monkeypatch.undo()
    assert write(device_info("npu-1")["data"]["DeviceInfoCfg"]) == [0b1111_1101, 255, 255, 255]
    assert write("{") == [0b1111_1101, 255, 255, 255], "what could be read last counts"
    assert [line.reason for line in cluster.log if line.key == key] == ["NotRead"]
    cluster.store.delete(key)
    cluster.settle()
    assert npus() == [255] * 4


RACKS = """
networkTopologyDiscovery:
- source: label
  enabled: {enabled}
  config:
    networkTopologyTypes:
      fabric:
      - nodeLabel: spine
      - nodeLabel: rack
      - nodeLabel: kubernetes.io/hostname
"""


def controller_conf(text: str) -> dict[str, Any]:
    metadata = {"name": "volcano-controller-configmap", "namespace": "volcano-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"volcano-controller.conf": text}}


def labelled(name: str, rack: str, spine: str = "s") -> dict[str, Any]:
    made = node(name)
    made["metadata"]["labels"] = {"rack": rack, "spine": spine}
    return made


def found_in(cluster: EmbeddedCluster) -> list[tuple[int, list[str]]]:
    """Tier and the members of each HyperNode: node names, or tiers of HyperNodes."""
    hypernodes = {one["metadata"]["name"]: one["spec"] for one in cluster.store.list("HyperNode")}
    rows = []
    for spec in hypernodes.values():
        names = [member["selector"]["exactMatch"]["name"] for member in spec["members"]]
        rows.append((spec["tier"], [str(hypernodes[name]["tier"]) if name in hypernodes else name for name in names]))
    return sorted(rows)


def test_hypernodes_follow_the_labels_of_nodes_as_the_controllers_config_map_says() -> None:
    cluster = EmbeddedCluster("volcano-1.15")
    cluster.submit(*(labelled(f"n{i}", f"r{i // 2}") for i in range(4)), controller_conf(RACKS.format(enabled="true")))
    cluster.settle()
    assert found_in(cluster) == [(1, ["n0", "n1"]), (1, ["n2", "n3"]), (2, ["1", "1"])]
    assert all(status_of(cluster, Ref("HyperNode", "", name))["nodeCount"] == 2 for name in hypernode_names(cluster))
    cluster.submit(job(networkTopology={"mode": "hard", "highestTierAllowed": 1}))
    cluster.settle()
    assert phase_of(cluster) == "Running"
    cluster.submit(labelled("n3", "r0"), labelled("n4", "r1"))
    cluster.settle()
    assert found_in(cluster) == [(1, ["n0", "n1", "n3"]), (1, ["n2", "n4"]), (2, ["1", "1"])]
    cluster.delete("HyperNode", hypernode_names(cluster)[0])
    cluster.settle()
    assert len(found_in(cluster)) == 3, "a HyperNode that somebody deletes is made again"
    cluster.submit(controller_conf(RACKS.format(enabled="false")), node("n5"))
    cluster.settle()
    cluster.submit(labelled("n4", "r7"))
    cluster.settle()
    assert len(found_in(cluster)) == 3, "a source that is switched off leaves its HyperNodes"


def hypernode_names(cluster: EmbeddedCluster) -> list[str]:
    return [one["metadata"]["name"] for one in cluster.store.list("HyperNode")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("networkTopologyDiscovery: 5", "failed to parse config"),
        ("- source: roce", "failed to parse config"),
        (
            "networkTopologyDiscovery: [{source: roce, enabled: true}, {source: label, enabled: true}]",
            "unsupported discoverer type: roce; waiting behind it: label",
        ),
        ("networkTopologyDiscovery: [{source: ufm, enabled: true}]", "opens no connection"),
    ],
)
def test_a_discovery_that_cannot_run_is_told_and_the_old_one_goes_on(text: str, said: str) -> None:
    cluster = EmbeddedCluster()
    cluster.submit(labelled("n0", "r0"), controller_conf(RACKS.format(enabled="true")))
    cluster.settle()
    cluster.submit(controller_conf(text))
    cluster.settle()
    (line,) = [one for one in cluster.log if one.reason == "DiscoveryFailed"]
    assert said in line.message and line.warning
    cluster.submit(labelled("n1", "r1"))
    cluster.settle()
    assert len(found_in(cluster)) == (2 if "ufm" in text else 3)


def test_discovery_leaves_the_hypernodes_of_others_alone() -> None:
    cluster = EmbeddedCluster()
    mine = hypernode("mine", 1, ["n0"])
    cluster.submit(mine, labelled("n0", "r0"), controller_conf(RACKS.format(enabled="true")))
    cluster.settle()
    assert hypernode_names(cluster)[-1] == "mine" and len(found_in(cluster)) == 3
