from __future__ import annotations

import pytest

from workbench.model.labels import Requirement, Taint
from workbench.objects.hypernode import HyperNode, Member, make_hypernode
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.objects.selectors import Selector
from workbench.topology import edits
from workbench.topology.draft import Draft
from workbench.topology.draft_objects import LINK_GBIT_S, draft_of, import_over, nodes_of

GPU = "nvidia.com/gpu"


def drawn(*names: str) -> Draft:
    """One leaf over nodes of 8 GPUs with a rack label, a link, a taint and an address, the first one cordoned."""
    nodes = [
        Node(
            Metadata(name, labels={"rack": "r1", "model": "h100"}, annotations={LINK_GBIT_S: "400"}),
            {"cpu": 4000, GPU: 8},
            (Taint("gpu", "", "NoSchedule"),),
            name == names[0],
            "10.0.0.1",
        )
        for name in names
    ]
    return draft_of([make_hypernode("leaf", 1, nodes=names)], nodes)


def selecting(name: str, selector: Selector) -> HyperNode:
    return HyperNode(Metadata(name), 1, "", (Member("Node", selector),))


def by_pattern(name: str, pattern: str) -> HyperNode:
    return selecting(name, Selector(pattern=pattern))


def named(*names: str, **fields) -> ClusterObjects:
    """An import as of a fabric file: one other leaf, and nodes without resources."""
    return ClusterObjects.of(
        [make_hypernode("other", 1, nodes=names)], [Node(Metadata(name, **fields), {}) for name in names]
    )


def test_a_node_that_is_only_named_keeps_what_is_known() -> None:
    before = drawn("a", "b")
    after = import_over(before, named("a", "c"))
    kept, new = nodes_of(after)
    assert kept == nodes_of(before)[0]
    assert (new.name, new.allocatable, new.unschedulable) == ("c", {}, False)
    item = after.find("node", "a")
    assert (item.gpus, item.link_gbit_s, item.cordoned, after[item.parent].name) == (8, 400.0, True, "other")


def test_what_was_drawn_by_hand_is_known_too() -> None:
    before = drawn("a", "b")
    before.commit(edits.set_fields(before, [before.find("node", "b").id], {"gpus": 4, "labels": {"x": "y"}}))
    item = import_over(before, named("b")).find("node", "b")
    assert (item.gpus, dict(item.labels)) == (4, {"x": "y"})


def test_labels_are_joined_and_those_of_the_import_win() -> None:
    item = import_over(drawn("a"), named("a", labels={"rack": "r2", "row": "1"})).find("node", "a")
    assert dict(item.labels) == {"rack": "r2", "row": "1", "model": "h100"}


def test_a_node_that_is_described_is_as_described() -> None:
    node = Node(Metadata("a"), {"cpu": 1000, GPU: 2})
    (after,) = nodes_of(import_over(drawn("a"), ClusterObjects.of([make_hypernode("leaf", 1, nodes=["a"])], [node])))
    assert (after.allocatable, after.taints, after.unschedulable) == (node.allocatable, (), False)
    assert after.internal_ip == ""
    assert dict(after.metadata.labels) == {"rack": "r1", "model": "h100"}


@pytest.mark.parametrize(
    ("members", "want"),
    [
        pytest.param([by_pattern("x", "^n1$"), by_pattern("y", "^n2$")], {"n1": "x", "n2": "y"}, id="patterns"),
        pytest.param(
            [selecting("x", Selector(labels=(Requirement("rack", "In", ("r1",)),)))],
            {"n1": "x", "n2": "x", "n3": "x"},
            id="a label selector",
        ),
        pytest.param([make_hypernode("x", 1, nodes=["n1", "new"])], {"n1": "x", "new": "x"}, id="exact names"),
        pytest.param([by_pattern("x", "^ghost")], {}, id="nothing"),
    ],
)
def test_hypernodes_alone_select_among_the_nodes_that_are_drawn(members: list[HyperNode], want: dict[str, str]) -> None:
    after = import_over(drawn("n1", "n2", "n3"), ClusterObjects.of(members, []))
    assert {item.name: after[item.parent].name for item in after if item.kind == "node"} == want
    assert all(after.find("node", name).gpus == (8 if name != "new" else 0) for name in want)
