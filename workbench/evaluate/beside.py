"""`beside_each_other`: calls that share large values, each in a process of its own, with results as of calls in turn.

A process begins as a copy of this one (fork), so that nothing has to be sent to it; its result comes back without the
values that both have.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BytesIO
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from workbench.cancel import check
from workbench.cancel.progress import LOG

__all__ = ["beside_each_other"]

T = TypeVar("T")

#: Seconds between two looks whether the work was cancelled.
_LOOK_S = 0.1


def beside_each_other(
    calls: Sequence[Callable[[], T]],
    jobs: int,
    shared: Sequence[object] = (),
    started: Callable[[int], None] = lambda number: None,
) -> list[T]:
    """Results of the calls in their order, computed by at most `jobs` processes at a time.

    Raises Cancelled: the work was cancelled; no process is left.

    Parameters
    ----------
    calls : sequence of callable
        Without arguments; none sees what another one changes.
    jobs : int
        1: in this process, one after another; so, too, where a system cannot copy a process.
    shared : sequence of object
        Values that the calls only read: where a result refers to one, it refers to this very object.
    started : callable, optional
        Called with the number of each call when it begins.

    Notes
    -----
    A process that fails, or whose result cannot be sent, is replaced by a call in this process, which raises what
    there is to raise. If the system has ended the process, such as for lack of memory, the log ``workbench`` gets a
    warning.
    """
    if min(jobs, len(calls)) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return [_begun(call, number, started) for number, call in enumerate(calls)]
    context = multiprocessing.get_context("fork")
    results: dict[int, T] = {}
    running: dict[Connection, tuple[int, Any]] = {}
    waiting = list(enumerate(calls))
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                number, call = waiting.pop(0)
                started(number)
                ours, theirs = context.Pipe(duplex=False)
                unused = [*running, ours]
                process = context.Process(target=_answer, args=(theirs, unused, call, shared), daemon=True)
                process.start()
                theirs.close()
                running[ours] = number, process
            check()
            for ready in wait(list(running), _LOOK_S):
                assert isinstance(ready, Connection)
                number, process = running.pop(ready)
                try:
                    results[number] = _SharingUnpickler(BytesIO(ready.recv_bytes()), shared).load()
                except (EOFError, OSError):  # it has ended before it sent its result, or (OSError) while it sent it
                    process.join()
                    _warn(process.exitcode)
                    results[number] = calls[number]()
                finally:
                    ready.close()
                process.join()
    finally:
        for ours, (_, process) in running.items():
            ours.close()
            process.terminate()
            process.join()
    return [results[number] for number in range(len(calls))]


def _warn(exit_code: int | None) -> None:
    """Warn of a process that has ended without a result, unless it has ended by itself after an exception."""
    if exit_code:
        by = f"signal {-exit_code}" if exit_code < 0 else f"exit status {exit_code}"
        LOG.warning("a process ended early (%s), perhaps for lack of memory; its work is done again in this one", by)


def _begun(call: Callable[[], T], number: int, started: Callable[[int], None]) -> T:
    started(number)
    check()
    return call()


def _answer(
    theirs: Connection, unused: Sequence[Connection], call: Callable[[], Any], shared: Sequence[object]
) -> None:
    """Send the result of a call; nothing if there is none, so that the other end sees the end alone."""
    # Copies of the reading ends: with one of them open, a process whose reader was killed would write for ever.
    for each in unused:
        each.close()
    # Ctrl-C reaches every process of a terminal; the one that waits ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    written = BytesIO()
    try:
        _SharingPickler(written, shared).dump(call())
    except Exception:
        return
    with suppress(OSError):  # nobody reads any more
        theirs.send_bytes(written.getvalue())


class _SharingPickler(pickle.Pickler):
    """Writes a result in which shared values are told by their numbers."""

    def __init__(self, file: BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._numbers = {id(value): number for number, value in enumerate(shared)}

    def persistent_id(self, value: object) -> int | None:
        return self._numbers.get(id(value))


class _SharingUnpickler(pickle.Unpickler):
    """Reads what `_SharingPickler` wrote."""

    def __init__(self, file: BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, number: int) -> object:
        return self._shared[number]
