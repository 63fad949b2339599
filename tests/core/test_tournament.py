"""The tournament over the HyperNodes of one tier, against a look at all of them: sub-jobs of one pod share it."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_two_level import compiled
from tests.profiles import max_examples
from tests.reference.domains import Weights
from tests.reference.dry_runs import Ask
from tests.reference.two_level import NO_RECORD, Search, Sub, Tree

SIZE = 6


def of_single_nodes(used: list[int], pods: int) -> Search:
    """HyperNodes of one node each below one for all, and sub-jobs of one pod that ask for the same."""
    n = len(used)
    order = random.Random(n).sample(range(n), n)
    tree = Tree(
        [n] * n + [-1],
        [1] * n + [2],
        [[node] for node in order] + [list(range(n))],
        [order.index(i) for i in range(n)],
        list(range(n)),
    )
    idle = [[SIZE - amount] for amount in used]
    subs = [
        Sub(Ask([0], [1], [0], [0], [0], 1, 0, "stop"), -1, i, 0, True, 1, 1, NO_RECORD, [1], [1], [])
        for i in range(pods)
    ]
    job = Ask([0], [pods], [0], [0], [0], pods, 0, "by-minimums")
    weights = Weights(0.0, [0.0], 0.0, 0.0, [1], 0.0, [1])
    shapes = [([1], [1] * n, None)]
    return Search(
        tree, idle, [[amount] for amount in used], [[SIZE]] * n, idle, shapes, weights, [1.0] * n + [0.5], 1.0,
        [1.0], 10.0, job, True, 2, None, [], NO_RECORD, subs,
    )  # fmt: skip


@max_examples(300)
@given(used=st.lists(st.integers(0, SIZE), min_size=1, max_size=20), pods=st.integers(2, 30))
def test_the_fullest_hypernode_wins_and_of_several_the_smallest_number(used: list[int], pods: int) -> None:
    s = of_single_nodes(used, pods)
    full = {domain: s.used[nodes[0]][0] for domain, nodes in enumerate(s.tree.nodes[:-1])}
    parts = compiled(s)._c
    top = len(used)
    parts.search.begin(False)
    for number in range(pods):
        roomy = [domain for domain, amount in full.items() if amount < SIZE]
        best = min(roomy, key=lambda domain: (-full[domain], domain), default=None)
        assert parts.search.place_sub(number, top) == (best is not None)
        if best is None:
            break
        assert parts.search.chosen == best
        full[best] += 1
