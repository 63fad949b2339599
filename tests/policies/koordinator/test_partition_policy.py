from __future__ import annotations

import pytest

from workbench.policies.gpu.base import NodeGpus
from workbench.policies.koordinator.partition_policy import GpuPartition, PartitionParameters

PREFER, HONOR = (GpuPartition(PartitionParameters(policy)) for policy in ("Prefer", "Honor"))


def test_larger_pods_are_served_first_and_answers_keep_their_order():
    assert HONOR.choose(NodeGpus(0xFF, None), (1, 4, 2)) == (0b01000000, 0b00001111, 0b00110000)


@pytest.mark.parametrize(("free", "requests"), [(0xFF, (3,)), (0b01101111, (2, 4)), (0x1FF, (2,))])
def test_without_a_partition_one_refuses_and_the_other_takes_the_lowest(free, requests):
    gpus = NodeGpus(free, None)
    assert HONOR.choose(gpus, requests) is None
    assert not HONOR.fits(gpus, requests)
    assert [mask.bit_count() for mask in PREFER.choose(gpus, requests)] == list(requests)
    assert PREFER.fits(gpus, requests)
    assert PREFER.score(gpus, requests) < 100.0


def test_what_is_free_bounds_both():
    assert PREFER.choose(NodeGpus(0b11, None), (2, 1)) is None
    assert PREFER.score(NodeGpus(0b11, None), (2,)) == 100.0
    assert (PREFER.counts_only, HONOR.counts_only) == (True, False)
