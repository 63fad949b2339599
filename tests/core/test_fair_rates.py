"""The kernel of fair rates against rates raised in fractions, and what its checked interface refuses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.fair_rates import fair_rates as raised
from workbench.errors import InputError
from workbench.kernels.fair_rates import fair_rates

SMALL = st.sampled_from([Fraction(1), Fraction(2), Fraction(3), Fraction(1, 2), Fraction(7, 5)])


@st.composite
def networks(draw: st.DrawFn) -> tuple[list, list, list, list]:
    links = draw(st.integers(1, 5))
    number = st.integers(0, links - 1)
    loads = draw(st.lists(st.dictionaries(number, SMALL, max_size=links), max_size=6))
    capacity = draw(
        st.lists(st.sampled_from([Fraction(0), *map(Fraction, (1, 4, 10))]), min_size=links, max_size=links)
    )
    weight = [draw(SMALL) for _ in loads]
    demand = [draw(st.none() | st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(2)])) for _ in loads]
    return loads, capacity, weight, demand


def packed(loads: list[dict[int, Fraction]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    start = np.cumsum([0, *map(len, loads)])
    link = np.array([each for one in loads for each in one], dtype=np.int32)
    load = np.array([float(each) for one in loads for each in one.values()])
    return start, link, load


@given(networks())
def test_rates_are_those_raised_in_fractions(network: tuple[list, list, list, list]) -> None:
    loads, capacity, weight, demand = network
    found = fair_rates(
        *packed(loads),
        np.array([float(each) for each in capacity]),
        weight=np.array([float(each) for each in weight]),
        demand=np.array([np.inf if each is None else float(each) for each in demand]),
    )
    wanted = [np.inf if each is None else float(each) for each in raised(loads, capacity, weight, demand)]
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def test_no_link_carries_more_than_it_can() -> None:
    rng = np.random.default_rng(1)
    start = np.arange(0, 301, 10)
    link = np.concatenate([rng.choice(40, 10, replace=False) for _ in range(30)]).astype(np.int32)
    load, capacity = rng.uniform(0.1, 5, 300), rng.uniform(0, 10, 40)
    rates = fair_rates(start, link, load, capacity)
    used = np.bincount(link, load * np.repeat(rates, 10), 40)
    assert (used <= capacity * (1 + 1e-9)).all()
    full = used >= capacity * (1 - 1e-9)
    assert all(full[link[at : at + 10]].any() for at in start[:-1])


ONE = np.array([0, 1]), np.array([0], dtype=np.int32), np.array([1.0]), np.array([4.0])


@pytest.mark.parametrize(
    "at, wrong, message",
    [
        (0, np.array([0, 2]), "wrong offsets"),
        (1, np.array([1], dtype=np.int32), "out of range"),
        (2, np.array([0.0]), "out of range"),
        (2, np.array([np.nan]), "out of range"),
        (2, np.array([1.0, 1.0]), "wrong length"),
        (3, np.array([-1.0]), "out of range"),
    ],
)
def test_bad_arrays(at: int, wrong: np.ndarray, message: str) -> None:
    given = list(ONE)
    given[at] = wrong
    with pytest.raises(InputError, match=message):
        fair_rates(*given)


def test_bad_weights_demands_and_links_named_twice() -> None:
    with pytest.raises(InputError, match="out of range"):
        fair_rates(*ONE, weight=np.array([0.0]))
    with pytest.raises(InputError, match="out of range"):
        fair_rates(*ONE, demand=np.array([-1.0]))
    with pytest.raises(InputError, match="twice"):
        fair_rates(np.array([0, 2]), np.array([0, 0], dtype=np.int32), np.ones(2), ONE[3])
