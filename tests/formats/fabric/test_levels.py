from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given

from tests.formats.fabric.forests import converted, forest, read_back, shape, snapshots
from tests.formats.fabric.test_intake import node, write
from tests.notices import said
from workbench.errors import InputError
from workbench.formats.fabric.registry import get_format
from workbench.formats.load import load
from workbench.formats.write_manifests import to_yaml

OWNERS = ("kueue", "kai", "koordinator")


def topology(*keys: str, version: str = "kueue.x-k8s.io/v1beta1", name: str = "default") -> dict[str, Any]:
    levels = [{"nodeLabel": key} for key in keys]
    return {"apiVersion": version, "kind": "Topology", "metadata": {"name": name}, "spec": {"levels": levels}}


def layers(*rows: tuple[str, str, list[str]]) -> dict[str, Any]:
    spec = [{"topologyLayer": layer, "parentTopologyLayer": parent, "labelKey": keys} for layer, parent, keys in rows]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": spec},
    }


@pytest.mark.parametrize("owner", OWNERS)
class TestARoundTrip:
    @given(snapshot=snapshots(even=True, free=True))
    def test_trees_of_even_depth_lose_nothing_but_the_missing_tier_names(self, owner, snapshot):
        again, losses = converted(snapshot, owner)
        assert shape(again.topology) == shape(snapshot.topology)
        assert set(again.topology.node_names) == set(snapshot.topology.node_names)
        assert {name: row[2:] for name, row in forest(again.topology).items()} == {
            name: row[2:] for name, row in forest(snapshot.topology).items()
        }
        assert all("got a name of its own" in loss for loss in losses)

    @given(snapshot=snapshots(even=True, named=True))
    def test_what_was_read_from_the_format_is_written_as_it_was(self, owner, snapshot):
        first = converted(snapshot, owner)[0]
        write = get_format(owner).write
        assert write is not None
        once = write(first)
        again = read_back(once.text)
        assert once.losses == ()
        assert forest(again.topology) == forest(first.topology)
        assert write(again).text == once.text

    @given(snapshot=snapshots(mixed=True))
    def test_nodes_without_a_domain_of_every_tier_are_told(self, owner, snapshot):
        again, losses = converted(snapshot, owner)
        held = {name for row in forest(again.topology).values() for name in row[3]}
        left = {name for row in forest(snapshot.topology).values() for name in row[3]} - held
        assert any("not in a HyperNode of every tier" in loss for loss in losses) == bool(left)


def test_levels_are_widest_first_and_the_host_name_is_no_level(tmp_path):
    nodes = [node("n1", block="b1", rack="r1"), node("n2", block="b1", rack="r2"), node("n3", block="b2", rack="r3")]
    both = write(tmp_path, "all.yaml", topology("block", "rack", "kubernetes.io/hostname"), *nodes)
    got = forest(load(both).snapshot.topology)
    assert {name: row[:3] for name, row in got.items()} == {
        "b1": (2, "block", "<cluster-top-hypernode>"),
        "b2": (2, "block", "<cluster-top-hypernode>"),
        "r1": (1, "rack", "b1"),
        "r2": (1, "rack", "b1"),
        "r3": (1, "rack", "b2"),
    }


def test_one_rack_name_in_two_blocks_is_two_racks_for_kueue_and_no_tree_for_koordinator(tmp_path):
    nodes = [node("n1", block="b1", rack="r"), node("n2", block="b2", rack="r")]
    kueue = load(write(tmp_path, "k.yaml", topology("block", "rack"), *nodes)).snapshot.topology
    assert set(kueue.domain_names) == {"b1", "b2", "b1.r", "b2.r"} and kueue.ready
    cnt = layers(("Block", "", ["block"]), ("Rack", "Block", ["rack"]), ("NodeTopologyLayer", "Rack", []))
    koordinator = load(write(tmp_path, "c.yaml", cnt, *nodes)).snapshot.topology
    assert [p.code for p in koordinator.problems] == ["two-parents"]


def test_a_node_without_a_level_is_in_no_hyper_node(tmp_path):
    nodes = [node("n1", block="b1", rack="r1"), node("n2", rack="r1"), node("n3", block="b1")]
    snapshot = load(write(tmp_path, "k.yaml", topology("block", "rack"), *nodes)).snapshot
    assert forest(snapshot.topology)["b1"][3] == {"n1"}
    assert any(gap.startswith("2 nodes (n2, n3) without a label of every level") for gap in said(snapshot.gaps))


def test_a_layer_takes_the_first_label_that_a_node_has_and_layers_may_stand_in_any_order(tmp_path):
    cnt = layers(("NodeTopologyLayer", "Leaf", []), ("Other", "", ["z"]), ("Leaf", "ClusterTopologyLayer", ["a", "b"]))
    nodes = [node("n1", a="x", b="y"), node("n2", b="x")]
    got = forest(load(write(tmp_path, "c.yaml", cnt, *nodes)).snapshot.topology)
    assert got == {"x": (1, "Leaf", "<cluster-top-hypernode>", frozenset({"n1", "n2"}))}


def test_of_several_objects_the_default_or_the_first_is_read(tmp_path):
    path = write(tmp_path, "k.yaml", topology("rack", name="b"), topology("block", name="a"), node("n1", block="x"))
    snapshot = load(path).snapshot
    assert snapshot.topology.domain_names == ("x",)
    assert "Kueue Topology objects left aside: b" in said(snapshot.gaps)


def test_labels_that_say_the_tree_already_are_used_and_taints_and_resources_stay(tmp_path):
    one = node("n1", **{"example.com/spine": "s", "example.com/rack": "r", "zone": "z"})
    one["spec"] = {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}], "unschedulable": True}
    one["status"]["allocatable"] |= {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "8"}
    cnt = layers(
        ("Spine", "", ["example.com/spine"]), ("Rack", "Spine", ["example.com/rack"]), ("NodeTopologyLayer", "Rack", [])
    )
    before = load(write(tmp_path, "c.yaml", cnt, one)).snapshot
    write_it = get_format("koordinator").write
    assert write_it is not None
    documents = list(yaml.safe_load_all(write_it(before).text))
    assert [row.get("labelKey") for row in documents[0]["spec"]["networkTopologySpec"]] == [
        ["example.com/spine"],
        ["example.com/rack"],
        None,
    ]
    after = read_back(to_yaml(documents))
    assert after.labels.rows()[0] == before.labels.rows()[0]
    assert after.allocatable.tolist() == before.allocatable.tolist()
    assert after.taints.sets == before.taints.sets and after.unschedulable.all()


@pytest.mark.parametrize(
    ("data", "want"),
    [
        (topology(), "spec.levels: wrong type or value|spec.levels"),
        (topology(""), r"spec.levels\[0\].nodeLabel"),
        (topology("a", "a"), r"spec.levels\[1\].nodeLabel"),
        (topology("kubernetes.io/hostname", "a"), r"spec.levels\[0\].nodeLabel"),
        (layers(("A", "", ["a"])), "expected a layer NodeTopologyLayer"),
        (layers(("NodeTopologyLayer", "B", [])), r"\[0\].parentTopologyLayer: .*'B'"),
        (layers(("NodeTopologyLayer", "A", []), ("A", "A", ["a"])), "a layer inside itself"),
        (layers(("NodeTopologyLayer", "A", []), ("A", "", [])), r"\[1\].labelKey"),
        (layers(("NodeTopologyLayer", "", []), ("NodeTopologyLayer", "", [])), r"\[1\].topologyLayer"),
    ],
)
def test_a_bad_object_is_refused_with_its_field(tmp_path, data, want):
    with pytest.raises(InputError, match=want):
        load(write(tmp_path, "x.yaml", data))


def test_hyper_nodes_win_over_levels_and_the_levels_are_named(tmp_path):
    members = [{"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}]
    hypernode = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": "own"}}
    objects = [topology("rack"), node("n1", rack="r"), {**hypernode, "spec": {"tier": 1, "members": members}}]
    path = write(tmp_path, "all.yaml", *objects)
    snapshot = load(path).snapshot
    assert snapshot.topology.domain_names == ("own",)
    assert "HyperNodes are given: kueue/default left aside" in said(snapshot.gaps)
    assert load(path, format="kueue").snapshot.topology.domain_names == ("r",)
