"""A sample of the random fault schedules (`tests.controlplane.faults` runs more), and the Lease."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.faults import Schedule, prepare
from tests.controlplane.live import Live
from tests.controlplane.server import ControlPlane, started
from tests.waiting import until
from workbench.control.kinds import api_path
from workbench.errors import ClusterError
from workbench.live.kubernetes import lease as lease_module
from workbench.live.kubernetes.lease import Lease

pytestmark = [
    pytest.mark.slow,
    # A process that is killed ends in the middle of whatever it does; here that is a thread.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


@pytest.fixture(scope="module")
def live(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("faults")
    with started(folder / "server") as plane:
        cluster = Live(plane, folder)
        prepare(cluster)
        yield cluster
        cluster.close()


#: Between them, these draw every kind of fault; 34 lost the status of a Job when the API server was killed.
@pytest.mark.parametrize("seed", [4, 5, 11, 34])
def test_no_pod_is_bound_twice_and_every_gang_runs_in_spite_of_faults(live: Live, seed: int) -> None:
    Schedule(live, seed).run()


class Work:
    """Does nothing but note that it was started and stopped."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.started = threading.Event()
        self.closed = False

    def start(self) -> None:
        self.started.set()

    def run(self) -> None:
        self.stopped.wait(60)

    def stop(self) -> None:
        self.stopped.set()

    def close(self) -> None:
        self.closed = True


def held(live: Live, lease: Lease, work: Work, errors: list[BaseException]) -> threading.Thread:
    def hold() -> None:
        try:
            lease.hold(live.connection(), work)
        except ClusterError as error:
            errors.append(error)

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("DURATION_S", 6.0), ("RENEW_DEADLINE_S", 4.0), ("RETRY_S", 0.1)):
        monkeypatch.setattr(lease_module, name, seconds)


def holder(live: Live, name: str) -> Any:
    return live.writer.get(api_path("Lease", "default", name))["spec"]["holderIdentity"]


@pytest.mark.usefixtures("quick")
def test_one_of_two_works_and_the_other_follows_at_once_when_it_ends(live: Live) -> None:
    errors: list[BaseException] = []
    first, second = Work(), Work()
    one = held(live, Lease("default", "a", "first"), first, errors)
    until(first.started.is_set, "the first to work")
    two = held(live, Lease("default", "a", "second"), second, errors)
    time.sleep(0.5)
    assert not second.started.is_set() and holder(live, "a") == "first"
    first.stop()
    one.join(60)
    until(second.started.is_set, "the second to work")
    assert first.closed and holder(live, "a") == "second"
    second.stop()
    two.join(60)
    assert not errors and holder(live, "a") == ""


@pytest.mark.usefixtures("quick")
def test_a_holder_that_was_killed_is_followed_when_its_time_is_over_whatever_its_clock_says(live: Live) -> None:
    dead = Lease("default", "b", "dead")
    assert dead.acquire(live.writer) == "dead"
    path = api_path("Lease", "default", "b")
    stored = live.writer.get(path)
    stored["spec"]["renewTime"] = "2099-01-01T00:00:00.000000Z"
    live.writer.write("PUT", path, stored)
    work, errors = Work(), []  # type: ignore[var-annotated]
    thread = held(live, Lease("default", "b", "next"), work, errors)
    until(work.started.is_set, "the next to work")
    work.stop()
    thread.join(60)
    assert not errors


@pytest.mark.usefixtures("quick")
def test_who_loses_the_lease_stops(live: Live) -> None:
    work, errors = Work(), []  # type: ignore[var-annotated]
    thread = held(live, Lease("default", "c", "me"), work, errors)
    until(work.started.is_set, "me to work")
    path = api_path("Lease", "default", "c")
    stored = live.writer.get(path)
    stored["spec"]["holderIdentity"] = "thief"
    live.plane.ask("PUT", path, stored)
    # The thief renews, so nobody takes it for gone.
    give_up = threading.Event()

    def renew() -> None:
        while not give_up.wait(0.3):
            stored = live.writer.get(path)
            stored["spec"]["renewTime"] = f"2026-01-01T00:00:{time.time() % 60:09.6f}Z"
            live.plane.ask("PUT", path, stored)

    thief = threading.Thread(target=renew, daemon=True)
    thief.start()
    thread.join(60)
    give_up.set()
    thief.join()
    assert work.closed and "thief holds it" in str(errors[0])
