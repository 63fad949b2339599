"""Grouping of nodes by idle, used and allocatable amounts, against a dictionary."""

from __future__ import annotations

import random

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.kernels.node_states import NodeStates


def frozen(values: object, shape: tuple[int, int]) -> np.ndarray:
    array = np.array(values, dtype=np.int64).reshape(shape)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("shape", [(0, 2), (1, 1), (5, 0), (60, 1), (40, 3)])
def test_states_are_numbered_as_they_come(shape: tuple[int, int]) -> None:
    rng = random.Random(sum(shape))
    for _ in range(20):
        lowest = (-1, 1, 1)
        arrays = [frozen([rng.choice([low, 0, 2**53]) for _ in range(shape[0] * shape[1])], shape) for low in lowest]
        states = NodeStates(*arrays)
        rows = [tuple(tuple(array[node].tolist()) for array in arrays) for node in range(shape[0])]
        numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        assert states.state_of.tolist() == [numbers[row] for row in rows]
        assert states.first.tolist() == [rows.index(row) for row in numbers]


@pytest.mark.parametrize("seed", range(20))
def test_intervals_are_of_one_kind_where_their_states_follow_one_another_alike(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(0, 30)
    amounts = frozen([rng.randint(0, 1) for _ in range(n)], (n, 1))
    spans = [sorted((rng.randint(0, n), rng.randint(0, n))) for _ in range(rng.randint(0, 40))]
    marks = [rng.randint(0, 1) for _ in spans]
    first, kind = NodeStates(amounts, amounts, amounts).kinds_of_spans(
        np.array(spans, dtype=np.int32).reshape(-1, 2), np.array(marks, dtype=np.uint64).reshape(-1, 1)
    )
    looks = [(mark, tuple(amounts[low:high, 0].tolist())) for mark, (low, high) in zip(marks, spans, strict=True)]
    numbers = {look: number for number, look in enumerate(dict.fromkeys(looks))}
    assert kind.tolist() == [numbers[look] for look in looks]
    assert first.tolist() == [looks.index(look) for look in numbers]


def test_what_may_change_has_no_lasting_states() -> None:
    idle = frozen([1, 2], (2, 1))
    assert all(kept is given for kept, given in zip(NodeStates(idle, idle, idle).arrays, [idle] * 3, strict=True))
    with pytest.raises(InputError, match="used: it may be changed"):
        NodeStates(idle, idle.copy(), idle)
    with pytest.raises(InputError, match="allocatable: wrong shape"):
        NodeStates(idle, idle, frozen([1, 2], (1, 2)))
    with pytest.raises(InputError, match="used: entry 1: out of range"):
        NodeStates(idle, frozen([1, -1], (2, 1)), idle)
    with pytest.raises(InputError, match="idle: wrong dtype"):
        NodeStates(idle.astype(np.float64), idle, idle)
