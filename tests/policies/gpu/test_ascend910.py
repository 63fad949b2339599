from __future__ import annotations

import pytest

from workbench.policies import get_gpu_policy
from workbench.policies.gpu.ascend910 import node_priority
from workbench.policies.gpu.base import NodeGpus


def mask(left, right):
    """The lowest free NPUs of each ring."""
    return (1 << left) - 1 | ((1 << right) - 1) << 4


@pytest.mark.parametrize(
    ("left", "right", "count", "want"),
    [
        pytest.param(4, 1, 1, 0b10000, id="one NPU goes where one is left"),
        pytest.param(2, 3, 1, 0b10000, id="then where three are left"),
        pytest.param(3, 4, 2, 0b110000, id="a pair breaks a whole ring before it leaves one alone"),
        pytest.param(2, 2, 2, 0b11, id="equal rings: the left one"),
        pytest.param(3, 4, 4, 0b11110000, id="four need a whole ring"),
        pytest.param(3, 3, 4, None, id="never across rings"),
        pytest.param(4, 4, 8, 0xFF, id="eight take the node"),
        pytest.param(4, 3, 8, None, id="eight need all"),
        pytest.param(4, 4, 3, None, id="three is no size"),
    ],
)
def test_which_ring(left, right, count, want):
    policy = get_gpu_policy("gpu-ascend910")
    gpus = NodeGpus(mask(left, right), None)
    assert policy.choose_one(gpus, count) == want
    assert policy.fits(gpus, (count,)) is (want is not None) is (node_priority(count, left, right) is not None)


def test_pods_one_after_another():
    policy = get_gpu_policy("gpu-ascend910")
    assert policy.choose(NodeGpus(mask(4, 3), None), (2, 1, 4)) is None
    assert policy.choose(NodeGpus(mask(4, 3), None), (2, 1, 2)) == (0b11, 0b10000, 0b1100)


def test_the_score_falls_with_the_priority():
    policy = get_gpu_policy("gpu-ascend910")
    assert [policy.score(NodeGpus(mask(n, 0), None), (1,)) for n in (1, 3, 2, 4)] == [100.0, 75.0, 50.0, 25.0]
    assert policy.score(NodeGpus(mask(1, 1), None), (2,)) == 0.0
    empty = NodeGpus(mask(4, 4), None)
    assert [n for n in range(10) if policy.fits(empty, (n,))] == [1, 2, 4, 8]
