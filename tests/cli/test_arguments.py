from __future__ import annotations

import pytest

from workbench.cli.arguments import gpu_list, key_values
from workbench.errors import InputError


@pytest.mark.parametrize(
    ("text", "want"), [(None, None), ("", []), ("0", [0]), ("0, 3,4-6", [0, 3, 4, 5, 6]), ("4-4", [4]), ("1,1", [1, 1])]
)
def test_lists_of_gpus(text: str | None, want: list[int] | None) -> None:
    assert gpu_list("--free", text) == want


@pytest.mark.parametrize("text", ["a", "-1", "1-", "1-2-3", "0-5000", "²", "9" * 5000, "0-" + "9" * 5000])
def test_what_is_no_list_of_gpus_names_the_option(text: str) -> None:
    with pytest.raises(InputError, match="--avoid"):
        gpu_list("--avoid", text)


def test_a_range_that_runs_down_is_told_turned_round() -> None:
    with pytest.raises(InputError) as caught:
        gpu_list("--free", "0,7-4")
    assert str(caught.value) == "--free: a range that runs down (found '7-4', expected '4-7')"


def test_values_may_hold_equals_signs_and_the_last_wins() -> None:
    assert key_values("--set", ["a=1", "b=x=1,y=2", "a=3"]) == {"a": "3", "b": "x=1,y=2"}


@pytest.mark.parametrize("text", ["a", "=1", ""])
def test_a_pair_needs_a_key(text: str) -> None:
    with pytest.raises(InputError, match="KEY=VALUE"):
        key_values("--set", [text])
