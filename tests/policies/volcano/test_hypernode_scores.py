"""Scores by hand; upstream's own rows are in the conformance cases."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fabrics import document_tree, snapshot
from workbench.policies.volcano.hypernode_scores import (
    HyperNodeParameters,
    fading_weights,
    weights_of_resources,
)
from workbench.policies.volcano.scores import best


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
