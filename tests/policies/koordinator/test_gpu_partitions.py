from __future__ import annotations

import pytest

from workbench.policies.koordinator.gpu_partitions import HOPPER_TABLE, Partition, choose_partition


@pytest.mark.parametrize(
    ("count", "used", "want"),
    [
        (1, 0b00000000, 0b00000001),
        (1, 0b00010000, 0b00100000),
        (1, 0b11110011, 0b00000100),
        (2, 0b00010000, 0b11000000),
        (2, 0b00000001, 0b00001100),
        (4, 0b00000001, 0b11110000),
        (4, 0b00010001, None),
        (8, 0b00000000, 0b11111111),
        (8, 0b10000000, None),
        (3, 0b00000000, None),
    ],
)
def test_the_partition_that_leaves_most_partitions_whole(count, used, want):
    assert choose_partition(HOPPER_TABLE, count, used, 0xFF) == want


def test_an_unhealthy_gpu_is_in_no_partition():
    assert choose_partition(HOPPER_TABLE, 4, 0, 0xFE) == 0xF0


def test_a_demand_for_ring_bandwidth_needs_a_table_that_tells_it():
    table = {2: (Partition(0b0011, 1, 100.0), Partition(0b1100, 1, 200.0))}
    assert choose_partition(table, 2, 0, 0b1111) == 0b0011
    assert choose_partition(table, 2, 0, 0b1111, 150.0) == 0b1100
    assert choose_partition(table, 2, 0, 0b1111, 250.0) is None
    assert choose_partition(HOPPER_TABLE, 2, 0, 0xFF, 1.0) is None


def test_the_lowest_allocation_score_comes_first_as_upstream():
    table = {2: (Partition(0b0011, 2), Partition(0b1100, 1))}
    assert choose_partition(table, 2, 0, 0b1111) == 0b1100
    assert choose_partition(table, 2, 0b1000, 0b1111) == 0b0011
    assert choose_partition(table, 2, 0b1000, 0b1111, restricted=True) is None
