"""Gradients of HyperNodes, on the tree of the document (drawn in tests/fabrics.py)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fabrics import document_tree
from workbench.kernels.domains import NO_RECORD
from workbench.model.topology import DomainSpec, Topology
from workbench.policies.volcano.parts.gradients import V1_13, Gradients, large_enough

TOPOLOGY = document_tree().topology


def names(gradients):
    return [(tier, [TOPOLOGY.domain_name(d) for d in domains.tolist()]) for tier, domains in gradients]


def domain(name):
    return TOPOLOGY.domain(name) if name else NO_RECORD


TOP = "<cluster-top-hypernode>"

CASES = {
    "not hard: the given HyperNode alone": (TOP, "", None, [(4, [TOP])]),
    "from the top, closest first": (TOP, "", 2, [(1, ["s0", "s1", "s2", "s3"]), (2, ["s4", "s5"])]),
    "the top itself where its tier is allowed": (
        TOP,
        "",
        4,
        [(1, ["s0", "s1", "s2", "s3"]), (2, ["s4", "s5"]), (3, ["s6"]), (4, [TOP])],
    ),
    "inside a HyperNode": ("s5", "", 9, [(1, ["s2", "s3"]), (2, ["s5"])]),
    "near the record": (TOP, "s2", 2, [(1, ["s2", "s3"]), (2, ["s5"])]),
    "the record's own leaf": (TOP, "s2", 1, [(1, ["s2"])]),
    "a HyperNode inside what the record allows": ("s2", "s3", 3, [(1, ["s2"])]),
    "a HyperNode beside the record": ("s4", "s3", 2, []),
    "a record above the allowed tier": (TOP, "s5", 1, []),
    "a record at the top that is allowed": ("s0", TOP, 4, [(1, ["s0"])]),
    "a record at the top that is not": ("s0", TOP, 3, []),
    "no tier that low": (TOP, "", 0, []),
}


@pytest.mark.parametrize(("given", "record", "highest", "want"), CASES.values(), ids=CASES.keys())
def test_gradients(given, record, highest, want):
    assert names(Gradients(TOPOLOGY).of(domain(given), domain(record), highest)) == want


def test_small_hypernodes_are_left_out_unless_there_is_a_record():
    large = np.zeros(TOPOLOGY.n_domains + 1, dtype=np.bool_)
    large[[domain("s1"), domain("s4")]] = True
    gradients = Gradients(TOPOLOGY)
    assert names(gradients.of(-1, NO_RECORD, 3, large)) == [(1, ["s1"]), (2, ["s4"])]
    assert names(gradients.of(-1, domain("s2"), 1, large)) == [(1, ["s2"])]


CASES_OF_1_13 = {
    "never the top": (TOP, "", 4, [(1, ["s0", "s1", "s2", "s3"]), (2, ["s4", "s5"]), (3, ["s6"])]),
    "near the record": (TOP, "s2", 2, [(1, ["s2", "s3"]), (2, ["s5"])]),
    "the record's own leaf": (TOP, "s2", 1, [(1, ["s2"])]),
    "a record above the allowed tier": (TOP, "s5", 1, []),
    "no tier that low": (TOP, "", 0, []),
}


@pytest.mark.parametrize(("given", "record", "highest", "want"), CASES_OF_1_13.values(), ids=CASES_OF_1_13.keys())
def test_gradients_of_1_13(given, record, highest, want):
    assert names(Gradients(TOPOLOGY, V1_13).of(domain(given), domain(record), highest)) == want


def test_releases_differ_where_a_hypernode_is_inside_one_of_a_lower_tier():
    """On the way up from a, Volcano 1.15 stops at b, whose tier is too high; in 1.13 a and d meet in c."""
    specs = [
        DomainSpec("a", 1, [0], "b"),
        DomainSpec("b", 3, [0], "c"),
        DomainSpec("c", 2, [0, 1]),
        DomainSpec("d", 1, [1], "c"),
    ]
    topology = Topology.build(["n0", "n1"], specs)

    def found(*rule):
        gradients = Gradients(topology, *rule).of(-1, topology.domain("a"), 2)
        return [(tier, [topology.domain_name(d) for d in domains.tolist()]) for tier, domains in gradients]

    assert found() == [(1, ["a"])]
    assert found(V1_13) == [(1, ["a", "d"]), (2, ["c"])]


def test_large_enough_in_every_resource():
    idle = np.array([[2, 5], [3, 1], [3, 2]], dtype=np.int64)
    assert large_enough(idle, np.array([3, 2])).tolist() == [False, False, True]
