"""The readable log of a cluster: who did what with which object, and when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from workbench.control.kinds import Ref
from workbench.model.value import Working

__all__ = ["EventLog", "LogLine"]


class LogLine(NamedTuple):
    """One line of the log.

    `at`: seconds since the start of the cluster. `key`: the object that the line is about. `reason`: what happened, in
    one word, such as ``Scheduled``. `warning`: whether the line tells of a problem that the user should look at.
    """

    at: float
    key: Ref
    reason: str
    message: str
    warning: bool = False

    def __str__(self) -> str:
        return f"{self.at:8.1f}s  {self.reason:<14} {self.key}: {self.message}"


class EventLog(Working):
    """The lines of a cluster's log, oldest first."""

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        self._last: dict[Ref, tuple[str, str]] = {}

    def restore(self, lines: Iterable[LogLine]) -> None:
        """Replace all lines by those of a saved log."""
        self.lines[:] = lines
        self._last = {line.key: (line.reason, line.message) for line in self.lines}

    def say(self, at: float, key: Ref, reason: str, message: str, *, warning: bool = False, again: bool = True) -> None:
        """Add a line about an object to the log.

        `at`: seconds since the start of the cluster. `key`, `reason`, `message`, `warning`: as in `LogLine`. `again`:
        True: add the line even if the last line about this object has the same reason and message.
        """
        if not again and self._last.get(key) == (reason, message):
            return
        self._last[key] = reason, message
        self.lines.append(LogLine(at, key, reason, message, warning))
