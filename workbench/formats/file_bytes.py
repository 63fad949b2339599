"""`read_bytes`: the content of a file, up to a limit."""

from __future__ import annotations

from pathlib import Path

from workbench.cancel import reached
from workbench.errors import InputError

__all__ = ["MAX_SETTINGS", "read_bytes", "unreadable"]

MAX_BYTES = 1 << 30

#: Bytes of a file that holds settings, not a cluster: for `read_bytes`.
MAX_SETTINGS = 1 << 24


def read_bytes(path: str | Path, most: int = MAX_BYTES) -> bytes:
    """The content of a file.

    Raises InputError if it cannot be read or has more than `most` bytes (by default 1 GiB).
    """
    if path == "":
        raise InputError("an empty path", source="path", expected="a file")
    content = bytearray()
    try:
        with Path(path).open("rb") as file:
            # In pieces, because a pipe or a device does not tell its size.
            while piece := file.read(min(1 << 24, most + 1)):
                content += piece
                reached("reading bytes", len(content))
                if len(content) > most:
                    break
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if len(content) > most:
        raise InputError("the file is too large", source=str(path), expected=f"at most {most} bytes")
    return bytes(content)


def unreadable(path: str | Path, error: Exception) -> InputError:
    """The error about a file or folder that cannot be read."""
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"cannot be read: {reason}", source=str(path), expected="a readable file or folder")
