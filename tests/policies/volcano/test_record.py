from __future__ import annotations

from tests.fabrics import document_tree, snapshot
from workbench.model.topology import TOP
from workbench.policies.volcano.v1_13.hard_search import NO_RECORD, UNKNOWN_RECORD, read_record, to_score, widen

TOPOLOGY = document_tree().topology


def test_a_record_is_read_by_name():
    assert read_record("", TOPOLOGY) == NO_RECORD
    assert read_record("gone", TOPOLOGY) == UNKNOWN_RECORD
    assert read_record("s4", TOPOLOGY) == TOPOLOGY.domain("s4")


def test_no_record_an_unknown_one_and_the_virtual_top_are_told_apart():
    assert len({NO_RECORD, UNKNOWN_RECORD, TOP}) == 3
    assert [to_score(record) for record in (NO_RECORD, UNKNOWN_RECORD, 0)] == [NO_RECORD, TOP, 0]


def test_it_widens_to_the_lowest_common_hypernode():
    s0, s1, s3 = (TOPOLOGY.domain(name) for name in ("s0", "s1", "s3"))
    assert widen(NO_RECORD, s0, TOPOLOGY) == s0
    assert TOPOLOGY.domain_name(widen(s0, s1, TOPOLOGY)) == "s4"
    assert TOPOLOGY.domain_name(widen(s0, s3, TOPOLOGY)) == "s6"
    assert widen(s0, s0, TOPOLOGY) == s0


def test_two_trees_have_no_common_hypernode_in_1_13():
    trees = snapshot(["a", "b"], [("x", 1, ["a"], ""), ("y", 1, ["b"], "")]).topology
    assert widen(trees.domain("x"), trees.domain("y"), trees) == NO_RECORD
