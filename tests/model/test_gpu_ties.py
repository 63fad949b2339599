"""Ties between sets of GPUs, broken by NUMA node; against every subset written out."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tests.choice import choices
from tests.reference.bottleneck import chosen_subset, left_over, optimal_subsets, pairs, random_machine
from workbench.model import gpu_ties
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.best_gpus import best_gpus
from workbench.model.machine_parts import MachineParts
from workbench.model.pod_gpus import split_gpus
from workbench.policies.gpu.base import NodeGpus
from workbench.policies.gpu.bottleneck import BottleneckParameters, GpuBottleneck


def machine(numa: str, gb_s: float = 10.0) -> BandwidthMatrix:
    """A machine whose pairs are all alike; `numa` has a digit per GPU."""
    n = len(numa)
    return BandwidthMatrix(np.full((n, n), gb_s), parts=MachineParts(numa=tuple(numa)))


@pytest.mark.parametrize(
    ("numa", "k", "asked", "want"),
    [
        ("00001111", 2, {"free": [3, 4, 5]}, (4, 5)),
        ("0011", 2, {"require": [3]}, (2, 3)),
        ("00001111", 4, {"free": [0, 1, 2, 4, 5, 6, 7]}, (4, 5, 6, 7)),
        ("01230123", 4, {}, (0, 1, 4, 5)),
        ("0123", 2, {"avoid": [0]}, (1, 2)),
        ("00001111", 5, {"require": [4]}, (0, 1, 2, 3, 4)),
        ("00001111", 1, {}, (0,)),
        ("000011112222", 6, {"require": [11]}, (0, 1, 2, 3, 8, 11)),
    ],
)
def test_the_fewest_numa_nodes_are_taken_among_ties(
    numa: str, k: int, asked: dict[str, list[int]], want: tuple[int, ...]
) -> None:
    found = best_gpus(machine(numa), k, **asked)  # type: ignore[arg-type]
    assert found.gpus == want
    assert found.gpus in found.ties
    assert found.tie_break_complete
    assert found.bottleneck_gb_s == (10.0 if k > 1 else float("inf"))


def test_bandwidth_comes_before_numa_nodes() -> None:
    matrix = machine("0011")
    gb_s = matrix.gb_s.copy()
    gb_s[1, 2] = gb_s[2, 1] = 11.0
    assert best_gpus(replace(matrix, gb_s=gb_s), 2).gpus == (1, 2)


@pytest.mark.parametrize("numa", ["0000", "00-1", ("0", "0", "N/A", "1"), ("0", "0", "-1", "1"), ()])
def test_nodes_that_are_not_known_of_every_gpu_decide_nothing(numa: tuple[str, ...]) -> None:
    parts = MachineParts(numa=tuple(numa))
    matrix = BandwidthMatrix(np.full((4, 4), 10.0), parts=parts)
    assert best_gpus(matrix, 2, free=[1, 2, 3]).gpus == (1, 2)


@given(rng=choices())
def test_the_order_of_ties_is_that_of_decision_1(rng: random.Random) -> None:
    n, classes = rng.randint(2, 7), rng.choice([None, 2])
    weight, _ = random_machine(rng, n, rng.randint(1, 3))
    numa = tuple(str(rng.randrange(rng.randint(1, 4))) for _ in range(n))
    matrix = BandwidthMatrix(weight, parts=MachineParts(numa=numa))
    link_class = matrix.link_classes() if classes else None
    k = rng.randint(1, n)
    free = rng.sample(range(n), rng.randint(k, n))
    require = rng.sample(free, rng.randint(0, min(k, 2)))
    want = min(
        optimal_subsets(weight, free, k, require, link_class),
        key=lambda s: (
            len({numa[gpu] for gpu in s}),
            tuple(-x for x in left_over(weight, link_class, free, s)),
            tuple(-x for x in pairs(weight, s)),
            s,
        ),
    )
    found = best_gpus(matrix, k, free=free, require=require, link_classes=bool(classes))
    assert found.gpus == want
    if len(set(numa)) == 1:
        assert want == chosen_subset(weight, free, k, require, link_class)
    if k > 1:
        slow = min(itertools.combinations(want, 2), key=lambda pair: (weight[pair], pair))
        assert found.bottleneck_pair == slow


def test_many_ties_are_searched_node_by_node() -> None:
    found = best_gpus(machine("01" * 24), 8)
    assert {gpu % 2 for gpu in found.gpus} == {0}
    assert len(found.ties) == 100
    assert found.gpus in found.ties
    assert not found.tie_break_complete


def test_a_list_of_ties_that_is_cut_off_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    want = best_gpus(machine("01010101"), 3)
    assert (want.gpus, want.tie_break_complete) == ((0, 2, 4), True)
    monkeypatch.setattr(gpu_ties, "_MOST_TIES", 2)
    found = best_gpus(machine("01010101"), 3)
    assert (found.gpus, found.tie_break_complete) == ((0, 2, 4), False)
    monkeypatch.setattr(gpu_ties, "_MOST_UNIONS", 0)
    assert best_gpus(machine("01010101"), 3).gpus == (0, 1, 2)


def test_pods_are_kept_inside_numa_nodes_where_nothing_else_tells_them_apart() -> None:
    assert split_gpus(machine("01010101"), [2, 2]).pods == ((0, 2), (4, 6))
    assert split_gpus(machine("00001111"), [2, 2], free=[2, 3, 4, 5, 6]).pods == ((2, 3), (4, 5))


@pytest.mark.parametrize(("requests", "want"), [((2,), (0b110000,)), ((2, 1), (0b110000, 0b1000))])
def test_the_policy_breaks_ties_by_numa_node(requests: tuple[int, ...], want: tuple[int, ...]) -> None:
    policy = GpuBottleneck(BottleneckParameters())
    assert policy.choose(NodeGpus(0b111000, machine("00001111")), requests) == want
    assert policy.choose_singles(machine("00001111"), np.array([7], np.uint64), np.array([1], np.int32)) is None
