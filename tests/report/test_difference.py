"""Texts of the differences between topologies, in the terminal and in HTML."""

from __future__ import annotations

from tests.hand_made import document_tree, snapshot_of, tree
from tests.report.test_tables import shown
from workbench.model.topology import DomainSpec, Topology
from workbench.report.difference import difference_page, difference_tables
from workbench.topology.diff import diff_topologies

BEFORE = Topology.build(
    ["a", "b", "c", "<d>"],
    [DomainSpec("x", 1, [0, 1], "top"), DomainSpec("y", 1, [2, 3], "top"), DomainSpec("top", 2, range(4))],
)
AFTER = Topology.build(
    ["a", "b", "c", "<d>", "e"],
    [DomainSpec("x", 1, [0], "top"), DomainSpec("y", 1, [1, 2, 3], "top"), DomainSpec("top", 3, range(4))],
)
FOUND = diff_topologies(BEFORE, AFTER)


def test_tables_name_moves_by_leaf_and_end_with_the_counts() -> None:
    text = shown(difference_tables(FOUND))
    assert "Nodes moved" in text and "x     y       1  b" in text
    assert text.endswith("1 node moved, 1 node appeared, 1 tier changed, 2 HyperNodes with other nodes.\n")


def test_nothing_is_said_of_what_is_the_same() -> None:
    assert shown(difference_tables(diff_topologies(BEFORE, BEFORE))) == "The topologies are the same.\n"


def test_long_lists_are_cut_and_counted() -> None:
    text = shown(difference_tables(diff_topologies(document_tree(), tree((2, 60)))))
    assert "… and " in text and "(-o json lists all)" in text


def test_a_notebook_shows_it_and_a_page_shows_both_pictures() -> None:
    fragment = FOUND._repr_html_()
    assert fragment is not None and "Nodes moved" in fragment and "<svg" not in fragment
    page = difference_page(FOUND, snapshot_of(BEFORE), snapshot_of(AFTER), "old <1>", "new")
    assert page.startswith("<!DOCTYPE html>") and page.count("class='tw-topology'") == 2
    assert "before: old &lt;1&gt;" in page and "&lt;d&gt;" in page and "<d>" not in page
