from __future__ import annotations

import pytest

from workbench.policies.koordinator.partition_policy import choose_partition


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
    assert choose_partition(count, used, 0xFF) == want


def test_an_unhealthy_gpu_is_in_no_partition():
    assert choose_partition(4, 0, 0xFE) == 0xF0
