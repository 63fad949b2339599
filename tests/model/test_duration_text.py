"""Durations for people: a unit that suits, no exponent, a dash where nothing is known."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.model.number_text import HOURS, SECONDS, duration_text, instant_text, number_text, span_text, time_unit


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.0123, "0.0123 s"),
        (45.0, "45 s"),
        (119.96, "120 s"),
        (150, "2.5 min"),
        (7199.0, "120 min"),
        (105_200.0, "29.22 h"),
        (-34_230.0, "-9.508 h"),
        (3.6e8, "100,000 h"),
        (math.inf, "∞ h"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(seconds: float | None, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_column_has_one_unit() -> None:
    assert time_unit(105_200.0) is HOURS and time_unit(-8_000.0) is HOURS and time_unit(0.0) is SECONDS
    column = [duration_text(seconds, HOURS) for seconds in (105_200.0, 3600.0, 0.0, 36.0, 4.4, 0.01, math.nan)]
    assert column == ["29.22", "1.00", "0.00", "0.01", "0.0012", "0", "–"]


def test_a_span_has_the_unit_of_its_end() -> None:
    assert [span_text(5.0, 15.0), span_text(18_000.0, 271_800.0)] == ["5 to 15 s", "5 to 75.5 h"]


@given(st.floats(-1e14, 1e14))
def test_no_duration_is_written_with_an_exponent(seconds: float) -> None:
    for text in (duration_text(seconds), duration_text(seconds, HOURS), instant_text(seconds)):
        assert re.fullmatch(r"-?[0-9][0-9,]*(\.[0-9]+)?( (h|min|s))?", text), text


def test_instants_are_exact_to_the_millisecond() -> None:
    assert [instant_text(at) for at in (0.0, 10.0, 36_001.5, 1_234_567.0)] == ["0", "10", "36,001.5", "1,234,567"]


def test_large_numbers_have_commas_and_no_exponent() -> None:
    assert [number_text(value) for value in (105_200.0, 99_999.5, 1234.5, -34_230.0, 0.25)] == [
        "105,200",
        "100,000",
        "1234",
        "-34,230",
        "0.25",
    ]
