"""`Token`, which cancels a piece of work, and `check`, which the work calls between its steps.

The token is not passed from function to function: it belongs to the context (`contextvars`) in which the work runs, so
that a policy, a metric or a compiled search deep inside can check it. Without a token the work cannot be cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Cancelled", "Token", "check", "current", "finish", "reached"]

_current: ContextVar[Token | None] = ContextVar("workbench_cancel_token", default=None)

_FATE, _CANCELLED, _FINISHED = "fate", "cancelled", "finished"


class Cancelled(BaseException):
    """Raised by `check` once the work was cancelled.

    Not an Exception, so that ``except Exception`` does not catch it.
    """


class Token:
    """The state of one piece of work: running, cancelled or finished.

    `tick`: called at every `check`, in the thread of the work; for reporting progress. `stage`: what the work does now,
    how much of it is done, and of how much (0: unknown), as `reached` last said it.
    """

    def __init__(self, tick: Callable[[], None] | None = None) -> None:
        self.tick = tick
        self.stage: tuple[str, int, int] = ("", 0, 0)
        # dict.setdefault is one step for every other thread: the first of two fates stays.
        self._fate: dict[str, str] = {}

    @property
    def cancelled(self) -> bool:
        return self._fate.get(_FATE) is _CANCELLED

    def cancel(self) -> bool:
        """Ask the work to stop; returns False if it has already finished."""
        return self._fate.setdefault(_FATE, _CANCELLED) is _CANCELLED

    def finish(self) -> None:
        """Mark the work as done, so that its result counts and it can no longer be cancelled.

        Raises Cancelled: the work was cancelled before it finished, and its result must not be used.
        """
        if self._fate.setdefault(_FATE, _FINISHED) is not _FINISHED:
            raise Cancelled

    @contextmanager
    def watched(self) -> Iterator[Token]:
        """Context manager for the work: inside it, `check` raises `Cancelled` once this token is cancelled."""
        before = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(before)


def current() -> Token | None:
    """The token of the work that runs in this context; None if the work cannot be cancelled."""
    return _current.get()


def check() -> None:
    """Raise `Cancelled` if the work in this context was cancelled; otherwise costs a fraction of a microsecond.

    Call it between steps, while all data are consistent: before a policy, a gang, a node or a picture.

    Raises Cancelled: the token was cancelled.
    """
    token = _current.get()
    if token is None:
        return
    if token.cancelled:
        raise Cancelled
    if token.tick is not None:
        token.tick()


def reached(stage: str, done: int = 0, total: int = 0) -> None:
    """Say how far the work in this context is, then `check`; without a token nothing happens.

    `stage`: what the work does now, such as ``reading``. `done`, `total`: how much of the stage is done, and of how
    much; 0: unknown.
    """
    token = _current.get()
    if token is not None:
        token.stage = (stage, done, total)
        check()


def finish() -> None:
    """Mark the work in this context as done (`Token.finish`); without a token nothing happens."""
    token = _current.get()
    if token is not None:
        token.finish()
