"""Scores by hand; upstream's own rows are in the conformance cases."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fabrics import document_tree, snapshot
from workbench.policies.volcano.hypernode_scores import (
    HyperNodeParameters,
    best,
    count_inside,
    fading_weights,
    share_of_ties,
    utilisation,
    weights_of_resources,
)


def longs(*rows):
    return np.array(rows, dtype=np.int64)


def test_how_full_a_hypernode_becomes():
    used, allocatable = longs([1, 0, 5], [4, 2, 0], [0, 0, 0]), longs([4, 4, 9], [4, 4, 9], [0, 4, 9])
    weights = np.array([1.0, 3.0, 0.0])
    # 2/4 and 2/4; the second and the third have no room for one more of the first resource.
    assert utilisation(used, allocatable, longs(1, 2, 7), weights).tolist() == [0.5, 0.0, 0.0]
    # Only what is asked for and has a weight counts: (0 + 1) / 4.
    assert utilisation(used, allocatable, longs(0, 1, 7), weights).tolist() == [0.25, 0.75, 0.25]
    assert utilisation(used, allocatable, longs(0, 0, 7), weights).tolist() == [0.0, 0.0, 0.0]


def test_only_a_shared_maximum_counts_the_tasks_inside():
    assert share_of_ties(np.array([0.5, 0.5, 0.2]), longs(1, 3, 9), 4).tolist() == [0.75, 1.25, 0.2]
    assert share_of_ties(np.array([0.5, 0.4]), longs(1, 3), 4).tolist() == [0.5, 0.4]
    assert share_of_ties(np.array([0.5]), longs(1), 4).tolist() == [0.5]


def test_the_first_of_several_best():
    assert best(np.array([0.1, 0.7, 0.7])) == 1
    assert best(np.zeros(0)) == -1


@pytest.mark.parametrize(
    ("fading", "want"),
    [(0.5, [(1, 1.0), (2, 0.5), (3, 0.25), (4, 0.125)]), (0.0, [(1, 1.0), (2, 0.0), (3, 0.0), (4, 0.0)])],
)
def test_wider_tiers_count_less(fading, want):
    assert fading_weights(document_tree().topology, fading) == want


def test_without_fading_the_lowest_tier_counts_where_it_is_below_one():
    topology = snapshot(["a"], [("x", 0, ["a"], "y"), ("y", 1, ["a"], "")]).topology
    assert fading_weights(topology, 0.0) == [(0, 1.0), (1, 0.0), (2, 0.0)]
    assert fading_weights(snapshot(["a"]).topology, 0.5) == [(1, 1.0)]


def test_weights_of_listed_resources():
    parameters = HyperNodeParameters(hypernode_binpack_cpu=2, hypernode_binpack_resources={"nvidia.com/gpu": 5})
    assert weights_of_resources(parameters, ("cpu", "memory", "pods", "nvidia.com/gpu")).tolist() == [2, 1, 0, 5]


def test_pods_are_counted_in_every_hypernode_around_them():
    topology = document_tree().topology
    domains = np.array([topology.domain("s0"), topology.domain("s4"), -1], dtype=np.int32)
    assert count_inside(topology, domains, np.array([0, 1, 2, 7, -1], dtype=np.int32)).tolist() == [2, 3, 4]
