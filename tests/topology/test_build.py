"""The document's tree, which most tests use:

        tier 3                 s6
                        /             \\
        tier 2        s4               s5
                    /    \\           /    \\
        tier 1    s0      s1        s2      s3
                node0-1 node2-3  node4-5  node6-7
"""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.objects.hypernode import HyperNode, Member
from workbench.objects.metadata import Metadata
from workbench.objects.selectors import Selector, read_label_selector
from workbench.topology.build import ResolvedTree, build_topology, resolve_tree

NODES = [f"node{i}" for i in range(8)]


def hypernode(name: str, tier: int, *members: str) -> HyperNode:
    """Members: ``s1`` a HyperNode, ``node1`` a node, ``~^n`` nodes by pattern, ``%a=b`` nodes by label."""
    return HyperNode(Metadata(name), tier, "", tuple(_member(m) for m in members))


def _member(text: str) -> Member:
    if text[0] == "~":
        return Member("Node", Selector(pattern=text[1:]))
    if text[0] == "%":
        key, _, value = text[1:].partition("=")
        return Member("Node", Selector(labels=read_label_selector({"matchLabels": {key: value}}, "")))
    return Member("Node" if text.startswith("node") else "HyperNode", Selector(exact=text))


TREE = [
    hypernode("s6", 3, "s4", "s5"),
    hypernode("s4", 2, "s0", "s1"),
    hypernode("s5", 2, "s2", "s3"),
    *(hypernode(f"s{i}", 1, f"node{2 * i}", f"node{2 * i + 1}") for i in range(4)),
]


def test_the_documents_tree() -> None:
    topology = build_topology(TREE, NODES)
    assert topology.ready and topology.laminar and not topology.problems
    assert topology.domain_names == tuple(f"s{i}" for i in range(7))
    assert {n: topology.domain_name(int(p)) for n, p in zip(topology.domain_names[:6], topology.parent)} == {
        "s0": "s4", "s1": "s4", "s2": "s5", "s3": "s5", "s4": "s6", "s5": "s6",
    }  # fmt: skip
    assert topology.parent[6] == -1
    assert [topology.node_names[i] for i in topology.nodes_of(topology.domain("s5"))] == NODES[4:]
    assert topology.tier.tolist() == [1, 1, 1, 1, 2, 2, 3]


def real_nodes(tree: ResolvedTree) -> dict[str, set[str]]:
    """Names of the nodes under each HyperNode, also names that no node of the cluster has, as Volcano keeps them."""
    return {name: {tree.names[i] for i in nodes} for name, nodes in tree.nodes.items()}


def test_the_order_of_objects_does_not_matter() -> None:
    want = resolve_tree(TREE, NODES)
    for seed in range(20):
        shuffled = random.Random(seed).sample(TREE, len(TREE))
        found = resolve_tree(shuffled, NODES)
        assert real_nodes(found) == real_nodes(want)
        assert found.parent == want.parent


def test_unknown_nodes_are_kept_by_name_and_dropped_from_the_topology() -> None:
    tree = resolve_tree([hypernode("s1", 2, "s0"), hypernode("s0", 1, "node0", "node9")], NODES[:2])
    assert real_nodes(tree) == {"s0": {"node0", "node9"}, "s1": {"node0", "node9"}}
    topology = build_topology([hypernode("s1", 2, "s0"), hypernode("s0", 1, "node0", "node9")], NODES[:2])
    assert topology.nodes_of(topology.domain("s1")).tolist() == [topology.node("node0")]
    assert topology.ready
    (problem,) = topology.problems
    assert (problem.code, problem.domain) == ("dangling-member", "s0")
    assert "node9" in problem.message


def test_patterns_and_labels_select_nodes() -> None:
    labels = [{"rack": "a"} if i < 3 else {} for i in range(8)]
    tree = resolve_tree([hypernode("x", 1, "~[67]$", "node7"), hypernode("y", 1, "%rack=a")], NODES, labels)
    assert real_nodes(tree) == {"x": {"node6", "node7"}, "y": {"node0", "node1", "node2"}}


def test_a_hypernode_member_by_pattern_is_ignored() -> None:
    parent = HyperNode(Metadata("s1"), 2, "", (Member("HyperNode", Selector(pattern="s0")),))
    tree = resolve_tree([hypernode("s0", 1, "node0"), parent], NODES)
    assert tree.parent == {}
    assert real_nodes(tree)["s1"] == set()
    assert [p.code for p in tree.problems] == ["empty-member"]


@pytest.mark.parametrize(
    ("hypernodes", "want_codes", "want_ready", "want_text"),
    [
        pytest.param(
            [hypernode("a", 1, "node0"), hypernode("p", 2, "a"), hypernode("q", 3, "a")],
            ["two-parents"],
            False,
            "a already has a parent p, and cannot have another parent q",
            id="two parents",
        ),
        pytest.param(
            [hypernode("a", 1, "c", "node0"), hypernode("b", 2, "a"), hypernode("c", 3, "b")],
            ["cycle", "tier-order"],
            False,
            "a -> c -> b -> a",
            id="a cycle",
        ),
        pytest.param([hypernode("a", 1, "a", "node0")], ["cycle"], False, "a -> a", id="its own member"),
        pytest.param([hypernode("a", 2, "ghost")], ["dangling-member"], True, "ghost", id="an unknown HyperNode"),
        pytest.param([hypernode("a", 1)], ["empty-member"], True, "a has no member", id="no member"),
        pytest.param([hypernode("a", 1, "~^nothing")], ["empty-member"], True, "a has no", id="nothing matches"),
        pytest.param(
            [hypernode("a", 1, "node0", "node1"), hypernode("b", 1, "node1", "node2")],
            ["overlap"],
            True,
            "a and b share node node1",
            id="an overlap",
        ),
        pytest.param(
            [hypernode("a", 2, "node0"), hypernode("b", 2, "a")], ["tier-order"], True, "tier 2", id="no lower tier"
        ),
        pytest.param(
            [hypernode("a", 1, "node0"), hypernode("b", 2, "a", "node0", "node1")], [], True, "", id="nested is fine"
        ),
    ],
)
def test_what_is_no_tree(hypernodes: list[HyperNode], want_codes: list[str], want_ready: bool, want_text: str) -> None:
    for order in itertools.permutations(hypernodes):
        topology = build_topology(order, NODES)
        assert sorted(p.code for p in topology.problems) == want_codes
        assert topology.ready is want_ready
        assert want_text in " ".join(p.message for p in topology.problems)


def test_a_cut_link_adds_no_nodes() -> None:
    tree = resolve_tree([hypernode("a", 1, "node0"), hypernode("p", 2, "a"), hypernode("q", 2, "a", "node1")], NODES)
    assert real_nodes(tree) == {"a": {"node0"}, "p": {"node0"}, "q": {"node1"}}
    assert tree.parent == {"a": "p"}


names = [f"h{i}" for i in range(6)]
anything = st.lists(
    st.tuples(st.integers(0, 4), st.lists(st.sampled_from([*names, *NODES, "node99", "ghost"]), max_size=5)),
    max_size=6,
)


@given(anything)
def test_whatever_is_declared_a_forest_comes_out(declared: list[tuple[int, list[str]]]) -> None:
    hypernodes = [
        HyperNode(
            Metadata(name),
            tier,
            "",
            tuple(Member("HyperNode" if m[0] in "hg" else "Node", Selector(exact=m)) for m in members),
        )
        for name, (tier, members) in zip(names, declared)
    ]
    topology = build_topology(hypernodes, NODES)
    assert sorted(topology.node_names) == NODES
    for domain in range(topology.n_domains):
        parent = int(topology.parent[domain])
        chain = [domain]
        while parent >= 0:
            assert parent not in chain
            chain.append(parent)
            parent = int(topology.parent[parent])
        inside = set(topology.nodes_of(domain).tolist())
        assert inside <= set(topology.nodes_of(int(topology.parent[domain])).tolist())
        own = {m for m in declared[names.index(topology.domain_names[domain])][1] if m in NODES}
        assert {topology.node(name) for name in own} <= inside
    # Exactly what upstream calls an error makes the tree unready.
    assert topology.ready == (not {"cycle", "two-parents"} & {p.code for p in topology.problems})
