"""Scores by hand; upstream's own rows are in the conformance cases."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fabrics import document_tree, snapshot
from workbench.errors import CapacityError, InputError
from workbench.policies.volcano.parts.scores import best
from workbench.policies.volcano.v1_15.hypernode_scores import (
    HyperNodeParameters,
    fading_weights,
    weights_of_resources,
)


def test_the_first_of_several_best():
    assert best(np.array([0.1, 0.7, 0.7])) == 1
    assert best(np.zeros(0)) == -1


@pytest.mark.parametrize(
    ("fading", "want"),
    [(0.5, [(1, 1.0), (2, 0.5), (3, 0.25), (4, 0.125)]), (0.0, [(1, 1.0)])],
)
def test_wider_tiers_count_less(fading, want):
    assert fading_weights(document_tree().topology, fading) == want


def test_without_fading_the_lowest_tier_counts_where_it_is_below_one():
    topology = snapshot(["a"], [("x", 0, ["a"], "y"), ("y", 1, ["a"], "")]).topology
    assert fading_weights(topology, 0.0) == [(0, 1.0)]
    assert fading_weights(snapshot(["a"], [("x", 2, ["a"], "")]).topology, 0.0) == [(2, 0.0)]
    assert fading_weights(snapshot(["a"]).topology, 0.5) == [(1, 1.0)]


def far_apart(lowest, highest):
    return snapshot(["a"], [("x", lowest, ["a"], "y"), ("y", highest, ["a"], "")]).topology


def test_tiers_that_weigh_nothing_are_left_out():
    found = fading_weights(far_apart(1, 2**31 - 1), 0.5)
    assert found == [(tier, 0.5 ** (tier - 1)) for tier in range(1, 1076)]
    assert found[-1][1] > 0.0 == 0.5**1075
    assert fading_weights(far_apart(5000, 5001), 0.5) == [(5000, 0.0)]
    assert len(fading_weights(far_apart(-2000, 2), 1.5)) == 2004


@pytest.mark.parametrize(("lowest", "highest", "fading"), [(-5000, 1, 0.8), (1, 5000, 1.5), (1, 3, 1e200)])
def test_fading_without_a_finite_sum_is_refused(lowest, highest, fading):
    with pytest.raises(InputError, match=f"normal_pod_fading: .*from {lowest - 1} to {highest} have a finite sum"):
        fading_weights(far_apart(lowest, highest), fading)


def test_too_many_tiers_that_count_are_refused():
    assert len(fading_weights(far_apart(1, 99_999), 1.0)) == 100_000
    with pytest.raises(CapacityError, match="100001 tier numbers from 1 to the virtual top's 100001"):
        fading_weights(far_apart(1, 100_000), 1.0)


def test_weights_of_listed_resources():
    parameters = HyperNodeParameters(hypernode_binpack_cpu=2, hypernode_binpack_resources={"nvidia.com/gpu": 5})
    assert weights_of_resources(parameters, ("cpu", "memory", "pods", "nvidia.com/gpu")).tolist() == [2, 1, -1, 5]
