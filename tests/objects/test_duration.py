from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.objects.quantity import read_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10m", 600),
        ("1h30m", 5400),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("-2s", -2),
        ("+3s", 3),
        ("1s500ms", 1.5),
        ("7us", 7e-6),
        ("7µs", 7e-6),
        ("1000000000ns", 1),
        ("0", 0),
        ("-0", 0),
    ],
)
def test_a_duration_of_go(text: str, seconds: float) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "m", "10 m", "10d", "1h-5m", ".s", "ten", "1h\n", "３m", "2600000h"])
def test_what_go_refuses(text: str) -> None:
    with pytest.raises(InputError, match="not a duration"):
        read_duration(text)
