"""`TlsServer`: a `BoundedServer` over TLS that reads its certificate again when the files change."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from workbench.cancel.progress import LOG
from workbench.live.kubernetes.bounded_server import BoundedHandler, BoundedServer

__all__ = ["TlsServer"]

#: What tells a file from the one that was read: inode, size and time of the last change.
_Seen = tuple[tuple[int, int, int], ...]


class TlsServer(BoundedServer):
    """Serves HTTPS by a certificate that may be renewed while the server runs.

    The files are looked at for every new connection, so that a certificate which a controller has renewed is used at
    once. Connections that are open keep theirs. While the files do not fit each other, as between two writes, the last
    certificate that could be read is used.

    Raises OSError: the port is taken, or the files cannot be read.

    Parameters
    ----------
    address : tuple of (str, int)
        Host and port.
    certificate, key : Path
        PEM files.
    """

    def __init__(self, address: tuple[str, int], handler: type[BoundedHandler], certificate: Path, key: Path) -> None:
        self._files = certificate, key
        self._seen = self._state()
        self._context = self._read()
        super().__init__(address, handler)

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection; its handshake is the affair of the thread that serves it."""
        request, address = super().get_request()
        try:
            self._renew()
            wrapped = self._context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
        except BaseException:
            request.close()
            raise
        return wrapped, address

    def _renew(self) -> None:
        """Read the certificate again if a file has changed."""
        try:
            now = self._state()
            if now != self._seen:
                self._context = self._read()
                self._seen = now
                LOG.info("admission server: certificate read again from %s", self._files[0])
        except OSError as error:  # an SSLError is one
            LOG.warning("admission server: the former certificate stays: %s", error)

    def _state(self) -> _Seen:
        found = (path.stat() for path in self._files)
        return tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in found)

    def _read(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self._files)
        return context
