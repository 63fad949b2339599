"""The compiled filling of shared GPUs against the rules written down one pod at a time."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from tests.reference.gpu_sharing import Constants, Machine, Usual, Wish, change, fragments, place
from workbench.kernels.gpu_sharing import RULES, GpuSharing, SharingNodes, Typical, Weights

SIZES = (100, 190, 250, 320, 470, 500, 810, 999)


class World:
    """A random cluster with random usual shapes, for the kernel and for the reference."""

    def __init__(self, rng: np.random.Generator) -> None:
        n, width = int(rng.integers(1, 9)), int(rng.integers(1, 9))
        n_models = int(rng.integers(1, 4))
        self.machines = []
        for _ in range(n):
            free = [int(rng.choice([0, 190, 530, 1000, 1000, 1000])) for _ in range(int(rng.integers(0, width + 1)))]
            kinds = [0] * (width + 1)
            kinds[int(rng.integers(width + 1))] = int(rng.integers(2))
            machine = Machine(
                int(rng.integers(0, 20)) * 4000, [int(rng.integers(0, 60))], free, int(rng.integers(n_models)), kinds
            )
            self.machines.append(machine)
        self.order = [int(node) for node in rng.permutation(n)]
        weights = rng.random(int(rng.integers(1, 7)))
        self.usual = [self._usual(rng, n_models, float(each)) for each in weights / weights.sum()]
        self.others = [self._usual(rng, n_models, 0.5) for _ in range(2)]
        self.shapes = [self._shape(rng, width, n) for _ in range(5)]
        self.constants = Constants(*(float(x) for x in (700, 0.8, 15, 0.4, rng.integers(0, 300))))

    @staticmethod
    def _usual(rng: np.random.Generator, n_models: int, frequency: float) -> Usual:
        count = int(rng.integers(0, 4))
        milli = 0 if not count else 1000 if count > 1 else int(rng.choice([*SIZES, 1000]))
        models = frozenset(int(m) for m in rng.choice(n_models, size=int(rng.integers(1, n_models + 1))))
        return Usual(int(rng.integers(0, 6)) * 4000, milli, count, models, frequency)

    @staticmethod
    def _shape(rng: np.random.Generator, width: int, n: int) -> tuple[int, int, int, tuple[bool, ...]]:
        count = int(rng.integers(0, width + 1))
        milli = 0 if not count else 1000 if count > 1 else int(rng.choice([*SIZES, 1000]))
        return int(rng.integers(0, 5)) * 3000, milli, count, tuple(bool(x) for x in rng.random(n) < 0.8)

    def kernel(self, rule: str, measured: bool, fresh: bool = False) -> GpuSharing:
        """The cluster as arrays."""
        n, width = len(self.machines), len(self.machines[0].kinds) - 1
        free = np.zeros((n, width), dtype=np.int32)
        for i, machine in enumerate(self.machines):
            free[i, : len(machine.free)] = machine.free
        nodes = SharingNodes(
            np.array([m.cpu for m in self.machines]),
            np.array([m.others for m in self.machines]),
            free,
            np.array([len(m.free) for m in self.machines], dtype=np.int32),
            np.array([m.model for m in self.machines], dtype=np.int32),
            np.array([m.kinds for m in self.machines], dtype=np.int32),
            np.array(self.order, dtype=np.int32),
        )
        c = self.constants
        weights = Weights(c.scale, c.steps, c.idle, c.reserve, c.limit)
        others = arrays(self.others) if measured else None
        return GpuSharing(nodes, arrays(self.usual), rule, measured=others, weights=weights, fresh_ties=fresh)


def arrays(usual: list[Usual]) -> Typical:
    return Typical(
        np.array([u.cpu for u in usual]),
        np.array([u.milli for u in usual], dtype=np.int32),
        np.array([u.count for u in usual], dtype=np.int32),
        np.array([sum(1 << m for m in u.models) for u in usual], dtype=np.uint64),
        np.array([u.frequency for u in usual]),
    )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(12))
def test_pods_go_where_the_reference_puts_them(rule: str, seed: int) -> None:
    rng = np.random.default_rng([seed, RULES.index(rule)])
    world = World(rng)
    measured = bool(rng.integers(2))
    fresh = bool(rng.integers(2))
    kernel = world.kernel(rule, measured, fresh)
    numbers = [
        kernel.shape(cpu, milli, count, np.array(accepts, dtype=np.uint8))
        for cpu, milli, count, accepts in world.shapes
    ]
    machines = copy.deepcopy(world.machines)
    held: list[tuple[int, Wish, int, tuple[int, ...]]] = []
    allocated = 0
    for _ in range(40):
        if held and rng.random() < 0.25:
            which, wish, node, gpus = held.pop(int(rng.integers(len(held))))
            change(machines[node], wish, gpus, -1)
            allocated -= wish.milli * len(gpus)
            kernel.give_back(numbers[which], node, sum(1 << g for g in gpus), np.array(wish.others))
        which = int(rng.integers(len(numbers)))
        cpu, milli, count, accepts = world.shapes[which]
        wish = Wish(cpu, (int(rng.integers(0, 20)),), milli, count, accepts)
        drawn = (float(rng.random()), float(rng.random()))
        expected = place(rule, machines, world.order, wish, world.usual, world.constants, drawn, fresh)
        got = kernel.fill(np.array([numbers[which]], dtype=np.int32), np.array([wish.others]), np.array([drawn]))
        if expected is None:
            assert got.node[0] == -1
        else:
            held.append((which, wish, *expected))
            allocated += milli * len(expected[1])
            assert (int(got.node[0]), int(got.gpus[0])) == (expected[0], sum(1 << g for g in expected[1]))
        by = world.others if measured else world.usual
        total = sum(fragments(machine, machine.cpu, machine.free, by) for machine in machines)
        assert kernel.allocated == allocated
        assert kernel.fragmented == pytest.approx(total, abs=1e-6)


def test_many_pods_at_once_go_where_they_go_one_by_one() -> None:
    world = World(np.random.default_rng(3))
    for rule in RULES:
        one, all_at_once = world.kernel(rule, False), world.kernel(rule, False)
        shapes = [shape[:3] for shape in world.shapes]
        numbers = np.array([one.shape(*shape) for shape in shapes] * 9, dtype=np.int32)
        assert [all_at_once.shape(*shape) for shape in shapes] == numbers[: len(shapes)].tolist()
        others = np.ones((len(numbers), 1), dtype=np.int64)
        drawn = np.random.default_rng(1).random((len(numbers), 2))
        filled = all_at_once.fill(numbers, others, drawn)
        single = [one.fill(numbers[i : i + 1], others[i : i + 1], drawn[i : i + 1]) for i in range(len(numbers))]
        assert filled.node.tolist() == [int(each.node[0]) for each in single]
        assert filled.gpus.tolist() == [int(each.gpus[0]) for each in single]
        assert filled.allocated.tolist() == [int(each.allocated[0]) for each in single]


def test_fragmentation_by_hand() -> None:
    # An empty node, one with half of GPU 0 and 8 CPUs gone, and one with 4 CPUs left.
    usual = [Usual(4000, 500, 1, frozenset({0}), 0.5), Usual(8000, 1000, 2, frozenset({0}), 0.25)]
    usual.append(Usual(2000, 0, 0, frozenset(), 0.25))
    node = Machine(96_000, [], [1000] * 8, 0, [0] * 9)
    assert fragments(node, 96_000, node.free, usual) == pytest.approx(0.25 * 8000)
    assert fragments(node, 88_000, [500, *node.free[1:]], usual) == pytest.approx(0.25 * 500 + 0.25 * 7500)
    assert fragments(node, 4_000, node.free, usual) == pytest.approx(0.25 * 8000 + 0.25 * 8000)
