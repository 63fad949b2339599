"""Affinity that selects pods by the labels of their namespaces, as the input's Namespaces have them."""

from __future__ import annotations

import json

import pytest

import workbench as wb
from workbench.control.cluster import EmbeddedCluster
from workbench.errors import InputError
from workbench.formats.snapshot_file import parse_snapshot
from workbench.formats.snapshot_record import snapshot_text
from workbench.model.pod_counts import Namespaces

NAMESPACES = [("default", {}), ("ml", {"team": "x"}), ("web", {"team": "y"})]


def manifests(values, namespaces=NAMESPACES):
    """Two nodes, the emptier one with a pod of namespace ml, and a pod that keeps off pods of the teams in `values`."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {},
        "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": values}]},
    }
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    def pod(name, namespace, cpu="1", **spec):
        containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
        spec = {"schedulerName": "default-scheduler", "containers": containers, **spec}
        phase = "Running" if "nodeName" in spec else "Pending"
        metadata = {"name": name, "namespace": namespace}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}

    objects = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "9"}},
        }
        for name in ("n0", "n1")
    ]
    objects += [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for name, labels in namespaces
    ]
    objects += [pod("there", "ml", nodeName="n0"), pod("large", "default", "4", nodeName="n1")]
    objects += [pod("mine", "default", affinity=rule)]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def loaded(folder, *given):
    path = folder / "cluster.json"
    path.write_text(manifests(*given))
    return wb.load(path, any_scheduler=True)


def placed(scenario, policy):
    placement = scenario.place("mine", policy=policy)
    return placement.node.tolist(), {notice.code for notice in placement.warnings}


@pytest.mark.parametrize("policy", ["kube-default", "kube-1.37-topology"])
def test_only_pods_of_selected_namespaces_are_kept_off(tmp_path, policy):
    assert placed(loaded(tmp_path, ["x"]), policy)[0] == [1]
    assert placed(loaded(tmp_path, ["y"]), policy)[0] == [0]


@pytest.mark.parametrize("policy", ["kube-default", "kube-1.37-topology"])
def test_a_namespace_that_is_not_in_the_input_is_told(tmp_path, policy):
    assert placed(loaded(tmp_path, ["x"]), policy) == ([1], set())
    nodes, told = placed(loaded(tmp_path, ["x"], NAMESPACES[:1]), policy)
    assert nodes == [0] and told == {"namespace-labels-not-read"}


def test_a_namespace_may_come_with_each_part_of_an_input_if_all_say_the_same(tmp_path):
    given = [("ml", {"team": "x"}), *NAMESPACES]
    assert loaded(tmp_path, ["x"], given).snapshot.extra(Namespaces).labels["ml"]["team"] == "x"
    with pytest.raises(InputError, match="the same Namespace twice"):
        loaded(tmp_path, ["x"], [("ml", {"team": "z"}), *NAMESPACES])


@pytest.mark.parametrize(("values", "node"), [(["x"], "n1"), (["y"], "n0")])
def test_an_embedded_cluster_follows_namespaces(values, node):
    cluster = EmbeddedCluster(policy="kube-default")
    cluster.submit(*json.loads(manifests(values))["items"])
    cluster.settle()
    assert {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in cluster.store.list("Pod")}["mine"] == node


def test_a_snapshot_file_keeps_the_labels(tmp_path):
    snapshot = loaded(tmp_path, ["x"]).snapshot
    labels = snapshot.extra(Namespaces).labels
    assert labels["ml"] == {"team": "x", "kubernetes.io/metadata.name": "ml"}
    assert parse_snapshot(snapshot_text(snapshot), "file").extra(Namespaces).labels == labels
