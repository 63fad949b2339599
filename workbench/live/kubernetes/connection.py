"""`Connection`: HTTP requests to one API server that can read, and nothing else."""

from __future__ import annotations

import ssl
from http import HTTPStatus
from types import TracebackType
from typing import Any

import httpx
import orjson

from workbench.errors import ClusterError, InternalError
from workbench.live.deadline import within
from workbench.live.http import reason_of
from workbench.live.kubernetes.configuration import Cluster

__all__ = ["Connection", "Expired", "Forbidden", "NoSuchApi"]

_REVIEWS = tuple(
    f"/apis/authorization.k8s.io/v1/{kind}" for kind in ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
)
_CONNECT_S = 5.0


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

    Parameters
    ----------
    cluster : Cluster
        As `workbench.live.kubernetes.configuration.cluster_of` gives it.
    timeout_s : float
        Limit in seconds for each request and its answer.
    transport : httpx.BaseTransport, optional
        Replaces the network in tests; the guard against writing stays before it.
    """

    def __init__(self, cluster: Cluster, timeout_s: float = 60.0, transport: httpx.BaseTransport | None = None) -> None:
        self.cluster = cluster
        self.timeout_s = timeout_s
        inner = transport or httpx.HTTPTransport(verify=_tls(cluster), proxy=cluster.proxy, trust_env=False)
        self._http = httpx.Client(
            transport=_ReadOnly(inner),
            timeout=httpx.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s)),
            follow_redirects=False,
            trust_env=False,
            headers={"Accept": "application/json", "User-Agent": "topology-workbench"},
        )

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, path: str, **query: str) -> Any:
        """The parsed JSON at a path of the API server.

        Parameters
        ----------
        path : str
            Absolute: ``/api/v1/nodes``.
        **query : str

        Raises
        ------
        ClusterError
            No answer within the time limit, or none that can be used; the text has one line and no credentials.
            `Forbidden`, `NoSuchApi` and `Expired` are told apart.
        """
        return self._asked("GET", path, query, None)

    def review(self, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        """Ask what this user may do.

        Parameters
        ----------
        kind : str
            ``SelfSubjectAccessReview`` or ``SelfSubjectRulesReview``.
        spec : dict
            The review's spec.

        Returns
        -------
        dict
            The review's status.
        """
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        path = f"/apis/authorization.k8s.io/v1/{kind.lower()}s"
        answer = self._asked("POST", path, {}, orjson.dumps(body))
        return dict(answer.get("status") or {})

    def _asked(self, method: str, path: str, query: dict[str, str], body: bytes | None) -> Any:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if authorization := self.cluster.authorization():
            headers["Authorization"] = authorization
        name = self.cluster.server_name
        extensions = {"sni_hostname": name} if name else {}
        url = self.cluster.server + path
        request = self._http.build_request(
            method, url, params=query, content=body, headers=headers, extensions=extensions
        )
        try:
            answer = within(self.timeout_s, lambda: self._http.send(request), "workbench-request", self._http.close)
        except (TimeoutError, httpx.TimeoutException):
            raise self._error(f"no whole answer within {self.timeout_s:g} s") from None
        except httpx.HTTPError as error:
            # The exception holds the request with its headers: it is not passed on.
            raise self._error(reason_of(error)) from None
        return self._judged(method, path, answer.status_code, answer.content)

    def _judged(self, method: str, path: str, status: int, content: bytes) -> Any:
        if 200 <= status < 300:
            try:
                return orjson.loads(content)
            except orjson.JSONDecodeError:
                raise self._error(
                    f"{method} {path}: the answer is not JSON; is this a Kubernetes API server?"
                ) from None
        what = f"{method} {path}: status {status}{_phrase(status)}"
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


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""
