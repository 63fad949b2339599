"""`Connection`: HTTP requests to one API server that can read, and nothing else."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from types import TracebackType
from typing import Any, NamedTuple, Self
from weakref import WeakSet

import orjson

from workbench.errors import ClusterError, InternalError
from workbench.live.http import HEADERS, Unreadable, phrase, read_body, read_lines, reason_of, shown_url
from workbench.live.kubernetes.configuration import Cluster
from workbench.live.kubernetes.shapes import checked_item, mapping
from workbench.live.threads import within
from workbench.optional import optional

with optional("live"):
    import httpx

__all__ = ["Connection", "Expired", "Forbidden", "NoSuchApi"]

_REVIEWS = tuple(
    f"/apis/authorization.k8s.io/v1/{kind}" for kind in ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
)
_CONNECT_S = 5.0

#: Times that a server is asked which answers that it has too much to do, and the longest pause before the next time.
_TRIES_WHEN_BUSY = 5
_LONGEST_WAIT_S = 2.0

#: Most bytes of an answer, and of an event of a watch. etcd keeps no object above 8 MiB, and mostly none above 1.5 MiB.
_MAX_BYTES, _MAX_LINE_BYTES = 256 << 20, 16 << 20


class HttpAnswer(NamedTuple):
    """The whole answer to a request, whatever its status."""

    status: int
    content: bytes
    #: Seconds after which a server that has too much to do is to be asked again.
    retry_after_s: float


class NoSuchApi(ClusterError):
    """The API server does not serve the resource that was asked for, or there is no object of that name."""


class Forbidden(ClusterError):
    """The user may not make a request."""


class Expired(ClusterError):
    """The position in a list is no longer kept by the API server: the list must be read anew."""


class _ReadOnly(httpx.BaseTransport):
    """Lets GET through, and POST of the two reviews that tell a user what it may do."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        # The URL of a server behind a proxy has a path of its own before that of the API.
        review = request.method == "POST" and request.url.path.endswith(_REVIEWS)
        if request.method != "GET" and not review:
            raise InternalError(f"{request.method} {request.url.path}: a reader of a cluster does not write")
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


class Connection:
    """A connection to an API server by which a cluster is read.

    `cluster`: as `workbench.live.kubernetes.configuration.cluster_of` gives it. `timeout_s`: limit in seconds for each
    request and its answer. `transport`: replaces the network in tests; the guard against writing stays before it.
    """

    # A request: `_request` (path, query, credentials) → `_answered` (within the time limit, again where the server is
    # busy) → `_judged` (status and JSON, or a `ClusterError` with the remedy). `stream` hands over the lines of an
    # answer that goes on. `interrupt` ends whatever is on the way, from any thread.

    def __init__(self, cluster: Cluster, timeout_s: float = 60.0, transport: httpx.BaseTransport | None = None) -> None:
        self.cluster = cluster
        self.timeout_s = timeout_s
        self._closed = False
        self._sockets: WeakSet[socket.socket] = WeakSet()
        inner = transport or _transport(cluster)
        self._http = httpx.Client(
            transport=self._guarded(inner),
            timeout=httpx.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s)),
            follow_redirects=False,
            trust_env=False,
            headers=HEADERS,
        )

    def _guarded(self, inner: httpx.BaseTransport) -> httpx.BaseTransport:
        return _ReadOnly(inner)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all requests, those of other threads as well; a further request is refused."""
        self._closed = True
        self.interrupt()

    def interrupt(self) -> None:
        """End all requests that are on the way, those of other threads as well."""
        # A socket that is closed while another thread reads from it leaves its number to the next socket that is
        # opened, and the thread would read that one's bytes. So sockets are shut down, and their readers close them.
        for one in list(self._sockets):
            with suppress(OSError):
                socket.socket.shutdown(one, socket.SHUT_RDWR)

    def _opened(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by the HTTP library at each step; remembers the sockets."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._sockets.add(info["return_value"].get_extra_info("socket"))

    def get(self, path: str, **query: str) -> Any:
        """The parsed JSON at a path of the API server.

        `path`: absolute: ``/api/v1/nodes``. Raises ClusterError: no answer within the time limit, or none that can be
        used; the text has one line and no credentials. `Forbidden`, `NoSuchApi` and `Expired` are told apart.
        """
        return self._asked("GET", path, query, None)

    def get_object(self, path: str) -> dict[str, Any]:
        """The object at a path of the API server; errors as for `get`, also if there is something else."""
        return dict(checked_item(self.get(path), path, named=False))

    def review(self, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        """Ask what this user may do.

        `kind`: ``SelfSubjectAccessReview`` or ``SelfSubjectRulesReview``. `spec`: the review's spec. Returns the
        review's status.
        """
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        path = f"/apis/authorization.k8s.io/v1/{kind.lower()}s"
        answer = self._asked("POST", path, {}, orjson.dumps(body))
        return dict(mapping(mapping(answer).get("status")))

    def stream(
        self, path: str, silence_s: float, opened: Callable[[], object] = lambda: None, **query: str
    ) -> Iterator[Any]:
        """The parsed JSON of each line of an answer that goes on, as that of a watch.

        Raises ClusterError: as for `get`; also when the connection breaks between two lines.

        `silence_s`: seconds without a byte after which the connection counts as lost. `opened`: called once the server
        has begun to answer, before the first line.
        """
        request = self._request("GET", path, query, None)
        request.extensions["timeout"] = httpx.Timeout(silence_s, connect=_CONNECT_S).as_dict()
        try:
            answer = self._http.send(request, stream=True)
            try:
                if answer.status_code != HTTPStatus.OK:
                    self._judged("GET", path, answer.status_code, read_body(answer, _MAX_BYTES))
                opened()
                for line in read_lines(answer, _MAX_LINE_BYTES):
                    yield orjson.loads(line)
            finally:
                answer.close()
        except orjson.JSONDecodeError:
            raise self._error("the answer broke off") from None
        except (httpx.HTTPError, httpx.StreamError, Unreadable) as error:
            raise self._error(_why(error)) from None

    def _asked(self, method: str, path: str, query: dict[str, str], body: bytes | None) -> Any:
        answer = self._answered(self._request(method, path, query, body))
        return self._judged(method, path, answer.status, answer.content)

    def _request(
        self, method: str, path: str, query: dict[str, str], body: bytes | None, content_type: str = "application/json"
    ) -> httpx.Request:
        if self._closed:
            raise self._error("the connection is closed")
        headers = {"Content-Type": content_type} if body is not None else {}
        if authorization := self._authorization():
            headers["Authorization"] = authorization
        name = self.cluster.server_name
        extensions: dict[str, Any] = {"trace": self._opened}
        if name:
            extensions["sni_hostname"] = name
        url = self.cluster.server + path
        return self._http.build_request(method, url, params=query, content=body, headers=headers, extensions=extensions)

    def _authorization(self) -> str:
        user = self.cluster.user
        try:
            text = self.cluster.authorization().strip()
        except Exception as error:
            # Whatever a file that is gone, or a program, makes the client raise; its text may quote credentials.
            raise self._error(f"the credentials of user {user} cannot be read ({type(error).__name__})") from None
        if not text.isascii() or not text.isprintable():
            raise self._error(f"the credentials of user {user} have a character that is part of no token")
        return text

    def _answered(self, request: httpx.Request) -> HttpAnswer:
        """The whole answer to a request, whatever its status; a server that has too much to do is asked again."""
        for _ in range(_TRIES_WHEN_BUSY):
            answer = self._answered_once(request)
            if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
                break
            # It has not begun to carry out the request.
            time.sleep(min(answer.retry_after_s, _LONGEST_WAIT_S))
        return answer

    def _answered_once(self, request: httpx.Request) -> HttpAnswer:
        def send_once() -> HttpAnswer:
            response = self._http.send(request, stream=True)
            try:
                said = response.headers.get("Retry-After", "")
                seconds = float(said) if said.isascii() and said.isdigit() else 1.0
                return HttpAnswer(response.status_code, read_body(response, _MAX_BYTES), seconds)
            finally:
                response.close()

        def send() -> HttpAnswer:
            try:
                return send_once()
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                # A server may close an idle connection just when it is used again. Reading twice does no harm.
                if request.method != "GET":
                    raise
                return send_once()

        try:
            return within(self.timeout_s, send, "workbench-request", self.interrupt)
        except (TimeoutError, httpx.TimeoutException):
            raise self._error(f"no whole answer within {self.timeout_s:g} s") from None
        except (httpx.HTTPError, Unreadable) as error:
            # The exception of the library holds the request with its headers: it is not passed on.
            raise self._error(_why(error)) from None

    def _judged(self, method: str, path: str, status: int, content: bytes) -> Any:
        if 200 <= status < 300:
            try:
                return orjson.loads(content)
            except orjson.JSONDecodeError:
                raise self._error(
                    f"{method} {path}: the answer is not JSON; is this a Kubernetes API server?"
                ) from None
        what = f"{method} {path}: status {status}{phrase(status)}"
        match status:
            case HTTPStatus.UNAUTHORIZED:
                text = f"the credentials of user {self.cluster.user} are not accepted (status 401)"
                raise self._error(text)
            case HTTPStatus.FORBIDDEN:
                raise Forbidden(f"{self._place}: {what}: user {self.cluster.user} may not do this")
            case HTTPStatus.NOT_FOUND:
                raise NoSuchApi(f"{self._place}: {what}")
            case HTTPStatus.GONE:
                raise Expired(f"{self._place}: {what}")
        raise self._error(what)

    @property
    def _place(self) -> str:
        return f"context {self.cluster.context} ({self.cluster.server})"

    def _error(self, text: str) -> ClusterError:
        return ClusterError(f"{self._place}: {text}")


def _why(error: Exception) -> str:
    return f"{error}, expected {error.expected}" if isinstance(error, Unreadable) else reason_of(error)


def _transport(cluster: Cluster) -> httpx.HTTPTransport:
    try:
        return httpx.HTTPTransport(verify=_tls(cluster), proxy=cluster.proxy, trust_env=False)
    except (ValueError, httpx.InvalidURL):
        text = f"context {cluster.context}: the proxy ({shown_url(cluster.proxy or '')}) is not http(s)://HOST[:PORT]"
        raise ClusterError(text) from None


def _tls(cluster: Cluster) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=cluster.ca_file)
        if not cluster.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if cluster.certificate:
            context.load_cert_chain(cluster.certificate, cluster.key)
    except (OSError, ssl.SSLError) as error:
        what = error.strerror or type(error).__name__
        raise ClusterError(f"context {cluster.context}: the certificates cannot be read: {what}") from None
    return context
