"""`TlsServer`: a `BoundedServer` over TLS that reads its certificate again when the files change.

`own_certificate` makes a certificate for a server whose user brings none.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from workbench.cancel.progress import LOG
from workbench.live.kubernetes.bounded_server import BoundedHandler, BoundedServer
from workbench.optional import optional

with optional("live"):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

__all__ = ["TlsServer", "own_certificate"]

#: What tells a file from the one that was read: inode, size and time of the last change.
_Seen = tuple[tuple[int, int, int], ...]


class TlsServer(BoundedServer):
    """Serves HTTPS by a certificate that may be renewed while the server runs.

    The files are looked at for every new connection, so that a certificate which a controller has renewed is used at
    once. Connections that are open keep theirs. While the files do not fit each other, as between two writes, the last
    certificate that could be read is used.

    Raises OSError: the port is taken, or the files cannot be read.

    `address`: tuple of (str, int); host and port. `certificate`, `key`: PEM files.
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


_DAYS = 365


def own_certificate(names: Sequence[str], folder: Path) -> tuple[Path, Path]:
    """Make a certificate that is its own authority, valid for a year.

    `names`: DNS names and addresses of the server. `folder`: receives ``tls.crt`` and ``tls.key``, the key readable by
    its owner only. Returns the certificate and the key, as PEM.
    """

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "topology-workbench admission")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # Clocks differ by minutes.
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName([_name(one) for one in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.touch(mode=0o600)
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, private


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
