"""A Lease is held by one process at a time, whatever becomes of its requests."""

from __future__ import annotations

import json
import threading

import httpx
import pytest

from tests.waiting import PATIENCE_S, until
from workbench.errors import ClusterError
from workbench.live.kubernetes import lease as module
from workbench.live.kubernetes.configuration import Cluster
from workbench.live.kubernetes.lease import Lease
from workbench.live.kubernetes.writer import Writer


class _Server:
    """Keeps one Lease; its answers to the candidates in `hang` do not come."""

    def __init__(self) -> None:
        self.lease: dict[str, object] | None = None
        self.writes = 0
        self.hang, self.hanging = threading.Event(), threading.Event()
        self.over = threading.Event()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.hang.is_set():
            self.hanging.set()
            self.over.wait(2 * PATIENCE_S)
        if request.method == "GET":
            return httpx.Response(404) if self.lease is None else httpx.Response(200, json=self.lease)
        self.lease = json.loads(request.content)
        self.writes += 1
        return httpx.Response(200, json=self.lease)


class _Work:
    def __init__(self) -> None:
        self.stopped, self.closed = threading.Event(), threading.Event()
        self.began = threading.Event()

    def start(self) -> None:
        self.began.set()

    def run(self) -> None:
        # A step that hangs until its requests are ended.
        self.closed.wait(2 * PATIENCE_S)

    def stop(self) -> None:
        self.stopped.set()

    def close(self) -> None:
        self.closed.set()


def test_work_ends_by_the_clock_while_a_renewal_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    # A deadline that no busy machine reaches, until a renewal hangs.
    for name, seconds in {"RENEW_DEADLINE_S": 2 * PATIENCE_S, "RETRY_S": 0.05, "_REQUEST_S": 0.2}.items():
        monkeypatch.setattr(module, name, seconds)
    server, work = _Server(), _Work()
    writer = Writer(Cluster("c", "u", "https://cluster.example", lambda: ""), 60.0, httpx.MockTransport(server))
    errors: list[BaseException] = []

    def hold() -> None:
        try:
            Lease("ns", "l", "me").hold(writer, work)
        except ClusterError as error:
            errors.append(error)

    holding = threading.Thread(target=hold, daemon=True)
    holding.start()
    until(lambda: work.began.is_set() and server.writes >= 2, "a renewal")
    server.hang.set()
    until(server.hanging.is_set, "a renewal that hangs")
    monkeypatch.setattr(module, "RENEW_DEADLINE_S", 0.3)
    holding.join(PATIENCE_S)
    # The server answers to nothing before `over` is set, and closes the work long after the join.
    assert not holding.is_alive() and work.stopped.is_set() and work.closed.is_set()
    server.over.set()
    assert "the Lease ns/l was lost: no answer within" in str(errors[0])


def test_a_lease_that_cannot_be_taken_in_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_DEADLINE_S", 0.3)
    server = _Server()
    server.hang.set()
    writer = Writer(Cluster("c", "u", "https://cluster.example", lambda: ""), 60.0, httpx.MockTransport(server))
    with pytest.raises(ClusterError, match="no answer within"):
        Lease("ns", "l", "me").hold(writer, _Work())
    server.over.set()


def test_a_lease_of_another_shape_is_one_error() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={"metadata": [], "spec": "x"}))
    writer = Writer(Cluster("c", "u", "https://cluster.example", lambda: ""), 60.0, transport)
    with pytest.raises(ClusterError, match="spec of an object is no mapping"):
        Lease("ns", "l", "me").acquire(writer)
