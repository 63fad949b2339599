"""`new_ssh_keys`: a pair of SSH keys for a Job with the plugin ssh, as Volcano's controller draws one."""

from __future__ import annotations

from workbench.jobs.frameworks.contract import SshKeys

__all__ = ["new_ssh_keys"]

_BITS = 2048
_EXPONENT = 65537


def new_ssh_keys() -> SshKeys:
    """Draw a new pair of RSA keys with 2,048 bits; the private key as PEM (PKCS #1), the public one as OpenSSH."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(_EXPONENT, _BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return SshKeys(private.decode(), public.decode() + "\n")
