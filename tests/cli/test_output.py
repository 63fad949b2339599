from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.cli import output
from workbench.errors import InputError


def test_a_file_keeps_its_old_content_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.html"
    target.write_text("old", encoding="utf-8")

    def interrupted(self: Path, to: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        output.emit("new", target)
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_existing_file_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    target.write_text("old", encoding="utf-8")
    output.emit("new", target)
    assert target.read_text(encoding="utf-8") == "new"


def test_a_folder_as_target_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        output.emit("new", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_name_as_target_is_bad_input() -> None:
    with pytest.raises(InputError, match="cannot be written"):
        output.emit("new", Path())


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    # As /dev/stdout, /dev/null and /dev/full: what is no file must not be replaced by one.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    output.emit("new", pipe)
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "r.html", tmp_path / "latest.html"
    link.symlink_to(target)
    output.emit("new", link)
    assert link.is_symlink() and target.read_text(encoding="utf-8") == "new"


def test_json_refuses_what_json_cannot_say() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        output.to_json({"x": float("nan")})


def test_there_is_no_progress_bar_off_a_terminal() -> None:
    with output.progress_bar("comparing") as step:
        assert step is None
