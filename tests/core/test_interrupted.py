"""Tests that an exception inside a kernel reaches the caller, and that the repeated call answers correctly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench._core import bottleneck as bottleneck_kernel
from workbench._core import tiers as tiers_kernel
from workbench.kernels.bottleneck import BottleneckSolver
from workbench.kernels.tiers import Forest, tier_scores


class Watched(np.ndarray):
    """An array whose address cannot be had when it is its turn."""

    @property
    def ctypes(self) -> Any:
        Failing.step()
        return super().ctypes


class Failing:
    """numpy as a kernel sees it; one of its functions, or one look at an address, raises."""

    left = -1
    raised: type[BaseException] = MemoryError

    @classmethod
    def step(cls) -> None:
        cls.left -= 1
        if cls.left == -1:
            raise cls.raised

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if not callable(found) or isinstance(found, type | np.ufunc):
            return found

        def call(*args: Any, **named: Any) -> Any:
            self.step()
            result = found(*args, **named)
            return result.view(Watched) if type(result) is np.ndarray and result.dtype.names is None else result

        return call


def packed() -> list[float]:
    forest = Forest(np.array([4, 4, 5, 5, 6, 6, -1], dtype=np.int32), np.array([1, 1, 1, 1, 2, 2, 3], dtype=np.int32))
    assert forest.packed
    leaves, record = np.array([0, 1, 2, -1], dtype=np.int32), np.zeros(4, dtype=np.int32)
    return [*forest.scores(leaves, record, tier_scores(forest.tier, 1, 3, flat=0.0), own=1.0), *forest.path(0)]


def deep() -> list[int]:
    parent, tier = np.append(np.arange(1, 40), -1).astype(np.int32), np.arange(1, 41, dtype=np.int32)
    forest = Forest(parent, tier)
    assert not forest.packed
    return forest.lca(np.array([0, 3], dtype=np.int32), np.array([7, 1], dtype=np.int32)).tolist()


def machine(n: int) -> np.ndarray:
    weight = np.random.default_rng(0).integers(1, 9, (n, n)).astype(float)
    return np.minimum(weight, weight.T)


SOLVERS = {n: BottleneckSolver(machine(n)) for n in (8, 12, 20)}


def built() -> list[int]:
    return [BottleneckSolver(machine(n)).choose((1 << n) - 1, 4) for n in (8, 12, 20)]


def asked() -> list[int]:
    found = [solver.solve((1 << n) - 1, 5) for n, solver in SOLVERS.items()]
    return [mask for best in found for mask in (best.mask, *best.ties)]


@pytest.mark.parametrize("raised", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize(
    ("kernel", "ask"),
    [(tiers_kernel, packed), (tiers_kernel, deep), (bottleneck_kernel, built), (bottleneck_kernel, asked)],
    ids=lambda value: value.__name__.rpartition(".")[2],
)
def test_no_exception_is_lost_and_none_leaves_half_an_answer(kernel, ask, raised, monkeypatch):
    want = ask()
    monkeypatch.setattr(kernel, "np", Failing())
    monkeypatch.setattr(Failing, "raised", raised)
    steps = 0
    while True:
        monkeypatch.setattr(Failing, "left", steps)
        try:
            answered = ask()
        except raised:
            answered = None
        if Failing.left >= 0:
            break
        assert answered is None, f"what step {steps} raised was lost"
        assert ask() == want
        steps += 1
    assert answered == want and steps > 4
