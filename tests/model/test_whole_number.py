from __future__ import annotations

import pytest

from workbench.model.number_text import whole_number


@pytest.mark.parametrize(("text", "want"), [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_ascii_digits_are_a_number(text: str, want: int) -> None:
    assert whole_number(text) == want


@pytest.mark.parametrize("text", ["", " 1", "1 ", "-1", "+1", "1_0", "1.0", "²", "٣", "9" * 19, "9" * 5000])
def test_any_other_text_is_none(text: str) -> None:
    assert whole_number(text) is None
