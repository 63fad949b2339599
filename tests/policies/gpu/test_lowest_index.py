from __future__ import annotations

from workbench.policies.gpu.base import NodeGpus, lowest_indices
from workbench.policies.gpu.lowest_index import GpuLowestIndex, deal_lowest
from workbench.policies.parameters import NoParameters


def test_lowest_free_numbers_pod_after_pod():
    assert deal_lowest(0b11101100, (2, 1)) == (0b1100, 0b100000)
    assert lowest_indices(1 << 700 | 1, 2) == 1 << 700 | 1


def test_a_request_fits_when_enough_are_free():
    policy = GpuLowestIndex(NoParameters())
    assert policy.fits(NodeGpus(0b1011, None), (2, 1))
    assert not policy.fits(NodeGpus(0b1011, None), (2, 2))
    assert policy.score(NodeGpus(0b1011, None), (2,)) == 0.0
    assert policy.choose(NodeGpus(0b1011, None), (2,)) == (0b11,)
