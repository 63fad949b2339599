"""`fetch_json`: one HTTP GET with strict limits on total time and size, without redirects, with a verified
certificate; `read_body` and `read_lines`, by which every answer is read that this package asks for.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson

from workbench.errors import ClusterError, InputError, WorkbenchError
from workbench.live.credentials import Credentials
from workbench.live.threads import within
from workbench.optional import optional

with optional("live"):
    import httpx

__all__ = [
    "HEADERS",
    "MAX_BYTES",
    "TIMEOUT_S",
    "Access",
    "Unreadable",
    "checked_url",
    "fetch_json",
    "phrase",
    "read_body",
    "read_lines",
    "reason_of",
    "shown_url",
]

#: Largest body in bytes, as Volcano's controller reads from a UFM.
MAX_BYTES = 100 << 20

#: Seconds from the first packet to the last byte.
TIMEOUT_S = 30.0

#: Of every request. Compressed answers are not asked for: a small one may unpack to any size.
HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "topology-workbench"}


@dataclass(frozen=True)
class Access:
    """Settings for HTTP requests to an endpoint: credentials, certificate checks and limits.

    Attributes
    ----------
    credentials : Credentials, optional
        Sent as basic authentication.
    verify : bool
        Whether the server's certificate is verified.
    ca_file : Path, optional
        PEM of the authorities that are trusted instead of the system's.
    timeout_s : float
        Time limit in seconds for the whole exchange: name look-up, connection and answer.
    max_bytes : int
        Largest body of an answer in bytes.
    transport : httpx.BaseTransport, optional
        Replaces the network in tests; None otherwise.
    """

    credentials: Credentials | None = None
    verify: bool = True
    ca_file: Path | None = None
    timeout_s: float = TIMEOUT_S
    max_bytes: int = MAX_BYTES
    transport: httpx.BaseTransport | None = None

    def __post_init__(self) -> None:
        if not 0 < self.timeout_s <= threading.TIMEOUT_MAX:
            raise InputError("not a time-out", got=f"{self.timeout_s:g} s", expected="seconds above 0")


def checked_url(endpoint: str, path: str = "") -> str:
    """Join an endpoint and a path to a URL; an endpoint without a scheme gets https.

    Raises
    ------
    InputError
        Another scheme, no host, a user name or password inside the URL, or a query where a path follows. Messages never
        quote the part before an ``@``.
    """
    text = endpoint.strip()
    url = _parsed(text if "://" in text else f"https://{text}")
    if url is None or url.scheme not in ("http", "https") or not url.host:
        raise InputError("not an endpoint", got=repr(shown_url(text)), expected="http(s)://HOST[:PORT]")
    if url.userinfo:
        raise InputError(
            "a user name or password in the URL",
            source=shown_url(text),
            expected="the endpoint alone; credentials come from the environment or a file",
        )
    if path and (url.query or url.fragment):
        raise InputError("not an endpoint", got=repr(shown_url(text)), expected="no query and no fragment")
    whole = str(url).split("#")[0]
    return whole.rstrip("/") + path if path else whole


def _parsed(text: str) -> httpx.URL | None:
    try:
        url = httpx.URL(text)
        # The resolver would refuse an empty label, or one of more than 63 bytes.
        url.raw_host.decode("ascii").encode("idna")
        return url
    except (httpx.InvalidURL, UnicodeError, ValueError):
        return None


def shown_url(text: str) -> str:
    """A URL for messages: without user information (the part before an ``@``) and without the query, which may be
    secret.
    """
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = "", text
    authority, slash, path = rest.partition("/")
    plain = scheme + separator + authority.rpartition("@")[2] + slash + path.rpartition("@")[2]
    return plain.partition("?")[0].partition("#")[0][:200]


def fetch_json(url: str, access: Access) -> Any:
    """Request a URL once and return the parsed JSON of the answer.

    `url`: as `checked_url` gives it.

    The time limit holds for the whole exchange (`workbench.live.threads.within`). Proxies of the environment are not
    used: the socket opens to the endpoint and to nothing else (docs/decisions.md, decision 13).

    Raises
    ------
    ClusterError
        No connection, a bad certificate, no whole answer in time, credentials refused, a status other than 200;
        redirects are not followed, because credentials must reach only the named endpoint.
    InputError
        More bytes than allowed, or not JSON. A certificate file that cannot be read.
    """
    place, give_up = shown_url(url), threading.Event()
    # The next read of an exchange that still runs finds the connection closed.
    with _client(access) as client:
        try:
            answer = within(
                access.timeout_s,
                lambda: _body(client, url, access.max_bytes, give_up),
                "workbench-fetch",
                give_up.set,
            )
        except TimeoutError:
            raise ClusterError(f"{place}: no whole answer within {access.timeout_s:g} s") from None
        except BaseException as error:
            explained = _explained(error, place, access)
            if explained is None:
                raise
            raise explained from error
    try:
        return orjson.loads(answer)
    except orjson.JSONDecodeError as error:
        raise InputError(
            f"the answer is not JSON: {error.msg}",
            source=place,
            where=f"line {error.lineno}, column {error.colno}",
            got=f"{len(answer)} bytes",
            expected="JSON",
        ) from None


def _client(access: Access) -> httpx.Client:
    credentials = access.credentials
    return httpx.Client(
        auth=httpx.BasicAuth(credentials.username, credentials.password) if credentials is not None else None,
        verify=_tls(access),
        timeout=access.timeout_s,
        follow_redirects=False,
        trust_env=False,
        headers=HEADERS,
        transport=access.transport,
    )


def _tls(access: Access) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=access.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", source=str(access.ca_file), expected="certificates in PEM"
        ) from None
    if not access.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class _Refused(Exception):
    """The server answered with the HTTP error code `status`."""

    def __init__(self, status: int) -> None:
        self.status = status


class Unreadable(Exception):
    """The body of an answer is larger than allowed, or compressed although the request did not allow that.

    `expected`: what would have been allowed.
    """

    def __init__(self, what: str, expected: str) -> None:
        super().__init__(what)
        self.expected = expected


def read_body(response: httpx.Response, max_bytes: int, give_up: threading.Event | None = None) -> bytes:
    """The whole body of a response whose stream is open.

    Raises Unreadable: more bytes, or a compressed body.

    `max_bytes`: most bytes that are read. `give_up`: set when nobody waits for the body any more.
    """
    announced = response.headers.get("Content-Length", "")
    too_large = Unreadable("the answer is too large", f"at most {max_bytes} bytes")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > max_bytes:
        raise too_large
    body = bytearray()
    for piece in _pieces(response):
        body += piece
        if len(body) > max_bytes or (give_up is not None and give_up.is_set()):
            raise too_large
    return bytes(body)


def read_lines(response: httpx.Response, max_bytes: int) -> Iterator[bytes]:
    """The lines of an answer that goes on, without empty ones.

    `max_bytes`: most bytes of a line. Raises Unreadable: a longer line, or a compressed body.
    """
    rest = bytearray()
    for piece in _pieces(response):
        *ended, last = piece.split(b"\n")
        for line in ended:
            rest += line
            if rest:
                yield bytes(rest)
                rest.clear()
        rest += last
        if len(rest) > max_bytes:
            raise Unreadable("a line of the answer is too large", f"at most {max_bytes} bytes")
    if rest:
        yield bytes(rest)


def _pieces(response: httpx.Response) -> Iterator[bytes]:
    if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise Unreadable("the answer is compressed, which was not asked for", "plain JSON")
    return response.iter_bytes()


def _body(client: httpx.Client, url: str, max_bytes: int, give_up: threading.Event) -> bytes:
    with client.stream("GET", url) as response:
        if response.status_code != HTTPStatus.OK:
            raise _Refused(response.status_code)
        return read_body(response, max_bytes, give_up)


def _explained(error: BaseException, place: str, access: Access) -> WorkbenchError | None:
    """The one-line error for an exception during a request to `place`; None if it is a bug of this package."""
    match error:
        case _Refused(status=HTTPStatus.UNAUTHORIZED):
            what = (
                "the user name or password is wrong" if access.credentials else "it asks for a user name and password"
            )
            return ClusterError(f"{place}: refused with status 401: {what}")
        case _Refused(status=HTTPStatus.FORBIDDEN):
            return ClusterError(f"{place}: refused with status 403: this user may not read it")
        case _Refused(status=status) if 300 <= status < 400:
            return ClusterError(f"{place}: answered with a redirect (status {status}), which is not followed")
        case _Refused(status=status):
            return ClusterError(f"{place}: answered with status {status}{phrase(status)}, expected 200")
        case Unreadable():
            return InputError(str(error), source=place, expected=error.expected)
        case httpx.TimeoutException():
            return ClusterError(f"{place}: no whole answer within {access.timeout_s:g} s")
        case httpx.HTTPError():
            return ClusterError(f"{place}: {reason_of(error)}")
    return None


def phrase(status: int) -> str:
    """The standard's phrase for an HTTP status code, such as "Not Found"; the server's own text is not used."""
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


def reason_of(error: BaseException) -> str:
    """Why a connection failed, in words of the system or of this package.

    The HTTP library's own texts are not passed on: they quote what they complain about, such as the header with a
    token, or a URL with a password.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate is not trusted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"no TLS connection: {cause.reason or 'the handshake failed'}"
        if isinstance(cause, OSError) and cause.strerror:
            return f"no connection: {cause.strerror}"
        cause = cause.__cause__ or cause.__context__
    words = next((f": {text}" for kind, text in _WORDS if isinstance(error, kind)), "")
    return f"the connection broke{words}"


_WORDS = (
    (httpx.UnsupportedProtocol, "the URL is neither http nor https"),
    (httpx.ProxyError, "the proxy let nothing through"),
    (httpx.LocalProtocolError, "the request has a part that HTTP does not allow"),
    (httpx.RemoteProtocolError, "the server broke off, or answered something that is not HTTP"),
    (httpx.DecodingError, "the answer cannot be decoded"),
)
