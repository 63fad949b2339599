from __future__ import annotations

import numpy as np
import pytest

from tests.fabrics import snapshot
from tests.ledger_check import check_ledger
from tests.notices import said
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.gang import Gang, Role
from workbench.policies import get_policy
from workbench.policies.gpu.base import NodeGpus
from workbench.policies.gpu.bottleneck import BottleneckParameters, GpuBottleneck


def two_islands(n=8, fast=50.0, slow=10.0):
    """Even and odd GPUs: fast inside, slow across."""
    parity = np.arange(n) % 2
    return BandwidthMatrix(np.where(parity[:, None] == parity[None, :], fast, slow))


def gang(*counts, min_available=None):
    roles = tuple(Role(f"r{i}", pods, {"nvidia.com/gpu": gpus}, (gpus,)) for i, (pods, gpus) in enumerate(counts))
    n = sum(pods for pods, _ in counts)
    return Gang("d", "j", roles, n if min_available is None else min_available)


def masks(placement):
    return [placement.gpu_mask(i) for i in range(placement.gang.n_pods)]


def place(jobs, policy="gang+gpu-bottleneck", names=("a",), matrix=None, **options):
    matrices = {name: matrix or two_islands() for name in options.pop("known", names)}
    ledger = snapshot(list(names), matrices=matrices, **options).ledger()
    placement = get_policy(policy).place(jobs, ledger)
    check_ledger(ledger)
    return placement


def test_one_pod_gets_the_fastest_set():
    assert masks(place(gang((1, 4)))) == [0b01010101]


def test_the_fastest_set_among_the_free_ones():
    assert masks(place(gang((1, 3)), free_gpus={"a": 0b10101101})) == [0b10101000]


def test_pods_of_a_node_share_the_best_union_and_are_dealt_by_their_own_bottleneck():
    # The union is all eight; each pod of four gets an island.
    assert sorted(masks(place(gang((2, 4))))) == [0b01010101, 0b10101010]


def test_pods_of_unequal_size_keep_their_order():
    small, large = masks(place(gang((1, 1), (1, 3))))
    assert (small.bit_count(), large.bit_count()) == (1, 3)
    assert small | large == 0b01010101


def test_many_nodes_in_the_same_state_get_the_same_answer():
    names = [f"n{i:02d}" for i in range(20)]
    placement = place(gang((20, 4)), "spread+gpu-bottleneck", names)
    assert set(masks(placement)) == {0b01010101}
    mixed = place(gang((20, 3)), "spread+gpu-bottleneck", names, free_gpus={"n03": 0b11101010, "n04": 0b111})
    assert masks(mixed)[3] == 0b00101010
    assert masks(mixed)[4] == 0b111


def test_a_node_without_a_matrix_takes_the_lowest_indices_with_a_warning():
    placement = place(gang((2, 3)), "spread+gpu-bottleneck", ("a", "b"), known=("a",))
    assert masks(placement) == [0b00010101, 0b111]
    assert said(placement.warnings) == ("gpu-bottleneck: 1 of 2 nodes have no bandwidth matrix, lowest indices taken",)


def test_pods_that_take_everything_are_counted_in_the_warning():
    placement = place(gang((2, 8)), "spread+gpu-bottleneck", ("a", "b"), known=("a",))
    assert masks(placement) == [0xFF, 0xFF]
    assert said(placement.warnings) == ("gpu-bottleneck: 1 of 2 nodes have no bandwidth matrix, lowest indices taken",)


def test_without_any_matrix_only_those_who_asked_for_it_are_warned():
    assert place(gang((1, 3)), "gang+gpu-bottleneck", known=()).warnings
    assert place(gang((1, 3)), "gang", known=()).warnings == ()
    assert masks(place(gang((1, 4)), "gang")) == [0b01010101]


def test_above_sixteen_gpus_the_union_is_dealt_to_three_pods_by_index_with_a_warning():
    even = sum(1 << i for i in range(0, 40, 2))
    placement = place(gang((3, 6)), matrix=two_islands(40), gpus=40)
    first, second, third = masks(placement)
    assert first | second | third == sum(1 << i for i in range(0, 36, 2))
    assert first == sum(1 << i for i in range(0, 12, 2))
    assert placement.warnings[0].code == "gpus-dealt-by-index"
    assert sum(masks(place(gang((2, 10)), matrix=two_islands(40), gpus=40))) == even
    assert place(gang((1, 10)), matrix=two_islands(40), gpus=40).warnings == ()


def test_above_sixteen_gpus_two_pods_get_an_island_each():
    placement = place(gang((2, 15)), matrix=two_islands(30), gpus=30)
    assert sorted(masks(placement)) == sorted(sum(1 << i for i in range(start, 30, 2)) for start in (0, 1))
    assert placement.warnings == ()


def test_more_than_64_gpus_take_several_words():
    first, second = masks(place(gang((2, 30)), matrix=two_islands(70), gpus=70))
    assert first & second == 0
    assert (first.bit_count(), second.bit_count()) == (30, 30)
    (alone,) = masks(place(gang((1, 35)), matrix=two_islands(70), gpus=70))
    assert alone == sum(1 << i for i in range(0, 70, 2))


def test_a_matrix_smaller_than_the_machine_is_not_used():
    placement = place(gang((1, 2)), matrix=two_islands(4), gpus=8)
    assert masks(placement) == [0b11]
    assert placement.warnings[0].code == "no-bandwidth-matrix"


@pytest.mark.parametrize(("symmetric", "want"), [("min", 0b110), ("max", 0b011), ("mean", 0b011)])
def test_the_direction_rule_decides_between_one_way_links(symmetric, want):
    matrix = BandwidthMatrix(np.array([[0, 100, 1], [2, 0, 40], [1, 40, 0]], dtype=np.float64))
    placement = get_policy("gang+gpu-bottleneck", gpu={"symmetric": symmetric}).place(
        gang((1, 2)), snapshot(["a"], gpus=3, matrices={"a": matrix}).ledger()
    )
    assert masks(placement) == [want]


def test_the_score_is_the_share_of_the_fastest_pair():
    policy = GpuBottleneck(BottleneckParameters())
    matrix = two_islands()
    assert policy.score(NodeGpus(0xFF, matrix), (4,)) == 100.0
    assert policy.score(NodeGpus(0xFF, matrix), (5,)) == 20.0
    assert policy.score(NodeGpus(0xFF, matrix), (1,)) == 100.0
    assert policy.score(NodeGpus(0xFF, None), (4,)) == 0.0


def test_the_score_is_weighed_only_when_asked_for():
    options = {"names": ("a", "b"), "free_gpus": {"a": 0b00110011}}
    assert place(gang((1, 4)), "spread+gpu-bottleneck", **options).node.tolist() == [0]
    matrices = {name: two_islands() for name in ("a", "b")}
    ledger = snapshot(["a", "b"], matrices=matrices, free_gpus=options["free_gpus"]).ledger()
    assert get_policy("spread+gpu-bottleneck", gpu_weight=1).place(gang((1, 4)), ledger).node.tolist() == [1]
