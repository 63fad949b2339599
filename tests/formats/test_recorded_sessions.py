"""Recorded sessions of which a file may hold too much."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats import recorded_sessions
from workbench.formats.recorded_sessions import read_sessions


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_file_that_is_too_large_is_refused(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_sessions, "_MAX_BYTES", 1_000)
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(gzip.compress(b"\n" * 2_000) if packed else b"\n" * 2_000)
    with pytest.raises(InputError, match="too large"):
        list(read_sessions(path))


def test_a_device_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_sessions, "_MAX_BYTES", 1_000)
    with pytest.raises(InputError, match="too large"):
        list(read_sessions("/dev/zero"))


def test_broken_gzip_is_one_error(tmp_path: Path) -> None:
    whole = gzip.compress(b"x" * 10_000)
    path = tmp_path / "sessions.jsonl.gz"
    path.write_bytes(whole[:20] + b"\xff\xff\xff" + whole[23:])
    with pytest.raises(InputError, match="not gzip"):
        list(read_sessions(path))


@pytest.mark.parametrize(("text", "place"), [("", ""), ('{"not": "a session"}\n', ""), ("[1]\n", "record 1")])
def test_a_file_without_a_session_is_refused(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "recorded.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="no recorded session") as caught:
        list(read_sessions(path))
    assert place in str(caught.value)
