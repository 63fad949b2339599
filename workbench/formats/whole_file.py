"""Write files atomically: a file appears with its whole content or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import EllipsisType
from typing import IO

from workbench.errors import InputError

__all__ = ["check_writable", "write_whole"]


def check_writable(path: str | Path) -> None:
    """Raise InputError if `write_whole` could not write to a path, before any work is done; nothing is changed.

    Raises InputError: the path is a folder, its folder does not exist, or permission is missing.
    """
    path = Path(path)
    try:
        device = _device(path)
        if device is not None:
            _need(device, os.W_OK)
            return
        target = _target(path)
        if not target.parent.is_dir():
            raise _os_error(errno.ENOTDIR if target.parent.exists() else errno.ENOENT)
        _need(target.parent, os.W_OK | os.X_OK)
    except OSError as error:
        raise _unwritable(path, error) from None


def write_whole(
    path: str | Path,
    content: bytes | str,
    *,
    known: bytes | EllipsisType | None = ...,
    private: bool = False,
    follow: bool = True,
) -> None:
    """Write a file atomically: no reader sees half of it, and if writing fails the old file stays.

    Raises InputError: the file cannot be written, or is not as `known` any more; BrokenPipeError: the path is a pipe
    whose reader has ended.

    Parameters
    ----------
    known : bytes, optional
        Content that the file must still have to be replaced, because `content` was made of that; None: there must be no
        file. Left out: whatever is there is replaced. A device or a pipe has no content that counts.
    private : bool
        Whether a file that is made is readable by its owner only.
    follow : bool
        False: a link at the path itself is replaced, not followed.

    Notes
    -----
    If several threads or processes write one file, all succeed, and the content is that of the last to finish.

    A link is followed, and a file that is replaced keeps its permissions. A device or a pipe (``/dev/stdout``,
    ``/dev/null``) is written to, never replaced. Text is written in UTF-8.
    """
    data = content.encode() if isinstance(content, str) else content
    path = Path(path)
    try:
        device = _device(path) if follow else None
        if device is not None:
            with device.open("wb") as file:
                file.write(data)
        else:
            target = _target(path) if follow else path
            with _alone_in(target.parent) if known is not ... else contextlib.nullcontext():
                if known is not ... and (target.read_bytes() if target.exists() else None) != known:
                    raise InputError(
                        "has changed meanwhile",
                        source=str(path),
                        got="content that another program has written",
                        expected="the content that was read at the beginning; give the same command again",
                    )
                _replace(target, data, private)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unwritable(path, error) from None


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """While this lasts, no other process is in it for the same folder, where the system can lock a folder."""
    try:
        import fcntl

        opened = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        # Closing the descriptor unlocks.
        with contextlib.suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _need(path: Path, permission: int) -> None:
    if not os.access(path, permission):
        raise _os_error(errno.EACCES)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError("cannot be written", source=str(path), got=error.strerror, expected="a writable place")


def _device(path: Path) -> Path | None:
    """A path by which the device, pipe or socket to which `path` leads can be opened; None if it leads to no such.

    The path as given comes first, because ``/dev/stdout`` may resolve to ``pipe:[1]``, which is no path; then the path
    of the file that would be replaced, because ``missing/../pipe`` exists only when it is resolved.
    """
    if _is_device(path):
        return path
    target = _target(path)
    return target if _is_device(target) else None


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _target(path: Path) -> Path:
    """The path of the file to which a symbolic link leads; the path itself if it is no link."""
    try:
        target = path.resolve()
    except RuntimeError:  # how Python before 3.13 says it
        raise _os_error(errno.ELOOP) from None
    if target.is_dir():
        raise _os_error(errno.EISDIR)
    if target.is_symlink():
        raise _os_error(errno.ELOOP)
    return target


def _replace(target: Path, data: bytes, private: bool) -> None:
    # In the same folder, so that the rename stays on one file system. The name is this call's alone, whatever other
    # threads, processes and machines write there, and short, whatever the target is called.
    draft = target.with_name(f".workbench-{secrets.token_hex(8)}.part")
    try:
        unnamed = _unnamed(target.parent)
        if unnamed is None:
            with draft.open("xb") as file:
                _fill(file, data, target, private)
        else:
            with os.fdopen(unnamed, "wb") as file:
                _fill(file, data, target, private)
                _name(unnamed, draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _fill(file: IO[bytes], data: bytes, target: Path, private: bool) -> None:
    """Write `data` to the open file and flush it to disk, with the permissions of `target` if that exists."""
    if private:
        os.fchmod(file.fileno(), 0o600)
    file.write(data)
    file.flush()
    with contextlib.suppress(FileNotFoundError):
        os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
    os.fsync(file.fileno())


def _unnamed(folder: Path) -> int | None:
    """Descriptor of a new unnamed file in a folder, which vanishes if the process is killed; None if unsupported."""
    if sys.platform != "linux":
        return None
    try:
        found = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except OSError:  # the file system has none, or the folder takes no file, which the named draft then says
        return None
    if Path(_by_number(found)).exists():
        return found
    os.close(found)
    return None


def _by_number(file: int) -> str:
    return f"/proc/self/fd/{file}"


def _name(file: int, draft: Path) -> None:
    """Give an unnamed file, by its descriptor from `_unnamed`, the name `draft`."""
    folder = os.open(draft.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Only with a folder's number does Python follow the link in /proc to the file.
        os.link(_by_number(file), draft.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)
