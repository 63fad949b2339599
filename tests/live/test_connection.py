"""What a reader of a cluster sends, and what it says where the answer is of no use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.loopback import Reply, dripping_body, dripping_headers, loopback, silent
from workbench.errors import ClusterError, InternalError
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
