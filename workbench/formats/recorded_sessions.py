"""`read_sessions`: recordings of what a real scheduler did with jobs: Volcano, Kueue or kube-scheduler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from workbench.errors import InputError
from workbench.formats.file_bytes import on_disk, read_bytes
from workbench.formats.recorded_kube import KubeSession
from workbench.formats.recorded_kueue import KueueSession
from workbench.formats.recorded_moment import Record, RecordedSession
from workbench.formats.recorded_volcano import VolcanoSession
from workbench.formats.tables import unpacked
from workbench.model.counted import counted, name_list
from workbench.objects.fields import shown, wrong

__all__ = ["NoSession", "read_sessions"]

_MAX_BYTES = 1 << 28

#: Names of the files of a folder that are read.
_ENDS = re.compile(r"\.jsonl?(\.gz)?$")
#: Where the only record of a file is.
_ONLY = "line 1"
_EXPECTED = "a line per session: an object with jobs (Volcano), or with input and expected (Kueue, kube-scheduler)"


def read_sessions(path: str | Path, notes: list[str] | None = None) -> Iterator[RecordedSession]:
    """Read recorded sessions of Volcano, Kueue and kube-scheduler.

    `path`: a file, or a folder of which the files ``*.json`` and ``*.jsonl`` are read by name: one JSON object per
    line, or a JSON list of them; compressed with gzip or not (``*.jsonl.gz``). `notes`: receives a sentence for each
    file of a folder without sessions, for records that are no sessions, and for what is odd in sessions that are read
    all the same. Yields: objects that describe the recording, and sequences of single placements by Kueue, are left
    out. Raises InputError: a file cannot be read, a record is no session, or nothing is one.
    """
    told = [] if notes is None else notes
    if not on_disk(path).is_dir():
        yield from _sessions_of(Path(path), told)
        return
    files = sorted(one for one in on_disk(path).iterdir() if _ENDS.search(one.name) and one.is_file())
    if not files:
        expected = "files *.json or *.jsonl with recorded sessions"
        raise InputError("a folder without recordings", source=str(path), expected=expected)
    found, sequences = False, 0
    for file in files:
        try:
            for session in _sessions_of(file, told):
                found = True
                yield session
        except NoSession as error:
            sequences += error.sequences
            told.append(f"left out: {file}: {_placements(error.sequences) or 'no recorded session'}")
    if not found:
        names = name_list([file.name for file in files])
        raise _no_session(str(path), f"{names}: {_placements(sequences)}" if sequences else names, sequences)


class NoSession(InputError):
    """A file or folder in which nothing is a recorded session.

    `sequences`: sequences of single placements by Kueue that it has instead.
    """

    sequences: int = 0


def _no_session(source: str, got: str | None, sequences: int) -> NoSession:
    error = NoSession("no recorded session", source=source, got=got, expected=_EXPECTED)
    error.sequences = sequences
    return error


def _placements(number: int) -> str:
    """A sentence about records that are no sessions; empty if there are none."""
    return f"{counted(number, 'sequence')} of single placements by Kueue: no sessions" if number else ""


def _sessions_of(path: Path, notes: list[str]) -> Iterator[RecordedSession]:
    source, found, placements = str(path), False, 0
    odd: dict[str, list[str]] = {}
    # The first record that should be a session and is none: an error once it is clear that the file has sessions.
    unclear: InputError | None = None
    for where, data in _records(path, source):
        session = None
        if type(data) is dict:
            placements += _is_placements(data)
            session = _session(data, Record(source, where, odd))
            if session is None and unclear is None and not _is_placements(data):
                unclear = _unclear(data, source, where)
        elif where != _ONLY:
            raise InputError("no recorded session", source=source, where=where, got=shown(data), expected="an object")
        found = found or session is not None
        if found and unclear is not None:
            raise unclear
        if session is not None:
            yield session
    if not found:
        raise _no_session(source, _placements(placements) or None, placements)
    for places in odd.values():
        more = counted(len(places) - 1, "more place") if len(places) > 1 else ""
        notes.append(f"{source}: {places[0]}{more and f', and {more} like it'}")
    if placements:
        notes.append(f"left out: {source}: {_placements(placements)}")


def _session(data: dict[str, Any], record: Record) -> RecordedSession | None:
    """The session that a record is; None: it is of another kind."""
    given: Any = data.get("input")
    expected: Any = data.get("expected")
    answer = expected if type(expected) is dict else {}
    try:
        if "bound" in answer:
            return KubeSession.read(_name(data, "id", record.where), given, answer, record)
        if "cycles" in answer:
            return KueueSession.read(_name(data, "id", record.where), given, answer, record)
        if "jobs" in data:
            return VolcanoSession.read(_name(data, "seed", record.where), data, record)
    except InputError as error:
        raise error if error.source is not None else record.placed(error) from None
    return None


def _name(data: dict[str, Any], key: str, default: str) -> str:
    """The recording's own name of a session; without one, its place."""
    name = data.get(key, default)
    if type(name) not in (str, int) or name == "":
        raise wrong(key, name, "a name or a number")
    return str(name)


def _is_placements(data: dict[str, Any]) -> bool:
    return type(data.get("expected")) is dict and "steps" in data["expected"]


def _unclear(data: dict[str, Any], source: str, where: str) -> InputError | None:
    """The error of a record that has parts of a session; None for one that describes the recording."""
    if "hypernodes" in data:
        expected = "jobs, as in every session of Volcano"
        return InputError("no recorded session", source=source, where=where, got="no field jobs", expected=expected)
    if "input" not in data and "expected" not in data:
        return None
    answer = data.get("expected")
    if type(answer) is dict:
        got = f"only {name_list([*answer], 6)} in expected" if answer else "nothing in expected"
    else:
        got = f"expected: {shown(answer)}" if "expected" in data else "no field expected"
    wanted = "what the scheduler did, as expected.bound (kube-scheduler) or expected.cycles (Kueue)"
    return InputError("no recorded session", source=source, where=where, got=got, expected=wanted)


def _records(path: Path, source: str) -> Iterator[tuple[str, Any]]:
    """The records of a file, each with its place: those of a list, the lines of anything else."""
    content = unpacked(read_bytes(path, _MAX_BYTES), source, _MAX_BYTES)
    if content.lstrip()[:1] == b"[":
        try:
            for number, data in enumerate(orjson.loads(content), 1):
                yield f"record {number}", data
        except orjson.JSONDecodeError as error:
            raise InputError(f"not JSON: {error.msg}", source=source, where=f"line {error.lineno}") from None
        return
    if content.lstrip()[:9] == b'{"recordi':
        text = "a recording of live watch, no sessions of a scheduler"
        raise InputError(text, source=source, expected="workbench live compare FILE, without --recorded")
    try:
        # One object over several lines is no session, but it is no fault of a line either.
        yield _ONLY, orjson.loads(content)
        return
    except orjson.JSONDecodeError:
        pass
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            try:
                yield f"line {number}", orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise InputError(f"not JSON: {error.msg}", source=source, where=f"line {number}") from None
