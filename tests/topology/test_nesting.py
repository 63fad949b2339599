from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.topology.build import Nesting, cut_cycles


@st.composite
def forests(draw) -> tuple[list[str], dict[str, str]]:
    """Names before their parents, and the parents of those that have one."""
    n = draw(st.integers(0, 12))
    above = {f"n{i}": f"n{draw(st.integers(0, i - 1))}" for i in range(1, n) if draw(st.booleans())}
    return cut_cycles({f"n{i}": 1 for i in range(n)}, above)[0], above


def chain(name: str, parent: dict[str, str]) -> list[str]:
    """A name and everything that it is inside."""
    found = [name]
    while found[-1] in parent:
        found.append(parent[found[-1]])
    return found


@given(forests(), st.data())
def test_it_agrees_with_climbing_the_parents(forest, data) -> None:
    order, parent = forest
    nesting = Nesting(order, parent)
    assert nesting.depth == {name: len(chain(name, parent)) - 1 for name in order}
    some = data.draw(st.lists(st.sampled_from(order))) if order else []
    want: dict[str, set[str]] = {}
    for a, b in combinations(sorted(set(some)), 2):
        related = a in chain(b, parent) or b in chain(a, parent)
        assert nesting.related(a, b) is nesting.related(b, a) is related
        if not related:
            want.setdefault(a, set()).add(b)
            want.setdefault(b, set()).add(a)
    assert nesting.strangers(some) == want
    assert all(nesting.related(name, name) for name in order)


@pytest.mark.parametrize("n", [50_000])
def test_a_chain_of_any_depth_has_no_strangers(n: int) -> None:
    order = [str(i) for i in range(n)]
    nesting = Nesting(order, dict(pairwise(order)))
    assert nesting.depth["0"] == n - 1
    assert nesting.strangers(order) == {}
