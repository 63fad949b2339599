from __future__ import annotations

import networkx
import pytest
from hypothesis import given

import workbench
from tests.formats.fabric.forests import converted, forest, read_back, snapshots
from tests.formats.fabric.test_intake import node, write
from workbench.errors import InputError
from workbench.formats.fabric.registry import get_format


@given(snapshots(mixed=True, free=True, named=True))
def test_a_tree_is_read_back_as_it_was_written(snapshot):
    again, losses = converted(snapshot, "graphml")
    assert forest(again.topology) == forest(snapshot.topology)
    assert again.topology.node_names == snapshot.topology.node_names
    assert losses == ()


@given(snapshots(mixed=True, free=True, named=True))
def test_networkx_reads_what_is_written_and_gives_it_back(snapshot):
    text = get_format("graphml").write(snapshot).text
    theirs, ours = networkx.parse_graphml(text), workbench.to_networkx(snapshot)
    assert dict(theirs.nodes(data=True)) == dict(ours.nodes(data=True))
    assert set(theirs.edges()) == set(ours.edges())
    for graph in (theirs, ours, workbench.to_networkx(snapshot.topology)):
        assert forest(workbench.from_networkx(graph).topology) == forest(snapshot.topology)
    networkx_text = "\n".join(networkx.generate_graphml(ours))
    assert forest(read_back(networkx_text).topology) == forest(snapshot.topology)


def test_labels_resources_and_a_name_that_two_kinds_share_are_kept(tmp_path):
    members = [{"type": "Node", "selector": {"exactMatch": {"name": "a<&b"}}}]
    hypernode = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": "a<&b"}}
    both = write(tmp_path, "all.yaml", {**hypernode, "spec": {"tier": 4, "members": members}}, node("a<&b", k='"v"'))
    before = workbench.load(both).snapshot
    after, losses = converted(before, "graphml")
    assert (
        forest(after.topology)
        == forest(before.topology)
        == {"a<&b": (4, "", "<cluster-top-hypernode>", frozenset({"a<&b"}))}
    )
    assert after.labels.rows()[0] == {"k": '"v"'}
    assert after.allocatable.tolist() == before.allocatable.tolist()
    assert losses == ()


def test_a_directed_graph_without_attributes_is_a_tree_of_containment():
    graph = networkx.DiGraph([("top", "a"), ("top", "b"), ("a", "n1"), ("a", "n2"), ("b", "n3")])
    got = forest(workbench.from_networkx(graph).topology)
    assert {name: (row[0], len(row[3])) for name, row in got.items()} == {"a": (1, 2), "b": (1, 1), "top": (2, 3)}


def test_an_undirected_graph_is_a_wiring_plan_whose_spines_are_one_domain():
    #   s1 s2   two spines, each linked to the leaves a and b; c hangs on s3; x joins them
    graph = networkx.Graph([("a", "n1"), ("a", "n2"), ("b", "n3"), ("c", "n4"), ("c", "n5")])
    graph.add_edges_from([("s1", "a"), ("s1", "b"), ("s2", "a"), ("s2", "b"), ("s3", "c")])
    graph.add_edges_from([("x", "s1"), ("x", "s2"), ("x", "s3")])
    got = forest(workbench.from_networkx(graph).topology)
    assert {name: (row[0], row[2], len(row[3])) for name, row in got.items()} == {
        "a": (1, "s1-group", 2),
        "b": (1, "s1-group", 1),
        "c": (1, "s3", 2),
        "s1-group": (2, "x", 3),
        "s3": (2, "x", 2),
        "x": (3, "<cluster-top-hypernode>", 5),
    }


@given(snapshots(even=True))
def test_a_tree_of_even_depth_is_its_own_wiring_plan(snapshot):
    wiring = workbench.to_networkx(snapshot).to_undirected()
    assert forest(workbench.from_networkx(wiring).topology) == forest(snapshot.topology)


def test_a_host_on_two_switches_is_told_by_its_kind_and_joins_them():
    graph = networkx.Graph([("h", "a"), ("h", "b")])
    graph.nodes["h"]["type"] = "Host"
    snapshot = workbench.from_networkx(graph)
    assert {name: set(row[3]) for name, row in forest(snapshot.topology).items()} == {"a-group": {"h"}}
    assert snapshot.topology.problems == ()


def test_a_directed_graph_without_tiers_has_redundant_cores_as_one_hypernode():
    edges = [(core, leaf) for core in ("c1", "c2") for leaf in ("a", "b")]
    got = forest(workbench.from_networkx(networkx.DiGraph([*edges, ("a", "n1"), ("b", "n2")])).topology)
    assert {name: (row[0], row[2]) for name, row in got.items()} == {
        "a": (1, "c1-group"),
        "b": (1, "c1-group"),
        "c1-group": (2, "<cluster-top-hypernode>"),
    }


def test_leaves_of_a_wiring_plan_that_are_cabled_to_each_other_have_a_hypernode_above():
    graph = networkx.Graph([("a", "n1"), ("a", "n2"), ("b", "n3"), ("b", "n4"), ("a", "b")])
    got = forest(workbench.from_networkx(graph).topology)
    assert {name: (row[0], row[2]) for name, row in got.items()} == {
        "a": (1, "a-cascade"),
        "b": (1, "a-cascade"),
        "a-cascade": (2, "<cluster-top-hypernode>"),
    }


def test_hosts_of_a_wiring_plan_that_are_no_compute_nodes_are_left_aside():
    graph = networkx.Graph([("a", "n1"), ("a", "login01"), ("b", "n2"), ("a", "s"), ("b", "s"), ("s", "oss")])
    kinds = {"n1": "host", "n2": "host", "login01": "host", "oss": "storage"}
    for vertex in graph:
        graph.nodes[vertex]["kind"] = kinds.get(vertex, "switch")
    snapshot = workbench.from_networkx(graph)
    assert set(snapshot.topology.node_names) == {"n1", "n2"}
    assert set(forest(snapshot.topology)) == {"a", "b", "s"}


def graphml(inside: str, kind: str = "directed", keys: str = "") -> str:
    space = "http://graphml.graphdrawing.org/xmlns"
    return f'<graphml xmlns="{space}">{keys}<graph edgedefault="{kind}">{inside}</graph></graphml>'


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("<graphml>\n<graph>", r"stdin: line 2, column \d+: not XML"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><graphml>&a;</graphml>', "XML that is not read .*DTDForbidden"),
        ("<graphml></graphml>", "not a GraphML file of one graph"),
        (graphml(""), "no node in it"),
        (graphml('<node id="a"/><node id="a"/>'), "the same vertex twice"),
        (graphml('<node id=""/>'), "a node without id"),
        (graphml('<node id="a"/><edge source="a" target="b"/>'), "edge a - b: an edge to a vertex that is not there"),
        (graphml('<node id="a"/><edge source="a"/>'), "an edge without target|a edge without target"),
        (
            graphml(
                '<node id="a"><data key="d">x</data></node>', keys='<key id="d" attr.name="tier" attr.type="int"/>'
            ),
            "a, tier: not a number",
        ),
    ],
)
def test_a_bad_file_is_refused(text, want):
    with pytest.raises(InputError, match=want):
        read_back(text, format="graphml")


@pytest.mark.parametrize("before", ["", "<!-- <!DOCTYPE x> -->", "<?xml version='1.0' encoding='utf-16'?>"])
def test_a_comment_about_a_document_type_and_a_wrong_encoding_change_nothing(before):
    text = before + graphml('<node id="s"/><node id="a"/><edge source="s" target="a"/>')
    assert [node.name for node in get_format("graphml").read(text, "x").nodes] == ["a"]
