from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.fabric.forests import converted, forest, read_back, snapshots
from workbench.formats.fabric.hypernode_yaml import NAME, cluster_names, write_open_patterns
from workbench.formats.fabric.registry import get_format
from workbench.formats.fabric.writing import node_manifests
from workbench.formats.write_manifests import to_yaml
from workbench.model.gang import Gang, Role
from workbench.model.placement import Placement
from workbench.model.release import Release
from workbench.objects.admission.hypernode import refuse_hypernode
from workbench.objects.names import is_name
from workbench.objects.node import node_manifest
from workbench.policies import get_policy
from workbench.topology.objects_of import nodes_in
from workbench.topology.presets import generate


@given(snapshots(mixed=True, named=True))
def test_exact_members_lose_nothing_of_the_tree(snapshot):
    again, losses = converted(snapshot, "hypernodes")
    assert forest(again.topology) == forest(snapshot.topology)
    assert losses == ()


@given(snapshots(mixed=True, named=True, free=True))
def test_with_the_nodes_the_same_cluster_comes_back(snapshot):
    again, losses = converted(snapshot, "cluster")
    assert losses == ()
    assert cluster_of(again) == cluster_of(snapshot)


def test_nodes_keep_gpus_labels_taints_and_cordons():
    written = generated_with_everything()
    again, losses = converted(written, "cluster")
    assert losses == ()
    assert cluster_of(again) == cluster_of(written)
    assert again.gpu_free.tolist() == written.gpu_free.tolist()
    policy, (gang,) = get_policy("volcano-1.15"), [Gang("d", "j", (Role("w", 2, {"nvidia.com/gpu": 8}),), 2)]
    placed, as_before = (policy.place(gang, one.ledger()) for one in (again, written))
    assert isinstance(placed, Placement) and isinstance(as_before, Placement)
    assert placed.node.tolist() == as_before.node.tolist()


def cluster_of(snapshot):
    """What nodes and HyperNodes say, free nodes included."""
    nodes = nodes_in(snapshot)
    return forest(snapshot.topology), snapshot.topology.node_names, [node_manifest(node) for node in nodes]


def generated_with_everything():
    """The preset with eight nodes: labels on one, another tainted, a third cordoned."""
    manifests = generate("three-level-tree")
    nodes = [one for one in manifests if one["kind"] == "Node"]
    nodes[0]["metadata"]["labels"] = {"zone": "a", "nvidia.com/gpu.product": "H100"}
    nodes[1].setdefault("spec", {})["taints"] = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
    nodes[2].setdefault("spec", {})["unschedulable"] = True
    return read_back(to_yaml(manifests))


@given(snapshots(mixed=True, named=True, free=True))
def test_patterns_match_the_same_nodes_when_all_nodes_are_known(snapshot):
    write = get_format("hypernodes-regex").write
    assert write is not None
    again = read_back(write(snapshot).text + to_yaml(node_manifests(snapshot, {})))
    assert forest(again.topology) == forest(snapshot.topology)


def test_a_rack_is_one_pattern_and_a_single_node_its_name():
    snapshot = read_back("SwitchName=a Nodes=rack1-n[1-16]\nSwitchName=b Nodes=x\n")
    write = get_format("hypernodes-regex").write
    assert write is not None
    a, b = yaml.safe_load_all(write(snapshot).text)
    assert a["spec"]["members"] == [
        {"type": "Node", "selector": {"regexMatch": {"pattern": "^rack1-n(?:1[0-6]?|[2-9])$"}}}
    ]
    assert b["spec"]["members"] == [{"type": "Node", "selector": {"exactMatch": {"name": "x"}}}]


def test_open_patterns_are_written_on_demand_with_a_warning():
    snapshot = read_back("SwitchName=a Nodes=gpu-[1-4]\nSwitchName=b Nodes=gpu-[5-8]\n")
    written = write_open_patterns(snapshot)
    patterns = [m["spec"]["members"][0]["selector"]["regexMatch"]["pattern"] for m in yaml.safe_load_all(written.text)]
    assert patterns == ["^gpu-[1-4]", "^gpu-[5-8]"]
    assert any("gpu-1-spare" in loss for loss in written.losses)


def test_names_that_a_cluster_refuses_are_changed_and_told():
    snapshot = read_back(
        "SwitchName=IB_Leaf Nodes=a,b\nSwitchName=Spine Switches=IB_Leaf,ok\nSwitchName=ok Nodes=c,D\n"
    )
    for name in ("hypernodes", "hypernodes-regex"):
        write = get_format(name).write
        assert write is not None
        written = write(snapshot)
        manifests = {m["metadata"]["name"]: m for m in yaml.safe_load_all(written.text)}
        assert sorted(manifests) == ["ib-leaf", "ok", "spine"]
        assert manifests["ib-leaf"]["metadata"]["annotations"] == {NAME: "IB_Leaf"}
        assert "annotations" not in manifests["ok"]["metadata"]
        assert [m["selector"]["exactMatch"]["name"] for m in manifests["spine"]["spec"]["members"]] == ["ib-leaf", "ok"]
        assert not refuse_hypernode(manifests["spine"], Release.V1_15)
        assert written.losses[:2] == (
            f"changed: 2 HyperNodes (IB_Leaf, Spine) got names that a cluster accepts; annotation {NAME} has the old",
            "not accepted by a cluster: the names of 1 node (D)",
        )


def test_patterns_say_that_the_nodes_are_needed_to_read_them():
    _, losses = converted(read_back("SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=m1\n"), "hypernodes-regex")
    assert losses == ("not written: the names of 4 nodes, which patterns find beside the Nodes only",)


def test_two_names_that_come_out_the_same_get_a_digest_and_a_valid_one_stays():
    assert cluster_names(["leaf-1", "Leaf-1", "Leaf 2"]) == ["leaf-1", cluster_names(["Leaf-1", "leaf-1"])[0], "leaf-2"]
    first, second = cluster_names(["A_B", "A-B"])
    assert first.startswith("a-b-") and second.startswith("a-b-") and first != second


@given(st.lists(st.text(max_size=300), unique=True, max_size=6))
def test_cluster_names_are_valid_distinct_and_independent_of_the_order(names):
    changed = cluster_names(names)
    assert all(is_name(name) for name in changed)
    assert len(set(changed)) == len(names)
    assert cluster_names(names[::-1]) == changed[::-1]
    assert all(new == old for old, new in zip(names, changed, strict=True) if is_name(old))
