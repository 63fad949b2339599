from __future__ import annotations

import pytest

from workbench.policies.koordinator.device_scopes import SCOPE_LEVEL, choose_in_scope, scope_tree
from workbench.policies.koordinator.devices import NodeDevice

# NUMA 0: PCIe a {0, 1}, b {2, 3}; NUMA 1: PCIe c {4, 5}, d {6, 7}.
TREE = scope_tree([NodeDevice("gpu", i, i // 4, "abcd"[i // 2]) for i in range(8)])


def choose(count, used=0, scope="", score=None):
    return choose_in_scope(TREE, count, lambda minor: not used >> minor & 1, used, SCOPE_LEVEL[scope], score)


@pytest.mark.parametrize(
    ("count", "used", "want"),
    [
        (1, 0, (0,)),
        (2, 0, (0, 1)),
        (2, 0b00000001, (2, 3)),
        (1, 0b00100000, (4,)),
        (3, 0, (0, 1, 2)),
        (4, 0b00100000, (0, 1, 2, 3)),
        (5, 0b00100000, (0, 1, 2, 3, 4)),
        (8, 0b1, None),
    ],
)
def test_the_narrowest_scope_then_the_one_most_in_use(count, used, want):
    assert choose(count, used) == want


def test_a_required_scope_is_not_widened():
    assert choose(3, scope="NUMANode") == (0, 1, 2)
    assert choose(3, scope="PCIe") is None
    assert choose(5, scope="NUMANode") is None
    assert choose(5, scope="Node") == (0, 1, 2, 3, 4)
    assert choose(1, scope="Device") is None


def test_a_part_of_a_gpu_goes_to_the_highest_score():
    assert choose(1, score=lambda minor: int(minor == 6)) == (6,)
    assert choose(1, score=lambda minor: 0) == (0,)
