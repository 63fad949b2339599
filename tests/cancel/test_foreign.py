"""Tests that a user's function is stopped when nothing else would stop it, and only inside its own code."""

from __future__ import annotations

import contextvars
import sys
import threading
import time

import pytest

from workbench.cancel import Cancelled, Token, call_foreign, check, foreign


def cancelled_once(begun: threading.Event, token: Token) -> threading.Thread:
    def cancel() -> None:
        assert begun.wait(60)
        token.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    return thread


def stopped(function, begun):
    """Whether a function that runs until it is cancelled is."""
    token = Token()
    thread = cancelled_once(begun, token)
    with token.watched(), pytest.raises(Cancelled):
        call_foreign(function)
    thread.join()
    return True


def test_without_a_token_it_is_a_plain_call():
    assert call_foreign(threading.get_ident) == threading.get_ident()


def test_it_answers_and_raises_as_the_function_does():
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(3)

    def fails():
        raise LookupError("no idea")

    with Token().watched():
        assert call_foreign(lambda a, b: a - b + variable.get(), 5, b=2) == 6
        with pytest.raises(LookupError, match="no idea") as raised:
            call_foreign(fails)
    assert any(entry.name == "fails" for entry in raised.traceback)


def test_a_cancelled_token_does_not_even_begin():
    token, ran = Token(), []
    token.cancel()
    with token.watched(), pytest.raises(Cancelled):
        call_foreign(ran.append, 1)
    assert ran == []


def test_a_loop_without_end_ends():
    begun = threading.Event()

    def forever():
        begun.set()
        while True:
            pass

    assert stopped(forever, begun)


def test_a_loop_that_catches_everything_ends_too():
    begun, caught = threading.Event(), []

    def stubborn():
        begun.set()
        while len(caught) < 3:
            try:
                while True:
                    pass
            except BaseException as error:
                caught.append(error)

    assert stopped(stubborn, begun)
    assert len(caught) == 3


def test_it_is_never_stopped_inside_a_library(monkeypatch):
    """A library's code may hold a lock that the process needs; here the library is a module of this test."""
    begun, sent = threading.Event(), []
    library = {"time": time, "begun": begun, "token": (token := Token())}
    source = "def busy():\n    begun.set()\n    end = time.monotonic() + 0.3\n    while time.monotonic() < end: pass\n"
    exec(compile(source, str(sys.modules["json"].__file__), "exec"), library)
    real = foreign.ctypes.pythonapi.PyThreadState_SetAsyncExc
    monkeypatch.setattr(foreign.ctypes.pythonapi, "PyThreadState_SetAsyncExc", lambda *a: sent.append(real(*a)))
    reached = []

    def calls_a_library():
        library["busy"]()
        reached.append(sent.copy())
        while True:
            pass

    thread = cancelled_once(begun, token)
    with token.watched(), pytest.raises(Cancelled):
        call_foreign(calls_a_library)
    thread.join()
    assert reached == [[]] and sent


def test_what_it_calls_of_ours_stops_at_its_checks():
    begun = threading.Event()

    def places():
        begun.set()
        while True:
            check()

    assert stopped(places, begun)


def test_nothing_is_printed_and_the_thread_is_gone(capfd):
    begun, threads = threading.Event(), []

    def forever():
        threads.append(threading.get_ident())
        begun.set()
        while True:
            pass

    assert stopped(forever, begun)
    while threads[0] in sys._current_frames():
        time.sleep(0.001)
    assert capfd.readouterr() == ("", "")
