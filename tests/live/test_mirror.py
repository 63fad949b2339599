"""A mirror goes on whatever its API server does, and says what it cannot follow."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.waiting import PATIENCE_S, until
from workbench.control.kinds import Ref
from workbench.errors import ClusterError
from workbench.live.kubernetes import mirror as module
from workbench.live.kubernetes.configuration import Cluster
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.mirror import Mirror


def node(version: int, **more: Any) -> dict[str, Any]:
    metadata = {"name": "n", "uid": "u", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {**metadata, **more}}


class _Server:
    """Lists one node in its newest version; the so manieth watch is answered by the so manieth function."""

    def __init__(self, *watches: Callable[[], httpx.Response]) -> None:
        self.watches = watches
        self.lists, self.begun = 0, 0
        self.over = threading.Event()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if "watch" not in request.url.params:
            self.lists += 1
            found = node(10 * self.lists)
            del found["kind"], found["apiVersion"]
            return httpx.Response(200, json={"metadata": {"resourceVersion": str(10 * self.lists)}, "items": [found]})
        self.begun += 1
        if self.begun <= len(self.watches):
            return self.watches[self.begun - 1]()
        return httpx.Response(200, content=self._silence())

    def _silence(self) -> Iterator[bytes]:
        self.over.wait(PATIENCE_S)
        yield b""


def events(*each: Any) -> Callable[[], httpx.Response]:
    return lambda: httpx.Response(200, content=b"".join(json.dumps(one).encode() + b"\n" for one in each))


@contextmanager
def following(
    server: _Server, authorization: Callable[[], str] = lambda: "", stopped: threading.Event | None = None
) -> Iterator[Mirror]:
    cluster = Cluster("test", "jane", "https://cluster.example", authorization)
    mirror = Mirror(Connection(cluster, 60.0, httpx.MockTransport(server)), ("Node",))
    mirror._stopped = stopped or mirror._stopped
    mirror.start()
    try:
        yield mirror
    finally:
        server.over.set()
        mirror.close()


class _Unpaused(threading.Event):
    """An end that is not waited for: notes the pauses that are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout)
        return super().wait(0.001)


#: Seconds of the pauses after failures in a row.
GROWING = [0.2 * 2**i for i in range(7)]


BROKEN = {
    "no mapping": 5,
    "no object": {"type": "ADDED"},
    "an object that is a list": {"type": "ADDED", "object": []},
    "no metadata": {"type": "ADDED", "object": {"kind": "Node"}},
    "metadata that is a text": {"type": "ADDED", "object": {**node(11), "metadata": "x"}},
    "a version that is no number": {"type": "MODIFIED", "object": node(0, resourceVersion="abc")},
    "a version that is one elsewhere": {"type": "MODIFIED", "object": node(0, resourceVersion="²")},
    "a number as version": {"type": "MODIFIED", "object": node(0, resourceVersion=11)},
    "a bookmark without a version": {"type": "BOOKMARK", "object": {"metadata": {}}},
    "a name that is a list": {"type": "ADDED", "object": node(11, name=["n"])},
    "an unknown type": {"type": "RENAMED", "object": node(11)},
    "another kind": {"type": "ADDED", "object": {**node(11), "kind": "Pod"}},
    "a spec that is a text": {"type": "ADDED", "object": {**node(11), "spec": "x"}},
}


@pytest.mark.parametrize("event", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_event_is_told_and_the_kind_is_listed_anew(event: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "workbench")
    server = _Server(events({"type": "MODIFIED", "object": node(11)}, event))
    with following(server) as mirror:
        until(lambda: mirror.failing or server.begun == 2)
        until(lambda: server.begun == 2 and not mirror.failing)
        assert mirror.lost == {"Node": 1} and server.lists == 2
        told = [(record.name, record.levelname, record.getMessage()) for record in caplog.records]
        assert ("workbench", "INFO", "follows Node again") in told
        assert [level for _, level, text in told if text.startswith("cannot follow Node: ")] == ["WARNING"]
        mirror.watch(mirror.version)
        found = mirror.get(Ref("Node", "", "n"))
        assert found is not None and found["metadata"]["resourceVersion"] == "20"


def test_credentials_that_fail_once_end_no_watch() -> None:
    asked = []

    def authorization() -> str:
        asked.append(1)
        if len(asked) == 2:
            raise FileNotFoundError("/var/run/secrets/token of s3cret")
        return ""

    server = _Server()
    with following(server, authorization) as mirror:
        until(lambda: mirror.failing)
        assert "the credentials of user jane cannot be read (FileNotFoundError)" in mirror.failing["Node"]
        assert "s3cret" not in mirror.failing["Node"]
        until(lambda: server.begun == 1 and not mirror.failing)


def test_a_function_that_fails_is_told_and_the_kind_is_listed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    server = _Server(events({"type": "MODIFIED", "object": node(11)}))
    times = iter([False, True])

    def keep(kind: str, data: Any) -> Any:
        if next(times, False):
            raise ZeroDivisionError
        return data

    cluster = Cluster("test", "jane", "https://cluster.example", lambda: "")
    mirror = Mirror(Connection(cluster, 60.0, httpx.MockTransport(server)), ("Node",), keep)
    mirror.start()
    try:
        until(lambda: "Node" in mirror.failing or server.begun == 2)
        until(lambda: server.begun == 2 and server.lists == 2)
    finally:
        server.over.set()
        mirror.close()


@pytest.mark.parametrize("status", [404, 410, 500])
def test_a_watch_that_is_refused_is_asked_for_after_pauses_that_grow(status: int) -> None:
    server = _Server(*[lambda: httpx.Response(status)] * 100)
    stopped = _Unpaused()
    with following(server, stopped=stopped) as mirror:
        until(lambda: len(stopped.pauses) >= len(GROWING))
        assert stopped.pauses[: len(GROWING)] == GROWING
        assert mirror.lost["Node"] >= len(GROWING)


def test_an_expired_watch_is_listed_anew_after_a_pause() -> None:
    expired = {"type": "ERROR", "object": {"kind": "Status", "code": 410}}
    server = _Server(*[events(expired)] * 100)
    stopped = _Unpaused()
    with following(server, stopped=stopped):
        until(lambda: len(stopped.pauses) >= len(GROWING))
        assert stopped.pauses[: len(GROWING)] == GROWING
        assert server.lists >= len(GROWING)


def test_a_kind_that_may_be_listed_and_not_watched_is_polled_and_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ABSENT_S", 0.2)
    server = _Server(*[lambda: httpx.Response(403)] * 3)
    with following(server) as mirror:
        until(lambda: mirror.gaps)
        assert mirror.gaps["Node"].code == "not-permitted"
        assert mirror.gaps["Node"].message == "user jane may list Node (v1) but not watch: it is read every 0.2 s"
        assert not mirror.failing
        until(lambda: server.lists >= 3)
        until(lambda: server.begun == 4 and not mirror.gaps)


LISTS = {
    "a list": [],
    "a text": "x",
    "nothing": None,
    "items that are a text": {"items": "abc"},
    "metadata that is a list": {"metadata": ["x"], "items": []},
    "items that are texts": {"items": ["x"]},
    "an item whose metadata is a list": {"items": [{"metadata": ["x"]}]},
    "an item without a name": {"items": [{}]},
    "an item with a status that is a list": {"items": [{"metadata": {"name": "a"}, "status": ["x"]}]},
    "a version that is no number": {"metadata": {"resourceVersion": "abc"}, "items": []},
    "an item without a version": {"items": [{"metadata": {"name": "a", "uid": "u"}}]},
}


@pytest.mark.parametrize("answer", LISTS.values(), ids=LISTS.keys())
def test_a_list_of_another_shape_is_one_error(answer: Any) -> None:
    cluster = Cluster("test", "jane", "https://cluster.example", lambda: "")
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=answer))
    with pytest.raises(ClusterError, match=r"/api/v1/nodes|list of Node"):
        Mirror(Connection(cluster, 5.0, transport), ("Node",)).start()
