from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.live.kubernetes.bounded_server import BoundedHandler
from workbench.live.kubernetes.tls_server import TlsServer, own_certificate


class Echo(BoundedHandler):
    def answer_to(self, body: bytes) -> tuple[int, bytes, str]:
        return 200, body, "text/plain"


def pair(folder: Path) -> tuple[Path, Path]:
    folder.mkdir()
    return own_certificate(["127.0.0.1"], folder)


def put(source: Path, target: Path) -> None:
    """Put a file in the place of another at once, as a mounted Secret changes."""
    beside = target.with_suffix(".new")
    beside.write_bytes(source.read_bytes())
    beside.replace(target)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return pair(tmp_path / "served")


@pytest.fixture
def server(files: tuple[Path, Path]) -> Iterator[TlsServer]:
    made = TlsServer(("127.0.0.1", 0), Echo, *files)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def shown(server: TlsServer) -> bytes:
    """The certificate that a new connection is shown, as PEM."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=60) as bare,
        context.wrap_socket(bare) as wrapped,
    ):
        found = wrapped.getpeercert(binary_form=True)
    assert found is not None
    return ssl.DER_cert_to_PEM_cert(found).encode()


def test_a_renewed_certificate_is_shown_to_the_next_connection(
    server: TlsServer, files: tuple[Path, Path], tmp_path: Path
) -> None:
    assert shown(server) == files[0].read_bytes()
    renewed = pair(tmp_path / "renewed")
    for source, target in zip(renewed, files, strict=True):
        put(source, target)
    assert shown(server) == renewed[0].read_bytes() == files[0].read_bytes()


def test_an_open_connection_goes_on(server: TlsServer, files: tuple[Path, Path], tmp_path: Path) -> None:
    context = ssl.create_default_context(cafile=str(files[0]))
    client = http.client.HTTPSConnection("127.0.0.1", server.server_address[1], timeout=60, context=context)
    client.request("POST", "/", b"one")
    assert client.getresponse().read() == b"one"
    for source, target in zip(pair(tmp_path / "renewed"), files, strict=True):
        put(source, target)
    client.request("POST", "/", b"two")
    assert client.getresponse().read() == b"two"
    client.close()


def test_half_a_renewal_and_no_file_leave_the_former(
    server: TlsServer, files: tuple[Path, Path], tmp_path: Path
) -> None:
    former = files[0].read_bytes()
    renewed = pair(tmp_path / "renewed")
    put(renewed[0], files[0])
    assert shown(server) == former
    files[1].unlink()
    assert shown(server) == former
    put(renewed[1], files[1])
    assert shown(server) == renewed[0].read_bytes()


def test_what_cannot_be_read_at_first_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No such file"):
        TlsServer(("127.0.0.1", 0), Echo, tmp_path / "tls.crt", tmp_path / "tls.key")
