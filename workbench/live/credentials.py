"""User name and password for an endpoint, read from environment variables or a file, never from the command line."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.formats.file_bytes import read_bytes
from workbench.formats.manifests import read_text

__all__ = ["Credentials", "credentials_from_environment", "credentials_of_secret", "load_credentials"]


@dataclass(frozen=True)
class Credentials:
    """A user name and password; ``repr`` and ``str`` do not show the password."""

    username: str
    password: str = field(repr=False)


def credentials_from_environment(environment: Mapping[str, str], source: str) -> Credentials | None:
    """Credentials from environment variables; None unless both are set.

    For the source ``ufm`` these are ``WORKBENCH_UFM_USERNAME`` and ``WORKBENCH_UFM_PASSWORD``.
    """
    prefix = f"WORKBENCH_{source.upper()}_"
    return _both(environment.get(f"{prefix}USERNAME"), environment.get(f"{prefix}PASSWORD"))


def credentials_of_secret(data: Mapping[str, str] | None) -> Credentials | None:
    """Credentials from the decoded keys ``username`` and ``password`` of a Kubernetes Secret.

    None if there is no Secret or one of the keys is missing.

    Source: docs/reference/volcano-topology.md, section 9.2.
    """
    return _both(data.get("username"), data.get("password")) if data is not None else None


def load_credentials(path: str | Path) -> Credentials:
    """Read credentials from a YAML or JSON file with ``username`` and ``password``, or from the manifest of a Secret.

    Raises
    ------
    InputError
        The file cannot be read or is in neither form. The message never quotes the file's content.
    """
    content = read_bytes(path)
    try:
        documents = read_text(content, str(path))
    except InputError as error:
        raise _without_content(error, str(path)) from None
    data = documents[0][0] if len(documents) == 1 else None
    if type(data) is not dict:
        raise _no_credentials(path)
    if data.get("kind") == "Secret":
        data = _of_secret(data, path)
    for key in ("username", "password"):
        if type(data.get(key)) is not str:
            raise _no_credentials(path, f"{key} in quotes")
    found = _both(data["username"], data["password"])
    if found is None:
        raise _no_credentials(path, "neither of them empty")
    return found


def _of_secret(data: Mapping[str, Any], path: str | Path) -> dict[str, str]:
    encoded, plain = data.get("data") or {}, data.get("stringData") or {}
    if type(encoded) is not dict or type(plain) is not dict:
        raise _no_credentials(path)
    try:
        decoded = {key: base64.b64decode(str(value), validate=True).decode() for key, value in encoded.items()}
    except (binascii.Error, UnicodeDecodeError):
        raise _no_credentials(path, "base64 of UTF-8 under data") from None
    return {**decoded, **plain}


def _both(username: str | None, password: str | None) -> Credentials | None:
    return Credentials(username, password) if username and password else None


def _no_credentials(path: str | Path, more: str = "") -> InputError:
    expected = "username and password, or a Secret with both" + (f"; {more}" if more else "")
    return InputError("no credentials", source=str(path), expected=expected)


def _without_content(error: InputError, path: str) -> InputError:
    return InputError(
        "cannot be read", source=path, where=error.where, expected="username and password in YAML or JSON"
    )
