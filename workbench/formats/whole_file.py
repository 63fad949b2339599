"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from workbench.errors import InputError

__all__ = ["check_writable", "write_whole"]


def check_writable(path: str | Path) -> None:
    """Refuse what `write_whole` would refuse, before anything is worked out or said; nothing is touched.

    Raises
    ------
    InputError
        A folder, no folder to write into, or no permission.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            _need(path, os.W_OK)
            return
        target = _target(path)
        if not target.parent.is_dir():
            raise _os_error(errno.ENOTDIR if target.parent.exists() else errno.ENOENT)
        _need(target.parent, os.W_OK | os.X_OK)
    except OSError as error:
        raise _unwritable(path, error) from None


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
            _replace(_target(path), data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unwritable(path, error) from None


def _os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _need(path: Path, permission: int) -> None:
    if not os.access(path, permission):
        raise _os_error(errno.EACCES)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError("cannot be written", source=str(path), got=error.strerror, expected="a writable place")


def _target(path: Path) -> Path:
    """The file that a path leads to."""
    try:
        target = path.resolve()
    except RuntimeError:  # how Python before 3.13 says it
        raise _os_error(errno.ELOOP) from None
    if target.is_dir():
        raise _os_error(errno.EISDIR)
    if target.is_symlink():
        raise _os_error(errno.ELOOP)
    return target


def _replace(target: Path, data: bytes) -> None:
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
