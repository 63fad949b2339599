"""A topology as a tree of text: the lines shown, and what is folded."""

from __future__ import annotations

import pytest

from tests.hand_made import document_tree, tree
from tests.report.test_tables import shown
from workbench.errors import InputError, UnknownNameError
from workbench.model.topology import DomainSpec, Problem, Topology
from workbench.report.tree_text import MAX_LINES, topology_tree


def lines(topology: Topology, **options: object) -> list[str]:
    return shown(topology_tree(topology, **options), width=100).splitlines()  # type: ignore[arg-type]


def test_a_small_tree_is_shown_whole_with_its_nodes() -> None:
    assert lines(document_tree())[1:] == [
        "└── s6  tier 3, 8 nodes",
        "    ├── s4  tier 2, 4 nodes",
        "    │   ├── s0  tier 1, 2 nodes: node[0-1]",
        "    │   └── s1  tier 1, 2 nodes: node[2-3]",
        "    └── s5  tier 2, 4 nodes",
        "        ├── s2  tier 1, 2 nodes: node[4-5]",
        "        └── s3  tier 1, 2 nodes: node[6-7]",
    ]


def test_depth_cuts_from_below() -> None:
    assert lines(document_tree(), depth=2)[1:] == [
        "└── s6  tier 3, 8 nodes",
        "    ├── s4  tier 2, 4 nodes in 2 HyperNodes, folded",
        "    └── s5  tier 2, 4 nodes in 2 HyperNodes, folded",
    ]


def test_unfold_shows_one_hypernode_node_by_node_and_the_way_to_it() -> None:
    assert lines(document_tree(), depth=1, unfold=["s2"])[1:] == [
        "└── s6  tier 3, 8 nodes",
        "    └── s5  tier 2, 4 nodes",
        "        └── s2  tier 1, 2 nodes",
        "            ├── node4",
        "            └── node5",
    ]


@pytest.mark.parametrize("sizes", [(4, 40, 20), (2, 3, 5, 7, 11), (1, 500), (50, 8, 8)])
def test_a_large_tree_is_folded_to_a_screen_and_says_what_is_missing(sizes: tuple[int, ...]) -> None:
    topology = tree(sizes)
    found = lines(topology)
    assert len(found) <= MAX_LINES + 1
    assert any("folded" in line or "more:" in line for line in found)


def test_of_many_brothers_the_first_in_natural_order_have_lines() -> None:
    found = lines(tree((2, 30)))
    assert [line.split()[1] for line in found[2:12]] == [f"s{i}" for i in range(10)]
    assert found[12].strip("│ ├└─") == "… and 20 more: s10 … s29, 40 nodes"
    assert len(lines(tree((2, 30)), depth=2)) == 32


def test_nodes_without_a_hypernode_and_nodes_beside_hypernodes_are_told() -> None:
    topology = Topology.build(
        ["a", "b", "c", "x y"],
        [DomainSpec("leaf", 1, [0], "top", "rack"), DomainSpec("top", 2, [0, 1])],
        [Problem("cycle", "s", "s -> [red]s[/red]")],
    )
    assert lines(topology)[1:] == [
        "├── top  tier 2, 2 nodes",
        "│   ├── leaf  tier 1 (rack), 1 node: a",
        "│   └── 1 node directly in top: b",
        "└── 2 nodes in no HyperNode: c, x y",
        "cycle: s -> [red]s[/red]",
    ]


def test_problems_beyond_a_screen_are_counted() -> None:
    problems = [Problem("cycle", "s", f"number {i}") for i in range(45)]
    assert lines(Topology.build(["a"], [], problems))[-1] == "… and 5 more problems (-o json lists all)"


def test_what_cannot_be_shown_is_refused() -> None:
    with pytest.raises(InputError, match="--depth"):
        topology_tree(document_tree(), depth=0)
    with pytest.raises(UnknownNameError, match="did you mean"):
        topology_tree(document_tree(), unfold=["s66"])
