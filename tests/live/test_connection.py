"""What a reader of a cluster sends, and what it says where the answer is of no use."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.loopback import Reply, dripping_body, dripping_headers, loopback, silent
from workbench.errors import ClusterError, InternalError
from workbench.live.kubernetes import connection as connection_module
from workbench.live.kubernetes import lists as lists_module
from workbench.live.kubernetes.configuration import Cluster, cluster_of
from workbench.live.kubernetes.connection import Connection, Expired, Forbidden, NoSuchApi
from workbench.live.kubernetes.snapshot import read_cluster

TOKEN = "planted-token-9914"
Answer = Callable[[httpx.Request], httpx.Response]


def connection(answer: Answer, timeout_s: float = 5.0) -> Connection:
    cluster = Cluster("test", "jane", "https://cluster.example:6443", lambda: f"Bearer {TOKEN}")
    return Connection(cluster, timeout_s, httpx.MockTransport(answer))


def test_a_request_carries_the_credentials_and_its_query() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"items": []})

    with connection(answer) as open_:
        assert open_.get("/api/v1/nodes", limit="500") == {"items": []}
    (request,) = seen
    assert (request.method, str(request.url)) == ("GET", "https://cluster.example:6443/api/v1/nodes?limit=500")
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/api/v1/nodes/a"),
        ("PATCH", "/api/v1/nodes/a"),
        ("PUT", "/api/v1/nodes/a"),
        ("POST", "/api/v1/namespaces/default/pods"),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
    ],
)
def test_nothing_that_writes_leaves_the_program(method: str, path: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"{request.method} left the program")

    with connection(answer) as open_, pytest.raises(InternalError, match="does not write"):
        open_._http.request(method, f"https://cluster.example:6443{path}")


def test_a_user_may_ask_what_it_may_do_also_behind_a_proxy_with_a_path() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(201, json={"status": {"allowed": True}})

    cluster = Cluster("test", "jane", "https://proxy.example/k8s/clusters/c-1", lambda: "")
    with Connection(cluster, 5.0, httpx.MockTransport(answer)) as open_:
        assert open_.review("SelfSubjectAccessReview", {"resourceAttributes": {"verb": "list"}}) == {"allowed": True}
    (request,) = seen
    assert request.method == "POST" and "Authorization" not in request.headers
    assert request.url.path == "/k8s/clusters/c-1/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def test_a_list_that_expires_again_and_again_is_given_up() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.params.get("continue"):
            return httpx.Response(410)
        return httpx.Response(200, json={"metadata": {"continue": "x"}, "items": []})

    with connection(answer) as open_, pytest.raises(Expired):
        read_cluster(open_)


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (401, ClusterError, "the credentials of user jane are not accepted (status 401)"),
        (403, Forbidden, "GET /x: status 403 (Forbidden): user jane may not do this"),
        (404, NoSuchApi, "GET /x: status 404 (Not Found)"),
        (410, Expired, "GET /x: status 410 (Gone)"),
        (302, ClusterError, "GET /x: status 302 (Found)"),
        (500, ClusterError, "GET /x: status 500 (Internal Server Error)"),
    ],
)
def test_a_status_is_told_in_one_line_without_the_servers_text(status: int, kind: type[Exception], said: str) -> None:
    answer = httpx.Response(status, text=f"{TOKEN}\n404 page not found")
    with connection(lambda _: answer) as open_, pytest.raises(kind) as caught:
        open_.get("/x")
    assert str(caught.value) == f"context test (https://cluster.example:6443): {said}"


def test_an_answer_that_is_not_json_is_told() -> None:
    with connection(lambda _: httpx.Response(200, text="<html>")) as open_, pytest.raises(ClusterError) as caught:
        open_.get("/x")
    assert str(caught.value).endswith("GET /x: the answer is not JSON; is this a Kubernetes API server?")


def test_a_broken_connection_quotes_no_header() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("broke", request=request)

    with connection(answer) as open_, pytest.raises(ClusterError) as caught:
        open_.get("/x")
    assert TOKEN not in repr(caught.value) and TOKEN not in repr(caught.value.__cause__)
    assert caught.value.__suppress_context__


def test_a_list_whose_position_expired_is_read_anew() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path != "/api/v1/pods":
            return httpx.Response(200, json={"metadata": {}, "items": []})
        token = request.url.params.get("continue", "")
        asked.append(token)
        if token and len(asked) == 2:
            return httpx.Response(410)
        item = {"metadata": {"name": token or "first"}}
        metadata = {"resourceVersion": str(len(asked)), **({} if token else {"continue": "second"})}
        return httpx.Response(200, json={"metadata": metadata, "items": [item]})

    with connection(answer) as open_:
        found = read_cluster(open_)
    assert asked == ["", "second", "", "second"]
    names = [json.loads(one)["metadata"]["name"] for one in found.objects if b'"kind":"Pod"' in one]
    assert names == ["first", "second"] and found.versions["pods"] == "3"


@pytest.mark.slow
@pytest.mark.parametrize("reply", [silent, dripping_headers, dripping_body], ids=["silent", "headers", "body"])
def test_a_server_that_never_answers_is_given_up_in_time(reply: Reply) -> None:
    with loopback(reply) as server:
        cluster = Cluster("test", "jane", server.url, lambda: f"Bearer {TOKEN}")
        with Connection(cluster, 0.3) as open_, pytest.raises(ClusterError, match=r"no whole answer within 0\.3 s"):
            open_.get("/api/v1/nodes")


@pytest.mark.slow
def test_a_credential_program_that_never_ends_is_given_up(tmp_path: Path) -> None:
    file = tmp_path / "config"
    program = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sleep", "args": ["3"]}
    content = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"exec": {**program, "interactiveMode": "Never"}}}],
    }
    file.write_text(json.dumps(content))
    with pytest.raises(ClusterError, match=r"context a: no credentials within 0\.2 s"):
        cluster_of(kubeconfig=file, timeout_s=0.2)


class _Endless(httpx.SyncByteStream):
    """A body that never ends."""

    def __init__(self, piece: bytes) -> None:
        self.piece, self.sent = piece, 0

    def __iter__(self) -> Iterator[bytes]:
        while self.sent < 1 << 30:
            self.sent += len(self.piece)
            yield self.piece


def test_a_body_without_end_is_given_up_at_its_most_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_MAX_BYTES", 1 << 20)
    body = _Endless(b" " * 65536)
    with connection(lambda _: httpx.Response(200, stream=body)) as open_, pytest.raises(ClusterError) as caught:
        open_.get("/x")
    assert str(caught.value).endswith("the answer is too large, expected at most 1048576 bytes")
    assert body.sent <= 2 << 20


def test_an_event_without_end_is_given_up_at_its_most_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_MAX_LINE_BYTES", 1 << 20)
    body = _Endless(b"x" * 65536)
    with connection(lambda _: httpx.Response(200, stream=body)) as open_, pytest.raises(ClusterError) as caught:
        list(open_.stream("/x", 5.0))
    assert str(caught.value).endswith("a line of the answer is too large, expected at most 1048576 bytes")
    assert body.sent <= 2 << 20


def test_lines_of_a_stream_may_come_in_any_pieces() -> None:
    pieces = [b'{"a"', b': 1}\n{"a": 2}\n\n{', b'"a": 3}\n{"a": 4}']
    with connection(lambda _: httpx.Response(200, content=iter(pieces))) as open_:
        assert [each["a"] for each in open_.stream("/x", 5.0)] == [1, 2, 3, 4]


def test_compressed_answers_are_neither_asked_for_nor_unpacked() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        packed = gzip.compress(b'{"items": []}')
        return httpx.Response(200, stream=httpx.ByteStream(packed), headers={"Content-Encoding": "gzip"})

    with connection(answer) as open_:
        for ask in (open_.get, lambda path: list(open_.stream(path, 5.0))):
            with pytest.raises(ClusterError, match="the answer is compressed, which was not asked for"):
                ask("/x")
    assert {request.headers["Accept-Encoding"] for request in seen} == {"identity"}


@pytest.mark.parametrize("different", [False, True], ids=["the same page again", "always another page"])
def test_a_list_that_never_ends_is_given_up(different: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists_module, "_MOST_PAGES", 20)
    asked: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(1)
        token = str(len(asked)) if different else "again"
        return httpx.Response(200, json={"metadata": {"continue": token}, "items": []})

    with connection(answer) as open_, pytest.raises(ClusterError, match="the list does not end"):
        read_cluster(open_)
    assert len(asked) == (20 if different else 2)


@pytest.mark.parametrize("said", ["²", "x", "-5", "1e9", "9" * 5000])
def test_a_wrong_retry_after_is_no_error_of_ours(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module.time, "sleep", lambda seconds: None)
    answer = httpx.Response(429, headers=[(b"Retry-After", said.encode())])
    with connection(lambda _: answer) as open_, pytest.raises(ClusterError, match="status 429"):
        open_.get("/x")


def test_a_token_may_end_in_a_line_break() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return httpx.Response(200, json={})

    cluster = Cluster("test", "jane", "https://cluster.example:6443", lambda: f"Bearer {TOKEN}\n")
    with Connection(cluster, 5.0, httpx.MockTransport(answer)) as open_:
        open_.get("/x")
    assert seen == [f"Bearer {TOKEN}"]


@pytest.mark.parametrize("text", [f"{TOKEN}\nroot:x:0", f"{TOKEN}ü", f"{TOKEN}\x00", f"{TOKEN}\x7f"])
def test_a_text_that_is_no_token_is_refused_without_quoting_it(text: str) -> None:
    cluster = Cluster("test", "jane", "https://cluster.example:6443", lambda: f"Bearer {text}")
    with loopback(silent) as server, pytest.raises(ClusterError) as caught:
        Connection(replace(cluster, server=server.url), 1.0).get("/x")
    assert "the credentials of user jane have a character that is part of no token" in str(caught.value)
    assert TOKEN not in repr(caught.value) and "root" not in str(caught.value)


@pytest.mark.parametrize("kind", [httpx.LocalProtocolError, httpx.RemoteProtocolError, httpx.ProxyError])
def test_the_librarys_words_are_not_passed_on(kind: type[httpx.TransportError]) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise kind(f"Illegal header value b'Bearer {TOKEN}'", request=request)

    with connection(answer) as open_, pytest.raises(ClusterError, match="the connection broke: ") as caught:
        open_.get("/x")
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("server", ["https://bob:s3cret@host", "https://host/?token=s3cret", "https://host#s3cret"])
def test_a_server_with_credentials_in_its_url_is_refused_without_quoting_them(server: str) -> None:
    with pytest.raises(ClusterError, match="context test: server: ") as caught:
        Cluster("test", "jane", server, lambda: "")
    assert "s3cret" not in str(caught.value)


def test_a_proxy_that_is_no_url_is_told_without_its_password() -> None:
    cluster = Cluster("test", "jane", "https://host", lambda: "", proxy="socks9://bob:s3cret@proxy:1")
    with pytest.raises(ClusterError, match=r"the proxy \(socks9://proxy:1\)") as caught:
        Connection(cluster)
    assert "s3cret" not in str(caught.value)


def test_a_closed_connection_sends_nothing() -> None:
    with connection(lambda _: httpx.Response(200, json={})) as open_:
        open_.close()
        with pytest.raises(ClusterError, match="the connection is closed"):
            open_.get("/x")


KUBECONFIGS = {
    "contexts are a number": {"contexts": 5},
    "a context is a truth value": {"contexts": [{"name": "a", "context": True}]},
    "a user is a list": {"users": [{"name": "u", "user": ["x"]}]},
    "a user is a text": {"users": [{"name": "u", "user": "x"}]},
    "a cluster is a number": {"clusters": [{"name": "c", "cluster": 5}]},
    "the current context is a mapping": {"current-context": {"name": TOKEN}},
    "a context is called by a mapping": {"contexts": [{"name": {"name": TOKEN}}], "current-context": "b"},
    "the user of a context is a mapping": {
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": {"token": TOKEN}}}],
        "users": [{"name": str({"token": TOKEN}), "user": {"exec": {"command": "false"}}}],
    },
    "the token is a device": {"users": [{"name": "u", "user": {"tokenFile": "/dev/zero"}}]},
}


@pytest.mark.parametrize("part", KUBECONFIGS.values(), ids=KUBECONFIGS.keys())
def test_a_kubeconfig_of_another_shape_is_one_error(part: dict[str, object], tmp_path: Path) -> None:
    whole = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
    }
    file = tmp_path / "config"
    file.write_text(json.dumps({**whole, **part}))
    try:
        cluster_of(kubeconfig=file, timeout_s=5)
    except ClusterError as error:
        assert str(file) in str(error) and TOKEN not in str(error)


def test_a_token_file_that_is_a_device_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "config"
    content = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"tokenFile": "/dev/zero"}}],
    }
    file.write_text(json.dumps(content))
    with pytest.raises(ClusterError, match="tokenFile of user u: no file of at most 1048576 bytes"):
        cluster_of(kubeconfig=file, timeout_s=5)
