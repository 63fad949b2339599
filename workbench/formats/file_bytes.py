"""`read_bytes`: the content of a file, up to a limit; `on_disk`: where the data are that come with the package."""

from __future__ import annotations

import os
import re
import reprlib
from pathlib import Path

from workbench.cancel import reached
from workbench.errors import InputError

__all__ = ["DATA", "MAX_SETTINGS", "checked_path", "on_disk", "read_bytes", "unreadable"]

#: The folder of the data that come with the package; a user names it ``datasets``.
DATA = Path(__file__).with_name("data")

MAX_BYTES = 1 << 30

#: Bytes of a file that holds settings, not a cluster: for `read_bytes`.
MAX_SETTINGS = 1 << 24


#: The beginning of an address; a letter alone is a drive.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def checked_path(path: object) -> str | Path:
    """A path that somebody handed in, as it is.

    Raises InputError: something else: the address of a page, a text, or no text at all.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(
            "no path", source="path", got=reprlib.repr(path), expected="the path of a file as text or Path"
        )
    text = os.fspath(path)
    if not isinstance(text, str):
        raise InputError(
            "no path", source="path", got=reprlib.repr(text), expected="the path of a file as text or Path"
        )
    if text == "":
        raise InputError("an empty path", source="path", expected="a file")
    if _ADDRESS.match(text):
        raise InputError("a URL", source=text, expected="the path of a file: download it first")
    if "\n" in text:
        got, expected = reprlib.repr(text), 'a path; a text is handed in as load("-", stdin=text)'
        raise InputError("a text, no path", source="path", got=got, expected=expected)
    return path if isinstance(path, (str, Path)) else Path(path)


def read_bytes(path: str | Path, most: int = MAX_BYTES) -> bytes:
    """The content of a file.

    Raises InputError if it cannot be read or has more than `most` bytes (by default 1 GiB).
    """
    path = checked_path(path)
    content = bytearray()
    try:
        with on_disk(path).open("rb") as file:
            # In pieces, because a pipe or a device does not tell its size.
            while piece := file.read(min(1 << 24, most + 1)):
                content += piece
                reached("reading bytes", len(content))
                if len(content) > most:
                    break
    except IsADirectoryError:
        raise InputError("a folder", source=str(path), expected="a file") from None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if len(content) > most:
        raise InputError("the file is too large", source=str(path), expected=f"at most {most} bytes")
    return bytes(content)


def on_disk(path: str | Path) -> Path:
    """Where a file or folder is: ``datasets/…``, if it does not exist, among the data that come with the package.

    So the examples of ``--help`` and of docstrings run in any folder. The name in messages stays that which was given.
    """
    given = Path(path)
    inside = Path(os.path.normpath(given)).parts
    if inside[:1] != ("datasets",) or given.exists():
        return given
    installed = DATA.joinpath(*inside[1:])
    return installed if installed.exists() else given


def unreadable(path: str | Path, error: Exception) -> InputError:
    """The error about a file or folder that cannot be read."""
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"cannot be read: {reason}", source=str(path), expected="a readable file or folder")
