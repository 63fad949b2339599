from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.machines import koordinator_matrix_a
from tests.reference.best_effort import best_effort
from workbench.kernels.gpu_sets import indices_of, mask_of
from workbench.model.bandwidth import BandwidthMatrix
from workbench.policies import get_gpu_policy
from workbench.policies.gpu.base import NodeGpus
from workbench.policies.gpu.best_effort import best_effort_sets, first_sets
from workbench.topology.machines import dgx1_v100


@st.composite
def machines(draw):
    n = draw(st.integers(2, 9))
    scores = np.zeros((n, n), dtype=np.int64)
    for i in range(n):
        for j in range(i):
            scores[i, j] = scores[j, i] = draw(st.sampled_from((10, 20, 50, 100, 200)))
    available = draw(st.lists(st.integers(0, n - 1), unique=True, min_size=2).map(sorted))
    size = draw(st.integers(2, len(available)))
    required = draw(st.lists(st.sampled_from(available), unique=True, max_size=min(2, size)))
    return scores, available, required, size


@given(machines())
def test_the_answer_is_that_of_the_walk_through_all_splits(machine):
    scores, available, required, size = machine
    (got,) = best_effort_sets(scores, np.array([mask_of(available)]), mask_of(required), size).tolist()
    assert indices_of(got) == best_effort(scores, available, required, size)


@given(machines())
def test_every_state_asked_about_at_once_is_answered_as_if_asked_alone(machine):
    scores, _, required, size = machine
    states = np.arange(1 << len(scores))
    together = best_effort_sets(scores, states, mask_of(required), size).tolist()
    alone = [best_effort_sets(scores, states[i : i + 1], mask_of(required), size)[0] for i in range(len(states))]
    assert together == alone


def test_nodes_with_one_pod_each_are_answered_together_as_one_by_one():
    policy, matrix = get_gpu_policy("gpu-best-effort"), dgx1_v100()
    asked = [(free, k) for free in range(1, 256, 3) for k in range(1, free.bit_count() + 1)]
    free, k = np.array([f for f, _ in asked], np.uint64), np.array([k for _, k in asked], np.int32)
    one_by_one = [policy.choose(NodeGpus(f, matrix), (count,))[0] for f, count in asked]
    assert policy.choose_singles(matrix, free, k).tolist() == one_by_one


@pytest.mark.parametrize(
    ("available", "required", "size"),
    [
        pytest.param(0b11, 0, 0, id="nothing asked for"),
        pytest.param(0b11, 0, 3, id="more than is free"),
        pytest.param(0b1110, 0b1, 2, id="a required GPU is not free"),
        pytest.param(0b1111, 0b111, 2, id="more required than asked for"),
    ],
)
def test_refused(available, required, size):
    assert best_effort_sets(np.ones((4, 4), dtype=np.int64), np.array([available]), required, size).tolist() == [0]


def test_splits_of_five_by_three_have_one_incomplete_set():
    # 0 is in the full set (six ways) or in the smaller one (four ways); lexicographic, padding last.
    positions = [(0, 1, 2), (0, 1, 3), (0, 1, 4), (0, 1), (0, 2, 3), (0, 2, 4), (0, 2), (0, 3, 4), (0, 3), (0, 4)]
    lowest, scattered = first_sets(np.array([0b11111, 0b1101011]), 3).tolist()
    assert [indices_of(mask) for mask in lowest] == positions
    devices = (0, 1, 3, 5, 6)
    assert [indices_of(mask) for mask in scattered] == [tuple(devices[i] for i in chosen) for chosen in positions]


def test_it_keeps_the_halves_of_a_cube_mesh_whole():
    # Four of the best pairs lie across the halves; a split into two halves has more links in all.
    policy = get_gpu_policy("gpu-best-effort")
    assert policy.choose(NodeGpus(0xFF, dgx1_v100()), (4,)) == (0b1111,)
    assert policy.choose(NodeGpus(0xFF, dgx1_v100()), (2, 2)) == (0b1001, 0b110)


def test_it_does_not_see_a_slow_direction():
    policy = get_gpu_policy("gpu-best-effort")
    (mask,) = policy.choose(NodeGpus(0xFF, BandwidthMatrix(koordinator_matrix_a())), (6,))
    # reference/gpu-topology-performance.md, "Quality of heuristics": its bottleneck is 4.64, the optimum 15.52.
    assert indices_of(mask) == (0, 1, 2, 3, 4, 7)


def test_without_a_matrix_or_on_a_large_machine_it_takes_the_lowest_and_says_so():
    policy = get_gpu_policy("gpu-best-effort")
    large = NodeGpus((1 << 20) - 2, BandwidthMatrix(np.ones((20, 20))))
    assert policy.choose(large, (3,)) == (0b1110,)
    assert policy.choose(NodeGpus(0b1110, None), (2,)) == (0b110,)
    assert [str(w) for w in policy.warnings([(large, (3,), 4), (NodeGpus(0b1110, None), (2,), 1)])] == [
        "gpu-best-effort: 1 node has no bandwidth matrix, lowest indices taken",
        "gpu-best-effort: 4 nodes have more than 16 GPUs, lowest indices taken",
    ]


def test_equal_matrices_with_other_link_types_are_told_apart():
    gb_s = np.full((3, 3), 9.0)
    rows = (
        (("X", "NV2", "SYS"), ("NV2", "X", "SYS"), ("SYS", "SYS", "X")),
        (
            ("X", "SYS", "SYS"),
            ("SYS", "X", "NV2"),
            ("SYS", "NV2", "X"),
        ),
    )
    first, second = (BandwidthMatrix(gb_s, link_types=types) for types in rows)
    assert first == second
    policy = get_gpu_policy("gpu-best-effort")
    got = [policy.choose(NodeGpus(0b111, matrix), (2,)) for matrix in (first, second, first)]
    assert got == [(0b011,), (0b110,), (0b011,)]
