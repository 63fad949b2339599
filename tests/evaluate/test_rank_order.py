"""Ranks along the tree of HyperNodes against every other order of ranks."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from tests.fabrics import document_tree
from tests.hand_made import placement_of
from workbench.evaluate.facts import JobFacts
from workbench.evaluate.rank_order import rank_order
from workbench.model.gang import Gang, Role
from workbench.model.placement import Placement

CLUSTER = document_tree()
TREE = CLUSTER.topology


def placed(nodes: list[int], rank: list[int] | None = None) -> Placement:
    gang = Gang("default", "train", (Role("worker", len(nodes), {"cpu": 1}),), len(nodes))
    return placement_of(gang, TREE, nodes, rank=rank)


def crossings(nodes: list[int]) -> dict[str, int]:
    """The metric of the product for pods whose ranks are their positions."""
    return JobFacts(placed(nodes, list(range(len(nodes)))), CLUSTER).ring_crossings


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 40))])
def test_no_other_order_leaves_hypernodes_less_often(seed: int) -> None:
    draw = np.random.default_rng(seed)
    nodes = draw.integers(TREE.n_nodes, size=draw.integers(1, 7)).tolist()
    rank = draw.permutation(len(nodes)).tolist() if seed % 2 else None
    order = rank_order(placed(nodes, rank))
    ring = [nodes[i] for i in np.argsort(rank)] if rank else nodes
    assert order.before == crossings(ring)
    assert order.after == crossings([TREE.node(name) for name in order.nodes])
    keys = list(order.after)
    for first in range(1, len(keys)):
        farther = keys[first:]
        best = min(sum(crossings(list(other))[key] for key in farther) for other in set(permutations(nodes)))
        assert sum(order.after[key] for key in farther) == best, farther


def test_rank_0_stays_and_pods_of_one_node_keep_their_order() -> None:
    order = rank_order(placed([5, 0, 5, 1, 0]))
    assert order.pods == ("train-worker-0", "train-worker-2", "train-worker-1", "train-worker-4", "train-worker-3")
    assert order.ranks_before == (0, 2, 1, 4, 3) and order.changed
    assert [one["rank_before"] for one in order.to_dict()["pods"]] == [0, 2, 1, 4, 3]


def test_an_order_that_is_right_already_and_a_single_pod_change_nothing() -> None:
    assert not rank_order(placed([0, 0, 1, 2])).changed
    alone = rank_order(placed([3]))
    assert not alone.changed and set(alone.after.values()) == {0}


def test_pods_without_a_node_have_no_rank() -> None:
    order = rank_order(placed([4, -1, 0]))
    assert order.pods == ("train-worker-0", "train-worker-2")
