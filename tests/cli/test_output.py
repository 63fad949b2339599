from __future__ import annotations

from pathlib import Path

import pytest

from workbench.cli import output
from workbench.errors import InputError


def test_a_result_goes_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    output.emit("new", target)
    assert target.read_text(encoding="utf-8") == "new"
    with pytest.raises(InputError, match="cannot be written"):
        output.emit("new", tmp_path)


def test_json_refuses_what_json_cannot_say() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        output.to_json({"x": float("nan")})


def test_there_is_no_progress_bar_off_a_terminal() -> None:
    with output.progress_bar("comparing") as step:
        assert step is None
