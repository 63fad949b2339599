"""A server on loopback that answers slowly, wrongly or not at all, as a test asks, with or without TLS."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

USERNAME, PASSWORD = "operator", "s3cret-Pä55"

#: Two leaves, one with two nodes; the row of a switch is not looked at.
PORTS = [
    {"description": "Computer IB Port", "system_name": "n0", "peer_node_name": "leaf0", "tier": 1},
    {"description": "Computer IB Port", "system_name": "n1", "peer_node_name": "leaf0", "tier": 1},
    {"description": "Computer IB Port", "system_name": "n2", "peer_node_name": "leaf1", "tier": 1},
    {"description": "Switch IB Port", "system_name": "leaf0", "peer_node_name": "spine0", "tier": 2},
]

Reply = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """One request: remembered, then answered by the server's reply."""

    server: Server

    def do_GET(self) -> None:
        self.server.loopback.paths.append(self.path)
        with contextlib.suppress(OSError):  # the client has gone, as it should
            self.server.loopback.reply(self)

    def log_message(self, format: str, *args: object) -> None:
        pass

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        """A whole answer; a header's underscores become dashes."""
        self.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    @property
    def wait(self) -> Callable[[float], bool]:
        """Sleep, but wake when the test ends; True then."""
        return self.server.loopback.over.wait


class Server(ThreadingHTTPServer):
    """The socket; `loopback` is what the test sees of it."""

    daemon_threads = True
    loopback: Loopback

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a broken handshake is what some tests want


@dataclass
class Loopback:
    """A running server.

    Attributes
    ----------
    url : str
    reply : function
        Answers each request.
    paths : list of str
        Of the requests so far.
    over : threading.Event
        Set when the test ends.
    """

    url: str
    reply: Reply
    paths: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def loopback(reply: Reply, certificate: trustme.LeafCert | None = None, name: str = "127.0.0.1") -> Iterator[Loopback]:
    """Serve until the block ends; over TLS where a certificate is given."""
    server = Server(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        # The handshake happens in the request's own thread, not where connections are accepted.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    scheme = "http" if certificate is None else "https"
    server.loopback = Loopback(f"{scheme}://{name}:{server.server_address[1]}", reply)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            # What this machine trusts is no part of a test, and to read it takes longer than all that a test does.
            patch.setenv("SSL_CERT_FILE", os.devnull)
            patch.setenv("SSL_CERT_DIR", os.devnull)
            yield server.loopback
    finally:
        server.loopback.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def good(handler: Handler) -> None:
    """A UFM: the ports, for the right user."""
    expected = base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
    if handler.headers["Authorization"] == f"Basic {expected}":
        handler.send(json.dumps(PORTS).encode())
    else:
        handler.send(b"who are you?", 401, WWW_Authenticate='Basic realm="ufm"')


def text(body: str, status: int = 200) -> Reply:
    """Always the same text."""
    return lambda handler: handler.send(body.encode(), status)


def silent(handler: Handler) -> None:
    """Never answers."""
    handler.wait(30)


def dripping_headers(handler: Handler) -> None:
    """A byte of a header that never ends, again and again."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not handler.wait(0.02):
        handler.wfile.write(b"x")


def dripping_body(handler: Handler) -> None:
    """A byte of a body that never ends, again and again."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not handler.wait(0.02):
        handler.wfile.write(b" ")


def endless(handler: Handler) -> None:
    """A body without a length, as fast as it goes."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not handler.server.loopback.over.is_set():
        handler.wfile.write(b"1000\r\n" + b" " * 4096 + b"\r\n")


def huge(handler: Handler) -> None:
    """Announces a terabyte."""
    handler.send(b"[", Content_Length=str(1 << 40))


def cut_off(handler: Handler) -> None:
    """Ends before the length that it announced."""
    handler.send(b"[", Content_Length="100")


def compressed(handler: Handler) -> None:
    """Says that the body is compressed."""
    handler.send(b"\x1f\x8b", Content_Encoding="gzip")


def redirect_to(url: str) -> Reply:
    """Sends the client elsewhere."""
    return lambda handler: handler.send(b"", 302, Location=url)


def write_ca(ca: trustme.CA, folder: Path) -> Path:
    """The authority's certificate as a file."""
    path = folder / "ca.pem"
    ca.cert_pem.write_to_path(path)
    return path
