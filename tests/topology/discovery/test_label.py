"""Node labels to HyperNodes: the rule itself is held to the conformance cases; here names, sharing and stability."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.objects.hypernode import HyperNode, read_hypernode
from workbench.objects.hypernode_manifest import hypernode_manifest
from workbench.topology.build import build_topology
from workbench.topology.discovery.label import discover_label
from workbench.topology.discovery.reconcile import reconcile
from workbench.topology.discovery.result import discovered

TYPES = {"fabric": ("spine", "rack", "host")}

#   s0          s1
#   r0    r1    r2
#   n0 n1 n2    n3
NODES = {
    "n0": {"rack": "r0", "spine": "s0"},
    "n1": {"rack": "r0", "spine": "s0"},
    "n2": {"rack": "r1", "spine": "s0"},
    "n3": {"rack": "r2", "spine": "s1"},
}


def found(types: dict[str, tuple[str, ...]], nodes: dict[str, dict[str, str]], *existing: HyperNode) -> list[HyperNode]:
    hypernodes = discover_label(types, nodes, existing).hypernodes
    assert hypernodes is not None
    return list(hypernodes)


def members(hypernode: HyperNode) -> list[str | None]:
    return [member.selector.exact for member in hypernode.members]


def test_the_tree_of_the_labels() -> None:
    hypernodes = found(TYPES, NODES)
    assert [(h.tier, h.tier_name, len(h.members)) for h in hypernodes] == [
        (1, "rack", 2),
        (1, "rack", 1),
        (1, "rack", 1),
        (2, "spine", 2),
        (2, "spine", 1),
    ]
    topology = build_topology(hypernodes, list(NODES))
    assert topology.ready and not topology.problems


def test_two_types_that_share_a_label_share_its_hypernodes() -> None:
    nodes = {"n0": {"rack": "r0", "row": "w0"}, "n1": {"rack": "r0", "hall": "h0"}}
    hypernodes = found({"b": ("row", "rack", "host"), "a": ("hall", "rack", "host")}, nodes)
    rack, *above = hypernodes
    assert rack.name.startswith("hypernode-a-tier1-") and members(rack) == ["n0", "n1"]
    assert [(h.tier_name, members(h)) for h in above] == [("hall", [rack.name]), ("row", [rack.name])]


def test_letters_beyond_ascii_do_not_get_into_names() -> None:
    assert found({"Röck_1": ("rack", "host")}, NODES)[0].name.startswith("hypernode-r-ck-1-tier1-")


def test_what_volcano_drops_is_noted() -> None:
    result = discover_label({"é" * 11: ("rack", "host"), "t": ("rack", "rack", "host")}, NODES)
    assert result.hypernodes == ()
    assert [note.message.split(":")[1] for note in result.notes] == [
        " its name has more than 20 bytes",
        " it lists a label twice",
    ]


def test_a_name_that_belongs_to_another_is_not_taken() -> None:
    first = found({"t": ("rack", "host")}, {"n0": {"rack": "r0"}})[0].name
    taken = discovered("ufm", first, 1, ["x"], "Node")
    second = found({"t": ("rack", "host")}, {"n0": {"rack": "r0"}}, taken)[0].name
    assert second != first and second.startswith("hypernode-t-tier1-")


def test_twenty_names_that_belong_to_others_are_an_error() -> None:
    taken: list[HyperNode] = []
    for _ in range(20):
        name = found({"t": ("rack", "host")}, {"n0": {"rack": "r0"}}, *taken)[0].name
        taken.append(discovered("ufm", name, 1, ["x"], "Node"))
    assert len({h.name for h in taken}) == 20
    with pytest.raises(InputError, match="rack=r0: no free name"):
        discover_label({"t": ("rack", "host")}, {"n0": {"rack": "r0"}}, taken)


values = st.sampled_from(["", "a", "b", "c"])
labels = st.dictionaries(st.sampled_from(["rack", "spine", "row"]), values)
clusters = st.dictionaries(st.sampled_from([f"n{i}" for i in range(12)]), labels)
types = st.dictionaries(
    st.sampled_from(["x", "Y", "z_"]), st.permutations(["rack", "spine", "row", "host"]).map(tuple), max_size=3
)


@given(types, clusters, st.randoms(use_true_random=False))
def test_the_order_of_types_and_nodes_means_nothing(t, nodes, random: Random) -> None:
    mixed, turned = list(nodes.items()), list(t.items())
    random.shuffle(mixed)
    random.shuffle(turned)
    assert discover_label(dict(turned), dict(mixed)) == discover_label(t, nodes)


@given(types, clusters)
def test_twice_is_no_change(t, nodes) -> None:
    first = found(t, nodes)
    existing = [read_hypernode(hypernode_manifest(h)) for h in first]
    plan = reconcile(discover_label(t, nodes, existing), existing)
    assert (plan.create, plan.update, plan.delete, plan.conflicts) == ((), (), (), ())
    assert len(plan.unchanged) == len(first)


@given(types, clusters, clusters)
def test_hypernodes_keep_their_names_when_nodes_come_and_go(t, before, more) -> None:
    old = found(t, before)
    pairs = {next(iter(h.metadata.labels.items() - {("volcano.sh/network-topology-source", "label")})): h for h in old}
    for new in found(t, {**more, **before}, *old):
        pair = next(iter(new.metadata.labels.items() - {("volcano.sh/network-topology-source", "label")}))
        if pair in pairs and pairs[pair].tier == new.tier and pairs[pair].name.split("-tier")[0] in new.name:
            assert new.name == pairs[pair].name


def test_a_label_that_no_node_has_is_named() -> None:
    nodes = {"a": {"rack": "r1", "kubernetes.io/hostname": "a"}}
    found = discover_label({"fabric": ["spin", "rack", "kubernetes.io/hostname"]}, nodes)
    assert len(found.hypernodes) == 1
    assert [str(note.message) for note in found.notes] == [
        "no node has the label spin: neither it nor a wider label makes HyperNodes"
    ]
    assert discover_label({"fabric": ["rack", "kubernetes.io/hostname"]}, nodes).notes == ()
