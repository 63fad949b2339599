"""A cluster whose work is broken off, by Ctrl-C, a policy's exception or a token, goes on as if nothing had been."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.control.manifests import job, node, small_cluster, task
from tests.profiles import max_examples
from workbench.cancel import Cancelled, Token
from workbench.control.cluster import EmbeddedCluster
from workbench.control.event_log import EventLog
from workbench.control.kinds import Ref
from workbench.control.manager import Manager
from workbench.control.memory_store import MemoryStore
from workbench.control.reconciler import Reconciler
from workbench.model.clock import VirtualClock
from workbench.policies.registry import get_policy


def _made() -> EmbeddedCluster:
    cluster = EmbeddedCluster(start_seconds=1, run_seconds=5)
    cluster.submit(*small_cluster(4))
    restarting = [{"event": "PodFailed", "action": "RestartJob"}]
    cluster.submit(
        job("a", [task(replicas=2)], policies=restarting),
        job("b", [task(replicas=3)], policies=[{"event": "*", "action": "TerminateJob"}]),
        job("c"),
    )
    return cluster


def _live(cluster: EmbeddedCluster, run: Callable[[float | None], object]) -> tuple[Any, ...]:
    run(2)
    cluster.fail("a-worker-0")
    run(None)
    return cluster.now, cluster.log, cluster.warnings, cluster.store.contents()


def _phases(cluster: EmbeddedCluster) -> dict[str, str]:
    return {row.name: row.phase for row in cluster.jobs()}


def _undisturbed() -> dict[str, str]:
    cluster = _made()
    cluster.run()
    return _phases(cluster)


def _broken_off(run: Callable[[], object], at: int) -> bool:
    """Call a function, and raise KeyboardInterrupt in the so manieth call of a function of the room `control`."""
    calls = 0
    # Generators are closed by the interpreter, which drops what is raised then.
    apart = ("_recover", "<genexpr>")

    def trace(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        if "/workbench/control/" in frame.f_code.co_filename and frame.f_code.co_name not in apart:
            calls += 1
            if calls == at:
                raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
        return False
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)


@pytest.mark.slow
@max_examples(200)
@given(st.integers(1, 6_000))
def test_a_cluster_that_ctrl_c_breaks_off_anywhere_ends_like_an_undisturbed_one(at: int) -> None:
    cluster = _made()

    def run(until: float | None) -> None:
        if _broken_off(lambda: cluster.run(until), at):
            cluster.run(until)

    undisturbed = _made()
    assert _live(cluster, run) == _live(undisturbed, undisturbed.run)


@pytest.mark.parametrize("checks", [1, 2, 5, 20, 60])
def test_a_cluster_that_is_given_up_is_saved_between_two_times(checks: int, tmp_path: Path) -> None:
    cluster, undisturbed = _made(), _made()
    token = Token()

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal checks
        if frame.f_code.co_name == "check":
            checks -= 1
            if not checks:
                token.cancel()

    sys.settrace(count)
    try:
        with pytest.raises(Cancelled), token.watched():
            cluster.run()
    finally:
        sys.settrace(None)
    cluster.save(tmp_path / "store.json")
    resumed = EmbeddedCluster()
    resumed.resume(tmp_path / "store.json")
    resumed.run()
    undisturbed.run()
    assert [str(line) for line in resumed.log] == [str(line) for line in undisturbed.log]
    assert resumed.store.contents() == undisturbed.store.contents()


def test_a_submission_that_is_broken_off_stores_nothing() -> None:
    cluster = _made()
    before = cluster.store.contents()
    for at in range(1, 40, 3):
        if _broken_off(lambda: cluster.submit(job("d"), job("e")), at):
            assert cluster.store.contents() == before, at
    cluster.run()
    assert _phases(cluster) == _undisturbed()


def test_a_policy_that_fails_once_loses_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = _made()
    chosen = get_policy("volcano")
    schedule = type(chosen).schedule
    sessions = []

    def fails_once(self: Any, *arguments: Any) -> Any:
        sessions.append(self)
        if len(sessions) == 1:
            raise ZeroDivisionError
        return schedule(self, *arguments)

    monkeypatch.setattr(type(chosen), "schedule", fails_once)
    with pytest.raises(ZeroDivisionError):
        cluster.run()
    cluster.run()
    assert _phases(cluster) == _undisturbed()


class _Fails(Reconciler):
    """Does its work at the third try."""

    kinds = frozenset({"Node"})
    tries = 0

    def observe(self, change: Any) -> Any:
        return [change.key]

    def reconcile(self, key: Any) -> float | None:
        self.tries += 1
        if self.tries < 3:
            raise KeyboardInterrupt
        return None


def test_a_key_leaves_the_queue_when_its_work_is_done() -> None:
    clock = VirtualClock()
    store = MemoryStore(clock)
    store.create(node("n0"))
    reconciler = _Fails(store, clock, EventLog())
    manager = Manager(store, clock, [[reconciler]])
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            manager.step()
    assert manager.step() and not manager.step()
    assert reconciler.tries == 3


def test_changes_are_undone_newest_first_and_made_again() -> None:
    store = MemoryStore(VirtualClock())
    store.create(node("n0"))
    version, before = store.version, store.contents()
    store.delete(Ref("Node", "", "n0"))
    store.create(node("n1"))
    after = store.contents()
    undone = store.rewind(version)
    assert (store.version, store.contents()) == (version, before)
    store.redo(undone)
    assert (store.version, store.contents()) == (version + 2, after)
    assert [change.version for change in store.watch(version)] == [version + 1, version + 2]
