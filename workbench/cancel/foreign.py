"""`call_foreign`: call a user's function so that it can be cancelled even if it never calls `check` or loops for ever.

Only an exception sent from another thread ends such a loop, and it may strike anywhere, for example inside a lock that
the whole process needs. So the function runs in a thread of its own, and the exception is sent only while that thread
is executing the user's own code, never inside a library or this package. The thread that called `call_foreign` waits
and sends the exception; it never receives one.
"""

from __future__ import annotations

import _thread
import contextvars
import ctypes
import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from workbench.cancel.token import Cancelled, check, current

__all__ = ["call_foreign"]

T = TypeVar("T")

#: How often the waiting thread looks whether the work was cancelled.
_LOOK_S = 0.02

_FOLDERS = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
_LIBRARIES = (*(f"{folder}{os.sep}" for folder in (*_FOLDERS, Path(__file__).parents[1])), "<frozen ")


class _Stop(Cancelled, SystemExit):
    """Exception that ends the thread of a user's function; as a SystemExit it prints no message."""


def call_foreign(function: Callable[..., T], *args: Any, **named: Any) -> T:
    """Call a user's function with the given arguments and return its result.

    Cancelling the work interrupts the function. If the running work has no token, the function is called in this
    thread, so that Ctrl-C interrupts it as usual.

    Raises Cancelled: the work was cancelled before the function returned.
    """
    check()
    if current() is None:
        return function(*args, **named)
    answers: list[T] = []
    raised: list[BaseException] = []
    frames: list[FrameType] = []
    over = _thread.allocate_lock()
    over.acquire()

    def run(context: contextvars.Context) -> None:
        frames.append(sys._getframe())
        try:
            answers.append(context.run(function, *args, **named))
        except BaseException as error:
            raised.append(error)
        finally:
            over.release()

    # Not a threading.Thread: that takes locks of the whole process at its beginning and its end.
    thread = _thread.start_new_thread(run, (contextvars.copy_context(),))
    stopping: BaseException | None = None
    while True:
        try:
            if over.acquire(timeout=_LOOK_S):
                break
            if stopping is None:
                check()
        except BaseException as error:  # also Ctrl-C, which reaches only this thread; a second one does not wait
            if stopping is not None:
                raise
            stopping = error
        if stopping is not None and not _stop(thread, frames, _file_of(function)):
            break
    frames.clear()
    if stopping is not None:
        raise stopping
    if raised:
        raise raised.pop()
    return answers[0]


def _stop(thread: int, frames: list[FrameType], own_file: str) -> bool:
    """Interrupt the thread of a user's function if it is executing the user's own code; False if the thread has ended.

    `thread` is the thread's id, `frames` holds the frame in which it began, and code in `own_file`, the function's
    file, counts as the user's own. The calling thread has just waited, so it owns the interpreter for some
    milliseconds: no other code runs between looking at the frame and sending the exception.
    """
    if not frames:
        return True
    innermost = frame = sys._current_frames().get(thread)
    while frame is not None and frame is not frames[0]:
        frame = frame.f_back
    if innermost is None or frame is None:
        # Another thread may have its number by now.
        return False
    if innermost is not frames[0] and _is_own(innermost.f_code.co_filename, own_file):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Stop))
    return True


def _file_of(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return code.co_filename if code is not None else ""


def _is_own(file: str, own_file: str) -> bool:
    library = file.startswith(_LIBRARIES) or "site-packages" in file or "dist-packages" in file
    return file == own_file or not library
