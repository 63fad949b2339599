"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from workbench.errors import InputError

__all__ = ["write_whole"]


def write_whole(path: str | Path, content: bytes | str) -> None:
    """Write a file at once: nobody sees half of it, and what was there stays when something fails.

    A link is followed, and a file that is replaced keeps its permissions. A device or a pipe (``/dev/stdout``,
    ``/dev/null``) is written to, never replaced. Text is written in UTF-8.

    Raises
    ------
    InputError
        The file cannot be written.
    BrokenPipeError
        Nobody reads the pipe any more.
    """
    data = content.encode() if isinstance(content, str) else content
    path = Path(path)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as file:
                file.write(data)
        else:
            _replace(path.resolve(), data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(
            "cannot be written", source=str(path), got=error.strerror, expected="a writable place"
        ) from None


def _replace(target: Path, data: bytes) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    # In the same folder, so that the rename stays on one file system; the name is ours alone.
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
