"""Phases of jobs on one link against a search in plain fractions, and the limits of the search."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import max_examples
from tests.reference import rotation as reference
from workbench.errors import InputError
from workbench.evaluate.cost import Circle, RotatingJob, best_rotation, time_shifts

RATES = st.sampled_from(["0", "0.1", "0.2", "0.3", "1", "7.25"])


@st.composite
def jobs(draw: st.DrawFn) -> reference.Job:
    period = draw(st.integers(1, 8))
    phase = st.tuples(st.integers(0, 9), st.integers(0, period), RATES)
    return period, draw(st.lists(phase, max_size=2))


def circle(capacity: str, slot: int, given_jobs: list[reference.Job]) -> Circle:
    """Input of the slow twin as a `Circle`, with floats for its texts."""
    made = (
        RotatingJob(f"j{number}", period, tuple((start, length, float(rate)) for start, length, rate in phases))
        for number, (period, phases) in enumerate(given_jobs)
    )
    return Circle(float(capacity), slot, tuple(made))


@max_examples(60)
@given(st.sampled_from(["0.1", "0.3", "1", "2.5"]), st.integers(1, 3), st.lists(jobs(), min_size=1, max_size=3))
def test_the_search_equals_its_slow_twin(capacity: str, slot: int, drawn: list[reference.Job]) -> None:
    found = best_rotation(circle(capacity, slot, drawn))
    perimeter, unshifted, best, shifts, tuples = reference.best_rotation(capacity, slot, drawn)
    assert (found.perimeter, found.shifts, found.tuples) == (perimeter, shifts, tuples)
    assert (found.score_unshifted, found.best_score) == (float(unshifted), float(best))
    assert found.compatible == (best == 1)


def test_rates_count_as_their_decimals_read() -> None:
    """In binary 0.1 + 0.2 is more than 0.3, and the two jobs would not fit."""
    found = best_rotation(circle("0.3", 1, [(4, [(0, 4, "0.1")]), (4, [(0, 4, "0.2")])]))
    assert found.best_score == 1 and found.compatible


def test_long_periods_without_a_common_divisor_are_searched_in_blocks() -> None:
    # A perimeter of 988,027 and 991 shifts: all slots at once are eight GB of numbers.
    found = best_rotation(circle("10", 1, [(997, [(0, 500, "10")]), (991, [(0, 500, "10")])]))
    assert found.perimeter == 997 * 991
    # Whatever the shift, the phases meet as often as chance has it.
    assert found.tuples == 991 and found.best_score == pytest.approx(1 - 500 * 500 / (997 * 991))


def test_more_slots_than_can_be_added_up_are_refused() -> None:
    with pytest.raises(InputError, match="too many slots"):
        best_rotation(circle("10", 1, [(9973, [(0, 1, "10")]), (9967, [(0, 1, "10")])]))
    with pytest.raises(InputError, match="too many shifts"):
        best_rotation(circle("10", 1, [(2000, []), (2000, []), (2000, [])]))


@pytest.mark.parametrize(
    ("period", "phase"),
    [
        pytest.param(0, (0, 0, 1), id="no period"),
        pytest.param(2.5, (0, 1, 1), id="half a slot"),
        pytest.param(4, (-1, 1, 1), id="negative start"),
        pytest.param(4, (0, -1, 1), id="negative length"),
        pytest.param(4, (0, 5, 1), id="longer than the period"),
        pytest.param(4, (0, 1, float("nan")), id="no rate"),
    ],
)
def test_wrong_jobs_are_refused(period: Any, phase: Any) -> None:
    with pytest.raises(InputError):
        RotatingJob("j", period, (phase,))


def test_whole_numbers_may_be_written_as_floats() -> None:
    one: Any = RotatingJob("j", 4.0, ((1.0, 2.0, 5),))  # type: ignore[arg-type]
    assert one == RotatingJob("j", 4, ((1, 2, 5),)) and best_rotation(Circle(5, 2.0, (one,))).best_score == 1  # type: ignore[arg-type]
    shift: Any = time_shifts({"a": 4.0, "b": 4}, {"l": {"a": 1.0, "b": -2}})  # type: ignore[dict-item]
    assert shift == {"a": 0, "b": 1}


def test_a_period_of_nothing_has_no_shift() -> None:
    with pytest.raises(InputError, match="period of b"):
        time_shifts({"a": 4, "b": 0}, {"l": {"a": 1, "b": 0}})
    with pytest.raises(InputError, match="shift of a on l"):
        time_shifts({"a": 4}, {"l": {"a": 0.5}})  # type: ignore[dict-item]


def test_a_circle_longer_than_a_block_is_searched_shift_by_shift(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[reference.Job] = [(13, [(0, 5, "1")]), (2, [(0, 1, "1")])]
    whole = best_rotation(circle("1", 1, drawn))
    monkeypatch.setattr("workbench.evaluate.cost.rotation._BLOCK", 4)
    assert best_rotation(circle("1", 1, drawn)) == whole
