"""The package does not grow harder to know: each number of `tests.size` stays below its ceiling."""

from __future__ import annotations

import pytest

from tests.size import sizes

#: Lowered when the house is tidied; raised only by the twin of a further scheduler, or by what is as large.
CEILINGS = {
    "lines of code": 87_000,
    "lines of docstrings": 25_500,
    "files of at most 60 lines": 79,
    "files above 400 lines": 12,
    "files above 600 lines": 0,
    "lines of the longest function": 80,
    "import circles": 0,
    "pairs of folders that import each other": 0,
}


@pytest.mark.slow
def test_no_number_is_above_its_ceiling() -> None:
    found = sizes()
    assert {name: found[name] for name, most in CEILINGS.items() if found[name] > most} == {}
