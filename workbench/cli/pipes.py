"""Output streams that do not fail if the reader of a pipe ends early, as `head` and `less` do, or not at all."""

from __future__ import annotations

import io
import os
from typing import Any, TextIO

__all__ = ["forgiving"]


def forgiving(stream: TextIO, forgiven: type[OSError] = BrokenPipeError) -> TextIO:
    """A stream with the descriptor of `stream` whose writes do not fail after the reader has closed the pipe.

    With `forgiven` OSError they do not fail at all, as befits messages: a result without them is still a result.
    Terminals, and streams that are not those of the process, such as a notebook's, are returned as they are.
    """
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED the text goes to the file directly
    if not isinstance(stream, io.TextIOWrapper) or not isinstance(raw, io.FileIO) or raw.isatty():
        return stream
    stream.flush()
    pipe = _Pipe(raw.fileno(), "w", closefd=False)
    pipe.forgiven = forgiven
    return io.TextIOWrapper(
        pipe if raw is buffer else io.BufferedWriter(pipe),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _Pipe(io.FileIO):
    """The raw file under such a stream; after the first forgiven failure the descriptor is of the null device."""

    forgiven: type[OSError] = BrokenPipeError

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except self.forgiven:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            return memoryview(data).nbytes
