"""The admission server and clients that send too much, too slowly, or something else."""

from __future__ import annotations

import errno
import json
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.waiting import until
from workbench.live.kubernetes import bounded_server as module
from workbench.live.kubernetes.admission_server import AdmissionServer
from workbench.live.kubernetes.bounded_server import BoundedHandler, BoundedServer
from workbench.live.kubernetes.configuration import Cluster
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.tls_server import own_certificate


class _Echo(BoundedHandler):
    most_bytes = 1 << 20

    def answer_to(self, body: bytes) -> tuple[int, bytes, str]:
        return 200, body, "text/plain"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BoundedServer]:
    # Only what a test is about ends soon; a busy machine ends nothing.
    for name, value in {"_MOST_CONNECTIONS": 8, "_REQUEST_S": 60.0, "_LEAST_S": 0.2, "_WAIT_S": 60.0}.items():
        monkeypatch.setattr(module, name, value)
    one = BoundedServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield one
    one.shutdown()
    one.server_close()


def opened(server: BoundedServer, sent: bytes = b"") -> socket.socket:
    one = socket.create_connection(server.server_address[:2], 60)
    one.sendall(sent)
    return one


def asked(server: BoundedServer, body: bytes = b"x") -> httpx.Response:
    return httpx.post(f"http://127.0.0.1:{server.server_address[1]}", content=body, timeout=60)


def test_slow_clients_take_no_place_from_others(server: BoundedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    served, serve = [], socketserver.ThreadingMixIn.process_request

    def noted(self: Any, *connection: Any) -> None:
        served.append(len(self._waiting))
        serve(self, *connection)

    monkeypatch.setattr(socketserver.ThreadingMixIn, "process_request", noted)
    slow = [opened(server, b"POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\nx") for _ in range(30)]
    for _ in range(5):
        assert asked(server).text == "x"
    assert len(served) == 35 and max(served) <= 8
    for one in slow:
        one.close()


def test_a_request_ends_in_time_although_its_bytes_come_one_by_one(
    server: BoundedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_REQUEST_S", 0.3)
    one = opened(server, b"POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n")
    with pytest.raises(OSError):
        until(lambda: one.sendall(b"x"), "the connection to end")
    one.close()


def test_bodies_that_are_held_are_bounded(server: BoundedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BODIES_BYTES", 1 << 20)
    monkeypatch.setattr(module, "_WAIT_S", 0.2)
    holding = opened(server, b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nx")
    until(lambda: server._held == 1_000_000, "the large body to be held")
    assert asked(server, b"y" * 100_000).status_code == 503
    assert asked(server, b"y").status_code == 200
    holding.close()


def test_without_descriptors_the_server_waits_and_goes_on(
    server: BoundedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused: list[float] = []

    def none_left() -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    def pause(seconds: float) -> None:
        paused.append(seconds)
        time.sleep(0.01)

    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=pause, monotonic=time.monotonic))
    with monkeypatch.context() as patch:
        patch.setattr(socketserver.TCPServer, "get_request", lambda self: none_left())
        client = opened(server, b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx")
        until(lambda: len(paused) >= 3, "it to be tried again")
    assert set(paused) == {module._PAUSE_S}
    client.settimeout(60)
    assert client.recv(100).startswith(b"HTTP/1.1 200")
    client.close()


@pytest.mark.parametrize("length", ["²", "-1", "9" * 5000, "1048577", "1e3", ""])
def test_a_wrong_length_is_answered(server: BoundedServer, length: str) -> None:
    one = opened(server, f"POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode("latin-1"))
    one.settimeout(60)
    assert one.recv(100).startswith(b"HTTP/1.1 413 ")
    one.close()


@pytest.fixture(scope="module")
def admission(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdmissionServer]:
    certificate, key = own_certificate(["127.0.0.1"], tmp_path_factory.mktemp("tls"))
    cluster = Cluster("test", "jane", "https://cluster.example", lambda: "")
    transport = httpx.MockTransport(lambda _: httpx.Response(404))
    one = AdmissionServer(Connection(cluster, 5.0, transport), ["ours"], "127.0.0.1", 0, certificate, key)
    yield one
    one.close()


def job(n_tasks: int) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    tasks = [{"name": f"t{i}", "replicas": 1, "template": template} for i in range(n_tasks)]
    kind = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    return {**kind, "metadata": {"name": "j", "namespace": "default"}, "spec": {"tasks": tasks}}


def hypernode(n_patterns: int) -> dict[str, Any]:
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": f"^n{i}$"}}} for i in range(n_patterns)]
    kind = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": "h"}}
    return {**kind, "spec": {"tier": 1, "members": members}}


HYPER_JOB = {
    "apiVersion": "training.volcano.sh/v1alpha1",
    "kind": "HyperJob",
    "metadata": {"name": "h", "namespace": "default"},
    "spec": {"replicatedJobs": [{"name": f"j{i}", "templateSpec": job(600)["spec"]} for i in range(2)]},
}


def reviewed(admission: AdmissionServer, data: Any, **more: Any) -> dict[str, Any]:
    return admission.review({"uid": "u", "operation": "CREATE", "object": data} | more)


@pytest.mark.parametrize(
    ("data", "said"),
    [(job(1001), "1,001 tasks"), (hypernode(1001), "1,001 patterns"), (HYPER_JOB, "1,200 tasks")],
)
def test_objects_that_would_take_seconds_are_refused(admission: AdmissionServer, data: Any, said: str) -> None:
    response = reviewed(admission, data)
    assert not response["allowed"]
    assert response["status"] == {"code": 413, "message": f"{said}: an object may have 1,000"}


def test_large_objects_are_reviewed(admission: AdmissionServer) -> None:
    assert reviewed(admission, job(300))["allowed"]
    assert reviewed(admission, hypernode(100))["allowed"]


@pytest.mark.parametrize("metadata", ["x", ["x"], 5, True])
@pytest.mark.parametrize("part", ["object", "oldObject"])
def test_metadata_of_another_shape_is_refused(admission: AdmissionServer, metadata: Any, part: str) -> None:
    response = reviewed(admission, job(1), **{part: {**job(1), "metadata": metadata}})
    assert not response["allowed"] and response["status"]["code"] == 422
    assert response["status"]["message"] == f"{part}: no mapping, or one whose metadata is none"


@pytest.mark.parametrize("value", [[[]], {"a": 1}, 5])
@pytest.mark.parametrize("place", ["apiVersion", "kind", "metadata.name", "metadata.namespace"])
@pytest.mark.parametrize("part", ["object", "oldObject"])
def test_an_identity_that_is_no_text_is_refused(admission: AdmissionServer, part: str, place: str, value: Any) -> None:
    name = place.rpartition(".")[2]
    whole = job(1)
    changed = {**whole, "metadata": {**whole["metadata"], name: value}} if "." in place else {**whole, name: value}
    response = reviewed(admission, whole, operation="UPDATE", **{"oldObject": whole, part: changed})
    assert not response["allowed"] and response["status"]["code"] == 422
    assert response["status"]["message"].startswith(f"{part}: {place}")


def test_a_name_of_the_request_that_is_no_text_is_refused(admission: AdmissionServer) -> None:
    nameless = {**job(1), "metadata": {}}
    assert reviewed(admission, nameless, name=["x"])["status"]["code"] == 422


def test_an_error_of_ours_is_told_as_one(admission: AdmissionServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(request: Any) -> Any:
        raise TypeError("secret")

    monkeypatch.setattr(admission, "review", fails)
    status, body, _ = admission.answer_to(json.dumps({"request": {}}).encode())
    assert (status, body) == (500, b"internal error: TypeError; please report it")
    assert admission.answer_to(b"[]")[0] == 400
