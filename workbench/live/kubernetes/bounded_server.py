"""`BoundedServer`: an HTTP server whose clients may be hostile: connections, time and memory are bounded."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["BoundedHandler", "BoundedServer"]

#: Connections at a time, each with a thread. Further ones wait in the queue of the system.
_MOST_CONNECTIONS = 200

#: Seconds that a client may take from the first byte to the last one of a request, and, while no connection is free,
#: at least has; seconds that a client waits for a connection.
_REQUEST_S, _LEAST_S, _WAIT_S = 10.0, 1.0, 5.0

#: Seconds until a connection that could not be accepted is tried again.
_PAUSE_S = 0.1

#: Bytes of the bodies above `_SMALL_BYTES` that are held at a time.
_BODIES_BYTES, _SMALL_BYTES = 64 << 20, 64 << 10


class BoundedServer(ThreadingHTTPServer):
    """A server whose handlers are `BoundedHandler`."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, address: tuple[str, int], handler: type[BoundedHandler]) -> None:
        #: Since when each connection waits for a whole request; None: one is being answered.
        self._waiting: dict[Any, float | None] = {}
        self._changed = threading.Condition()
        self._held = 0
        super().__init__(address, handler)

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection; while the process has no descriptor left for one, this is tried ten times a second."""
        try:
            return super().get_request()
        except OSError:
            # The connection stays in the queue: without a pause the loop would ask for it again at once.
            time.sleep(_PAUSE_S)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, once there is room for it."""
        with self._changed:
            until = time.monotonic() + _WAIT_S
            while len(self._waiting) >= _MOST_CONNECTIONS and time.monotonic() < until:
                self._end_slow(_LEAST_S)
                self._changed.wait(0.1)
            free = len(self._waiting) < _MOST_CONNECTIONS
            if free:
                self._waiting[request] = time.monotonic()
        if free:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        with self._changed:
            self._waiting.pop(request, None)
            self._changed.notify_all()
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Called by `serve_forever` several times a second: end the connections of clients that take too long."""
        with self._changed:
            self._end_slow(_REQUEST_S)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a handshake or a connection that breaks is the client's affair."""

    def _end_slow(self, seconds: float) -> None:
        for request, since in self._waiting.items():
            if since is not None and time.monotonic() - since > seconds:
                # The thread that reads from the socket closes it.
                with suppress(OSError):
                    socket.socket.shutdown(request, socket.SHUT_RDWR)

    def is_answering(self, request: Any, answering: bool) -> None:
        """Take note that a request has arrived as a whole, or that it is answered and the next one is waited for."""
        with self._changed:
            if request in self._waiting:
                self._waiting[request] = None if answering else time.monotonic()

    @contextmanager
    def room_for(self, length: int) -> Iterator[bool]:
        """While this lasts, memory for a body is reserved; gives whether there was enough in time."""
        length = length if length > _SMALL_BYTES else 0
        with self._changed:
            got = self._changed.wait_for(lambda: self._held + length <= _BODIES_BYTES, _WAIT_S)
            self._held += length if got else 0
        try:
            yield got
        finally:
            with self._changed:
                self._held -= length if got else 0
                self._changed.notify_all()


class BoundedHandler(BaseHTTPRequestHandler):
    """Answers each POST by `answer_to`."""

    protocol_version = "HTTP/1.1"
    timeout = _REQUEST_S
    server: BoundedServer
    #: Most bytes of a body.
    most_bytes = 8 << 20

    def answer_to(self, body: bytes) -> tuple[int, bytes, str]:
        """Status, body and content type of the answer to the body of a POST."""
        raise NotImplementedError

    def do_GET(self) -> None:
        """Say that the server is there."""
        self._answer(200, b"ok", "text/plain")

    def do_POST(self) -> None:
        """Answer one request, unless it is too large, or comes too slowly."""
        said = self.headers.get("Content-Length", "")
        length = int(said) if said.isascii() and said.isdigit() and len(said) < 12 else self.most_bytes + 1
        if length > self.most_bytes:
            self.close_connection = True
            self._answer(413, b"too large, or without a length", "text/plain")
            return
        with self.server.room_for(length) as room:
            if not room:
                self.close_connection = True
                self._answer(503, b"too many large requests", "text/plain")
                return
            body = self.rfile.read(length)
            if len(body) < length:
                self.close_connection = True
                return
            self.server.is_answering(self.connection, True)
            try:
                self._answer(*self.answer_to(body))
            finally:
                self.server.is_answering(self.connection, False)

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: the client is told."""
