from __future__ import annotations

from workbench.policies import get_gpu_policy
from workbench.policies.gpu.base import NodeGpus
from workbench.policies.gpu.lowest_index import simple_set


def test_required_first_then_the_lowest():
    assert simple_set(0b11111110, 0b10010000, 4) == 0b10010110
    assert simple_set(0b1110, 0b1, 2) == simple_set(0b1110, 0b1110, 2) == simple_set(0b1110, 0, 0) == 0


def test_pods_one_after_another():
    assert get_gpu_policy("gpu-simple").choose(NodeGpus(0b11101100, None), (2, 1)) == (0b1100, 0b100000)
