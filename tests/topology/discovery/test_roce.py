"""Links of an Ethernet fabric to HyperNodes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.notices import said
from workbench.errors import InputError
from workbench.objects.names import is_subdomain
from workbench.topology.build import build_topology
from workbench.topology.discovery.reconcile import reconcile
from workbench.topology.discovery.roce import RoceLink, discover_roce, read_roce_links


def down(leaf: str, *nodes: str) -> list[dict[str, str]]:
    return [{"leaf": leaf, "node": node} for node in nodes]


def up(leaf: str, *spines: str) -> list[dict[str, str]]:
    return [{"leaf": leaf, "spine": spine} for spine in spines]


def shown(*links: list[dict[str, str]]) -> dict[str, tuple[int, list[str | None]]]:
    hypernodes = discover_roce(read_roce_links({"version": 1, "links": [x for some in links for x in some]})).hypernodes
    assert hypernodes is not None
    return {h.name: (h.tier, [m.selector.exact for m in h.members]) for h in hypernodes}


def test_two_rails_and_two_pods() -> None:
    """
    spine0 spine1     spine2
      |   x   |         |
    rail0  rail1      tor0
      |   x   |         |
      n0      n1        n2
    """
    assert shown(
        down("rail0", "n0", "n1"),
        down("rail1", "n0", "n1"),
        up("rail0", "spine0", "spine1"),
        up("rail1", "spine0", "spine1"),
        down("tor0", "n2"),
        up("tor0", "spine2"),
    ) == {
        "roce-leaf-rail0": (1, ["n0", "n1"]),
        "roce-leaf-tor0": (1, ["n2"]),
        "roce-spine-spine0": (2, ["roce-leaf-rail0"]),
        "roce-spine-spine2": (2, ["roce-leaf-tor0"]),
    }


def test_leaves_under_common_spines_are_one_domain_of_tier_2() -> None:
    found = shown(down("a", "n0"), down("b", "n1"), down("c", "n2"), up("a", "s0"), up("b", "s0", "s1"), up("c", "s1"))
    assert found["roce-spine-s0"] == (2, ["roce-leaf-a", "roce-leaf-b", "roce-leaf-c"])
    assert len(found) == 4


def test_a_leaf_without_a_spine_and_a_leaf_without_a_node() -> None:
    assert shown(down("a", "n0"), up("b", "s0")) == {"roce-leaf-a": (1, ["n0"])}
    links = read_roce_links({"version": 1, "links": [*down("a", "n0"), *up("b", "s0")]})
    assert said(discover_roce(links).notes) == ("leaves without nodes are left out: 1",)


def test_no_link_is_an_empty_result() -> None:
    assert discover_roce(read_roce_links({"version": 1, "links": []})).hypernodes == ()


@pytest.mark.parametrize("name", ["Leaf_01", "eth 1/1", "ÅÄÖ", "x" * 300, "--", ".", "\x1b[31m"])
def test_a_switch_name_that_no_object_can_have_becomes_one(name: str) -> None:
    (hypernode,) = shown(down(name, "n0"))
    assert is_subdomain(hypernode) and len(hypernode) <= 253
    assert {hypernode} != set(shown(down(name + "!", "n0")))


def test_a_name_stays_when_another_group_comes() -> None:
    before = shown(down("leaf5", "n5"), down("leaf7", "n7"))
    assert before.items() <= shown(down("leaf0", "n0"), down("leaf5", "n5"), down("leaf7", "n7")).items()


name = st.sampled_from("abcdef")
links = st.lists(
    st.builds(RoceLink, leaf=name.map("leaf-{}".format), node=name.map("node-{}".format))
    | st.builds(RoceLink, leaf=name.map("leaf-{}".format), spine=name.map("spine-{}".format)),
    max_size=30,
)


@given(links, st.randoms(use_true_random=False))
def test_any_fabric_is_a_forest_whatever_the_order_and_twice_is_no_change(given_links, random) -> None:
    result = discover_roce(given_links)
    assert result.hypernodes is not None
    nodes = sorted({link.node for link in given_links if link.node})
    topology = build_topology(result.hypernodes, nodes)
    assert topology.ready and not topology.problems and topology.laminar
    random.shuffle(given_links)
    assert discover_roce(given_links) == result
    plan = reconcile(result, result.hypernodes)
    assert (plan.create, plan.update, plan.delete) == ((), (), ())


BAD: dict[str, tuple[Any, str]] = {
    "a list": ([], "the document: wrong type"),
    "no version": ({"links": []}, "version: the field is missing (found nothing, expected 1)"),
    "another version": ({"version": 2, "links": []}, "version: wrong type or value (found a number 2, expected 1)"),
    "a true version": ({"version": True, "links": []}, "version: wrong"),
    "no links": ({"version": 1}, "links: the field is missing"),
    "links of nodes": (
        {"version": 1, "links": [{"node": "n0", "spine": "s0"}]},
        "links[0]: no link (found node, spine",
    ),
    "three ends": ({"version": 1, "links": [{"node": "n0", "leaf": "l", "spine": "s"}]}, "links[0]: no link"),
    "an empty link": ({"version": 1, "links": [{}]}, "(found neither node, leaf nor spine, expected node and leaf, or"),
    "a number": ({"version": 1, "links": [{"node": 5, "leaf": "l"}]}, "links[0].node: wrong type"),
    "no node of Kubernetes": ({"version": 1, "links": down("l", "Node_1")}, "links[0].node: wrong type or value"),
    "two roles": ({"version": 1, "links": [*down("l", "n"), *up("x", "l")]}, "links[1]: one name in two roles"),
}


@pytest.mark.parametrize(("data", "want"), BAD.values(), ids=BAD.keys())
def test_what_is_no_list_of_links_is_named(data: Any, want: str) -> None:
    with pytest.raises(InputError) as error:
        read_roce_links(data)
    assert want in str(error.value)
