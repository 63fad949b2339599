"""`Recording`: what a live cluster went through, written to a file while it was followed, and seen again later."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, NamedTuple

import orjson

from workbench.control.kinds import Ref, key_of
from workbench.control.object_table import ObjectTable
from workbench.control.store import Object, StoreChange
from workbench.errors import InputError
from workbench.live.kubernetes.cluster_view import ClusterView
from workbench.live.kubernetes.view import LiveView
from workbench.objects.fields import shown
from workbench.policies.contract import Policy

__all__ = ["Recording", "is_recording", "record"]

_HEAD = '{"recording":'
_VERSION = 1

#: Most seconds of a recording: 300 years.
_LONGEST_S = 1e10


class _Step(NamedTuple):
    """Seconds since the beginning, objects that are new or changed, and those that are gone."""

    seconds: float
    put: dict[Ref, Object]
    gone: list[Ref]


def record(view: LiveView, file: IO[bytes], clock: Callable[[], float] = time.time) -> None:
    """Write what a view knows, and from now on what each of its updates brings, a line of JSON each.

    `file`: every line is flushed, so that the file is whole whenever the program ends. `clock`: seconds since 1970.
    """
    began = clock()

    def write(line: dict[str, Any]) -> None:
        file.write(orjson.dumps(line) + b"\n")
        file.flush()

    def changed(changes: Sequence[StoreChange]) -> None:
        # Of several changes of an object within one update the last counts.
        last = {one.key: one.after for one in changes}
        put = [data for data in last.values() if data is not None]
        gone = [list(key) for key, data in last.items() if data is None]
        write({"t": round(clock() - began, 3), "put": put, "gone": gone})

    moment = datetime.fromtimestamp(began, UTC).isoformat(timespec="milliseconds")
    write({"recording": _VERSION, "context": view.cluster.context, "began": moment})
    write({"t": 0.0, "put": view.objects, "gone": []})
    view.heard.append(changed)


def is_recording(text: str) -> bool:
    """Whether a text begins as a recording does."""
    return text.startswith(_HEAD)


class Recording(ClusterView):
    """A recorded cluster at one of its moments.

    `context`: the context that was followed. `clocks`: hours, minutes, seconds and tenths (UTC) of each moment. Raises
    InputError: no such file, with the line that is none.

    `text`: content of a file that `record` wrote. `name`: name of the file, for messages. `policy`: answers what would
    have happened to pending jobs (`what_if`).
    """

    def __init__(self, text: str, name: str = "recording", policy: str | Policy = "volcano") -> None:
        self._table = ObjectTable()
        super().__init__(self._table, policy)
        # What follows the last line break was not written to its end.
        head, *lines = text.split("\n")[:-1] or [""]
        self.context, began = _head(head, name)
        self._steps = [_step(line, name, number) for number, line in enumerate(lines, 2)]
        if not self._steps:
            raise InputError(
                "a recording without a moment", source=name, expected="a line with the objects at its begin"
            )
        for number, (before, after) in enumerate(zip(self._steps, self._steps[1:]), 3):
            if after.seconds < before.seconds:
                raise InputError(
                    "time goes back",
                    source=name,
                    where=f"line {number}",
                    got=str(after.seconds),
                    expected=f">= {before.seconds}",
                )
        try:
            moments = [began + timedelta(seconds=step.seconds) for step in self._steps]
        except OverflowError:
            expected = "moments before the year 10000"
            raise InputError("not a time", source=name, where="line 1", got=str(began), expected=expected) from None
        self.clocks = tuple(moment.strftime("%H:%M:%S.%f")[:-5] for moment in moments)
        self.step = 0
        self.seek(0)

    @classmethod
    def read(cls, path: str | Path, policy: str | Policy = "volcano") -> Recording:
        """Read a file that `record` wrote; a file that cannot be read raises `InputError`."""
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(str(error), source=str(path)) from None
        if not is_recording(text):
            raise InputError("no recording", source=str(path), got=shown(text[:40]), expected=f"{_HEAD} …")
        return cls(text, str(path), policy)

    def seek(self, step: int) -> None:
        """Go to a moment, forwards or backwards.

        `step`: from 0 to the number of `clocks`, exclusive; an `InputError` is raised beyond.
        """
        if not 0 <= step < len(self._steps):
            raise InputError(
                "no such moment", source=self.context, got=str(step), expected=f"0 to {len(self._steps) - 1}"
            )
        wanted: dict[Ref, Object] = {}
        for one in self._steps[: step + 1]:
            wanted.update(one.put)
            for key in one.gone:
                wanted.pop(key, None)
        for data in self._table.contents():
            if key_of(data) not in wanted:
                self._table.remove(key_of(data))
        for key, data in wanted.items():
            if self._table.get(key) is not data:
                self._table.put(key, data)
        self.step = step
        self._take_over()


def _head(line: str, name: str) -> tuple[str, datetime]:
    """The context and the begin that the first line tells."""
    try:
        data = orjson.loads(line)
        version, context, began = data["recording"], str(data["context"]), datetime.fromisoformat(data["began"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        text = f"no head of a recording ({error})"
        raise InputError(text, source=name, where="line 1", expected=f"{_HEAD} …") from None
    if version != _VERSION:
        got, expected = str(version), str(_VERSION)
        raise InputError("another version of recordings", source=name, where="line 1", got=got, expected=expected)
    return context, began


def _step(line: str, name: str, number: int) -> _Step:
    try:
        data = orjson.loads(line)
        gone = [Ref(*map(str, key)) for key in data["gone"]]
        seconds = data["t"]
        if type(seconds) not in (int, float) or not 0 <= seconds < _LONGEST_S:
            raise ValueError(f"t is {shown(seconds)}")
        return _Step(float(seconds), {key_of(one): one for one in data["put"]}, gone)
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
        expected = "an object with t, put and gone"
        raise InputError(
            f"no moment of a recording ({error})", source=name, where=f"line {number}", expected=expected
        ) from None
