"""Arguments that the ``tiers`` interface accepts and refuses."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.kernels.tiers import Forest, tier_scores

PARENT = np.array([2, 2, -1], dtype=np.int32)
TIER = np.array([1, 1, 2], dtype=np.int32)


def int32(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def test_read_only_and_strided_inputs_are_accepted() -> None:
    parent, tier, pairs = PARENT.copy(), TIER.copy(), int32([[0, 9], [1, 9]])
    for array in (parent, tier, pairs):
        array.flags.writeable = False
    forest = Forest(parent, tier)
    assert forest.lca(pairs[:, 0], pairs[:, 0]).tolist() == [0, 1]
    assert not forest.parent.flags.writeable


def test_an_empty_forest_answers_only_the_virtual_top() -> None:
    forest = Forest(int32([]), int32([]))
    assert forest.lca(int32([-1]), int32([-1])).tolist() == [-1]
    assert forest.scores(int32([-1]), int32([-1]), np.zeros(0), top=3.0).tolist() == [3.0]
    assert forest.lca_against(-1).tolist() == []


def test_no_pairs_give_no_answers() -> None:
    forest = Forest(PARENT, TIER)
    assert forest.lca(int32([]), int32([])).shape == (0,)
    assert forest.scores(int32([]), int32([]), np.zeros(3)).shape == (0,)


def test_out_is_written_and_returned() -> None:
    forest = Forest(PARENT, TIER)
    out = np.zeros(1, dtype=np.int32)
    assert forest.lca(int32([0]), int32([1]), out=out) is out
    assert out[0] == 2


@pytest.mark.parametrize("parent", [[0], [1, 0], [-1, 2, 3, 1], [1, 2, 1]])
def test_a_cycle_is_refused(parent: list[int]) -> None:
    with pytest.raises(InputError, match="cycle"):
        Forest(int32(parent), int32([1] * len(parent)))


@pytest.mark.parametrize(
    ("parent", "tier", "message"),
    [
        (np.array([-1]), TIER[:1], "parent: wrong dtype"),
        ([-1], TIER[:1], "parent: not a numpy array"),
        (PARENT, TIER[:2], "tier: wrong length"),
        (PARENT.reshape(1, 3), TIER, "parent: wrong number of dimensions"),
        (int32([3, 2, -1]), TIER, "parent: entry 0: out of range"),
        (int32([2, -2, -1]), TIER, "parent: entry 1: out of range"),
    ],
)
def test_a_wrong_forest_is_refused(parent: np.ndarray, tier: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Forest(parent, tier)


def test_wrong_arguments_are_refused() -> None:
    forest = Forest(PARENT, TIER)
    one = int32([0])
    with pytest.raises(InputError, match="b: wrong length"):
        forest.lca(one, int32([0, 1]))
    with pytest.raises(InputError, match="a: entry 0: out of range"):
        forest.lca(int32([3]), one)
    with pytest.raises(InputError, match="b: entry 0: out of range"):
        forest.scores(one, int32([-2]), np.zeros(3))
    with pytest.raises(InputError, match="value: wrong length"):
        forest.scores(one, one, np.zeros(2))
    with pytest.raises(InputError, match="value: wrong dtype"):
        forest.scores(one, one, np.zeros(3, dtype=np.float32))
    with pytest.raises(InputError, match="out: wrong dtype"):
        forest.lca(one, one, out=np.zeros(1, dtype=np.int64))
    with pytest.raises(InputError, match="out: cannot be written"):
        forest.lca(int32([0, 1]), int32([0, 1]), out=np.zeros(4, dtype=np.int32)[::2])
    with pytest.raises(InputError, match="no such domain"):
        forest.path(3)
    with pytest.raises(InputError, match="no such domain"):
        forest.lca_against(-2)
    with pytest.raises(InputError, match="lowest tier above highest"):
        tier_scores(TIER, 2, 1, flat=0.0)
