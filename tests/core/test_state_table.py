"""States of nodes and the scores kept with them, against a dictionary and every score computed anew."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given

from tests.choice import choices
from tests.core.test_two_level import compiled, random_search
from tests.profiles import max_examples
from tests.reference.domains import RescanFill
from workbench.kernels.domain_nodes import DomainNodes
from workbench.kernels.domains import ScoreWeights
from workbench.kernels.dry_run_values import Counts
from workbench.kernels.dry_runs import DryRuns

Row = tuple[tuple[int, ...], ...]


@max_examples(300)
@given(rng=choices())
def test_nodes_share_a_state_and_its_scores_while_pods_come_and_go(rng: random.Random) -> None:
    s = random_search(rng)
    table = compiled(s)._c.states
    slow = RescanFill(s.idle, s.used, s.allocatable, s.tree.rank, s.tree.leaf, s.weights, shapes=s.shapes)
    n, shapes = len(s.idle), range(len(s.shapes))

    def row(node: int) -> Row:
        return tuple(s.idle[node]), tuple(s.used[node]), tuple(s.allocatable[node])

    def numbered() -> dict[Row, int]:
        return {found: i for i, found in enumerate(dict.fromkeys(row(node) for node in range(n)))}

    def move(shape: int, node: int, times: int) -> None:
        for k, amount in enumerate(s.shapes[shape][0]):
            s.idle[node][k] -= times * amount
            s.used[node][k] += times * amount

    numbers = numbered()
    kept = len(numbers)
    placed: list[tuple[int, int]] = []
    for _ in range(25):
        action = rng.choice(["place", "place", "place", "remove", "forget", "reopen"])
        shape, node = rng.randrange(len(s.shapes)), rng.randrange(n)
        if action == "place" and slow.fits(shape, node):
            table.place_one(shape, node)
            placed.append((shape, node))
            move(shape, node, 1)
        elif action == "remove" and placed:
            shape, node = placed.pop(rng.randrange(len(placed)))
            table.remove_one(shape, node)
            move(shape, node, -1)
        elif action == "forget":
            for shape, node in placed:
                table.remove_one(shape, node)
                move(shape, node, -1)
                numbers.setdefault(row(node), len(numbers))
            placed = []
            table.keep_states(kept)
            numbers = {found: number for found, number in numbers.items() if number < kept}
        elif action == "reopen" and not placed:
            table.make_room(table.state_capacity - table.n_states + 1, 0)
            numbers = numbered()
            kept = len(numbers)
        want = [numbers.setdefault(row(node), len(numbers)) for node in range(n)]
        assert table.states().tolist() == want
        assert table.n_states == len(numbers)
        scores = [
            [slow.node_part(i, node) if slow.fits(i, node) else -float("inf") for node in range(n)] for i in shapes
        ]
        assert [[table.score(i, node) for node in range(n)] for i in shapes] == scores


def test_before_the_first_run_no_state_is_known_whatever_the_memory_held() -> None:
    n = 5000  # as many nodes as fill blocks of memory that one search leaves to the next
    amounts = np.full((n, 1), 8, dtype=np.int64)
    nodes = DomainNodes(
        np.arange(n, dtype=np.int32),
        np.full(n, -1, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
    )
    weights = ScoreWeights(binpack=1.0, binpack_resources=np.ones(1))

    def before_a_run() -> DryRuns:
        runs = DryRuns(amounts, amounts * 0, amounts, nodes, weights=weights)
        runs.add_shape(np.array([2], dtype=np.int64))
        return runs

    first = before_a_run()
    first.ask(Counts(shapes=np.zeros(1, dtype=np.int32), left=np.array([3 * n], dtype=np.int64), min_available=3 * n))
    assert first.try_each(np.array([-1], dtype=np.int32)).placed.tolist() == [3 * n]
    del first
    table = before_a_run()._c_runs.states
    assert set(table.states().tolist()) == {-1}
    assert {table.score(0, node) for node in range(n)} == {25.0}
