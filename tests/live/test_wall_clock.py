"""The clock of a live cluster while somebody, or a time server, sets the machine's time."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from workbench.control.event_log import EventLog
from workbench.control.kinds import Ref
from workbench.control.memory_store import MemoryStore
from workbench.control.reconcilers.statuses import FinishedJobs
from workbench.live.kubernetes.loop import WallClock

HOUR = 3600.0


def _stamp(seconds_ago: float) -> str:
    return datetime.fromtimestamp(time.time() - seconds_ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_what_is_due_soon_stays_due_soon_while_the_time_is_set(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = WallClock()
    before, real = clock.now, time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    assert 0 <= clock.now - before < 10
    assert clock.stamp == _stamp(0) or clock.stamp == _stamp(1)


def test_a_written_time_is_placed_by_its_age() -> None:
    clock = WallClock()
    for ago in (0, 30, 2 * HOUR):
        at = clock.seconds_of(_stamp(ago))
        assert at is not None and at == pytest.approx(clock.now - ago, abs=2)
    assert clock.seconds_of("yesterday") is None


@pytest.mark.parametrize(("ago", "left"), [(10, 590), (2 * HOUR, None), (-HOUR, 600)])
def test_a_finished_job_lives_from_its_end_on_also_when_the_operator_began_later(
    ago: float, left: float | None
) -> None:
    """A Job that ended in the future, because the time was set back since, lives from now on."""
    clock = WallClock()
    store = MemoryStore(clock)
    status = {
        "state": {"phase": "Completed"},
        "conditions": [{"status": "Completed", "lastTransitionTime": _stamp(ago)}],
    }
    key = Ref("Job", "default", "train")
    spec = {"ttlSecondsAfterFinished": 600, "tasks": []}
    data = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "default"},
    }
    store.create({**data, "spec": spec})
    store.patch_status(key, status)
    due = FinishedJobs(store, clock, EventLog()).reconcile(key)
    assert (store.get(key) is None) is (left is None)
    assert due == (None if left is None else pytest.approx(left, abs=3))
