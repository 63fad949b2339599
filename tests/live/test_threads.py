"""Work that must go on whatever happens."""

from __future__ import annotations

import threading

from workbench.errors import ClusterError
from workbench.live.threads import keep_on


class _Clock(threading.Event):
    """An event that is set after some waits, and remembers how long they were to be."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._most = most

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0.0)
        if len(self.waits) >= self._most:
            self.set()
        return self.is_set()


def test_a_step_that_fails_is_begun_anew_after_a_pause_that_doubles_up_to_half_a_minute() -> None:
    clock, told = _Clock(10), []
    keep_on(lambda: 1 / 0, clock, lambda error, text: told.append(text))
    assert clock.waits == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    assert set(told) == {told[0]} and told[0].startswith("internal error: ZeroDivisionError at <lambda>, line ")


def test_a_step_that_goes_well_forgets_the_pauses() -> None:
    clock, steps = _Clock(3), iter([False, False, True, False])

    def step() -> None:
        if not next(steps):
            raise ClusterError("away")

    keep_on(step, clock, lambda error, text: None)
    assert clock.waits == [0.2, 0.4, 0.2]


def test_only_texts_of_this_package_are_quoted() -> None:
    told: list[str] = []
    for error in (ClusterError("the cluster is away"), ValueError("Bearer s3cret")):

        def step(error: Exception = error) -> None:
            raise error

        keep_on(step, _Clock(1), lambda _, text: told.append(text))
    assert told[0] == "the cluster is away"
    assert "s3cret" not in told[1] and "ValueError" in told[1]


def test_what_fails_while_it_is_stopped_is_not_told() -> None:
    stopped, told = threading.Event(), []

    def step() -> None:
        stopped.set()
        raise ClusterError("the connection is closed")

    keep_on(step, stopped, lambda error, text: told.append(text))
    assert told == []
