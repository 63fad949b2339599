"""Nodes by what is idle, used and allocatable, against a dictionary."""

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
        arrays = [frozen([rng.choice([-1, 0, 2**53]) for _ in range(shape[0] * shape[1])], shape) for _ in range(3)]
        states = NodeStates(*arrays)
        rows = [tuple(tuple(array[node].tolist()) for array in arrays) for node in range(shape[0])]
        numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        assert states.state_of.tolist() == [numbers[row] for row in rows]
        assert states.first.tolist() == [rows.index(row) for row in numbers]


def test_what_may_change_has_no_lasting_states() -> None:
    idle = frozen([1, 2], (2, 1))
    assert NodeStates(idle, idle, idle).are_of(idle, idle, idle)
    assert not NodeStates(idle, idle, idle).are_of(idle, idle, idle.copy())
    with pytest.raises(InputError, match="used: it may be changed"):
        NodeStates(idle, idle.copy(), idle)
    with pytest.raises(InputError, match="allocatable: wrong shape"):
        NodeStates(idle, idle, frozen([1, 2], (1, 2)))
    with pytest.raises(InputError, match="idle: wrong dtype"):
        NodeStates(idle.astype(np.float64), idle, idle)
