"""Records from running pods; the tree is the document's (drawn in tests/fabrics.py)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fabrics import document_tree, snapshot
from workbench.kernels.domains import NO_RECORD
from workbench.policies.volcano.v1_15.search_query import common_hypernode, join, recover

TREE = document_tree().topology


@pytest.mark.parametrize(
    ("nodes", "want"),
    [([0, 1], "s0"), ([0], "s0"), ([0, 3], "s4"), ([0, 7], "s6"), ([2, 2], "s1")],
    ids=["a leaf", "one pod", "a block", "the root", "two pods of a node"],
)
def test_the_lowest_hypernode_that_holds_all_pods(nodes, want):
    assert TREE.domain_name(recover(np.array(nodes, dtype=np.int32), TREE)) == want


def test_no_pod_or_a_pod_on_an_unknown_node_leaves_no_record():
    assert recover(np.zeros(0, dtype=np.int32), TREE) == NO_RECORD
    assert recover(np.array([0, -1], dtype=np.int32), TREE) == NO_RECORD


def test_nodes_of_no_common_hypernode_meet_in_the_virtual_top():
    loose = snapshot(["a", "b", "c"], [("h", 1, ["a"], ""), ("i", 1, ["b"], "")]).topology
    both = np.array([loose.node("a"), loose.node("b")], dtype=np.int32)
    assert recover(both, loose) == -1
    assert recover(np.array([loose.node("c")], dtype=np.int32), loose) == -1


def test_of_equal_tiers_the_smallest_name():
    twice = snapshot(["a"], [("y", 1, ["a"], ""), ("x", 1, ["a"], "")]).topology
    assert twice.domain_name(recover(np.array([0], dtype=np.int32), twice)) == "x"


def test_a_record_of_the_session_before_stays_while_pods_run():
    s4 = TREE.domain("s4")
    assert recover(np.array([0], dtype=np.int32), TREE, s4) == s4
    assert recover(np.zeros(0, dtype=np.int32), TREE, s4) == NO_RECORD


def test_joining():
    s0, s1, s4, s6 = (TREE.domain(name) for name in ("s0", "s1", "s4", "s6"))
    assert join(NO_RECORD, s1, TREE) == join(s1, NO_RECORD, TREE) == s1
    assert join(s0, s1, TREE) == s4
    assert join(-1, s0, TREE) == -1
    assert common_hypernode([s0, NO_RECORD, TREE.domain("s3")], TREE) == s6
    assert common_hypernode([], TREE) == NO_RECORD
