"""`Loading`: reading a file in the background, so that the page can show how far it is and cancel it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from workbench.cancel import current, finish
from workbench.widgets.worker import Worker

__all__ = ["Loading"]

T = TypeVar("T")

#: Seconds to wait for a file before the page is told to wait: small files are shown in the answer to the request.
_PROMPT_S = 0.1

#: Seconds between two reports of the progress.
_PAUSE_S = 0.2


class Loading(Generic[T]):
    """Reads one file at a time in a background thread and keeps what was read until somebody takes it.

    Only the reading happens in the background. Whoever owns the widgets takes the result in the kernel's thread, so
    that no edit runs at the same time.

    `tell`: sends the page a message: ``loading`` with the progress in words, ``loaded`` when the result can be taken.
    """

    def __init__(self, tell: Callable[[str, dict[str, Any]], None]) -> None:
        self._tell = tell
        self._worker = Worker()
        #: The result of the last reading or its exception; empty until it is there and after it was taken.
        self._found: list[T | Exception] = []
        self._text = ""
        #: Name of the file that was read last.
        self.name = ""

    @property
    def state(self) -> dict[str, Any]:
        """State for a page that has just been opened, as a JSON-ready dict.

        ``loading`` is the progress in words (empty: no file is being read), ``loaded`` whether a result waits to be
        taken.
        """
        return {"loading": self._text if self._worker.busy else "", "loaded": bool(self._found)}

    def begin(self, name: str, read: Callable[[], T]) -> bool:
        """Begin to call `read`, which reads the file `name`; a reading that is under way is cancelled.

        Returns: whether the result can already be taken. If not, the page is told when it can.
        """
        self.cancel()
        found: list[T | Exception] = []
        delivery: dict[str, str] = {}
        due = time.monotonic()
        self.name, self._found, self._text = name, found, f"reading {name} …"

        def tick() -> None:
            nonlocal due
            token = current()
            if token is not None and time.monotonic() >= due:
                due = time.monotonic() + _PAUSE_S
                self._text = f"reading {name}: {_in_words(*token.stage)}"
                if delivery:
                    self._tell("loading", {"text": self._text})

        def work() -> None:
            try:
                result: T | Exception = read()
            except Exception as error:
                result = error
            finish()
            found.append(result)
            if delivery.setdefault("by", "answer") == "news":
                self._tell("loaded", {})

        self._worker.start(work, tick)
        try:
            self._worker.wait(_PROMPT_S)
        except KeyboardInterrupt:
            self.cancel()
            raise
        return delivery.setdefault("by", "news") == "answer"

    def take(self) -> T | None:
        """Return what was read and forget it; None if nothing has been read since the last call.

        Raises Exception: the exception with which the reading failed.
        """
        if not self._found:
            return None
        result = self._found.pop()
        if isinstance(result, Exception):
            raise result
        return result

    def cancel(self) -> None:
        """Give up the reading, and forget a result that nobody took."""
        self._worker.cancel()
        self._found = []

    def wait(self) -> None:
        """Wait until the reading has ended."""
        self._worker.wait()


def _in_words(stage: str, done: int, total: int) -> str:
    if stage.endswith(" bytes"):
        size = f"{(total or done) / 1e6:,.1f} MB"
        return f"{stage.removesuffix(' bytes')}, {size}"
    return f"{done:,} {stage}" if done else stage or "beginning"
