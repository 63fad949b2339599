"""Arguments that the interface of the repeated search refuses; a refusal changes nothing."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.core.test_repeated import positions
from tests.core.test_two_level import compiled, int32, int64, random_search
from workbench.errors import InputError
from workbench.kernels.repeated import Repeated

SEED = 39  # a job of five pods that starts


def made() -> tuple[Repeated, int, int]:
    """A search with its numbers of nodes and resources."""
    state = random_search(random.Random(SEED))
    where, n = positions(state)
    return Repeated(compiled(state), where, n), len(state.idle), len(state.idle[0])


def test_a_change_that_is_refused_changes_nothing() -> None:
    run, n, r = made()
    before = run.run()
    for nodes, amount, where in (([0, n], 1, "row 1"), ([-1], 1, "row 0"), ([0], 2**53 + 1, "row 0")):
        with pytest.raises(InputError, match="out of range") as caught:
            run.change(int32(nodes), np.full((len(nodes), r), amount, dtype=np.int64))
        assert caught.value.where == where
    after = run.run()
    assert before is not None
    assert after is not None
    assert before.tolist() == after.tolist()


def test_read_only_and_empty_changes_are_taken() -> None:
    run, _, r = made()
    nodes, rows = int32([0]), np.zeros((1, r), dtype=np.int64)
    nodes.flags.writeable = rows.flags.writeable = False
    run.change(nodes, rows)
    run.change(int32([]), np.zeros((0, r), dtype=np.int64))
    assert run.run() is not None


@pytest.mark.parametrize(
    ("nodes", "rows", "message"),
    [
        (int64([0]), int64([[0]]), "wrong dtype"),
        (int32([0]), int32([[0]]), "wrong dtype"),
        (int32([0]), int64([0]), "wrong number of dimensions"),
        (int32([0]), int64([[0] * 9]), "wrong shape"),
        (int32([0, 0]), int64([[0]]), "wrong length"),
    ],
)
def test_wrong_arrays_are_refused(nodes: np.ndarray, rows: np.ndarray, message: str) -> None:
    run, _, _ = made()
    with pytest.raises(InputError, match=message):
        run.change(nodes, rows)


def test_positions_name_each_pod_once() -> None:
    state = random_search(random.Random(SEED))
    where, n = positions(state)
    assert n > 1
    full = next(i for i, mine in enumerate(where) if len(mine))
    with pytest.raises(InputError, match="not one for each pod"):
        Repeated(compiled(state), where[:full] + [where[full][1:]] + where[full + 1 :], n)
    with pytest.raises(InputError, match="out of range"):
        Repeated(compiled(state), where, n - 1)
    with pytest.raises(InputError, match="named twice"):
        Repeated(compiled(state), [*where[:full], np.zeros(2, dtype=np.int64), *where[full + 1 :]], n)
