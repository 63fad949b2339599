"""Output of commands: results to stdout or a file, messages and progress to stderr.

All output of the package passes through here, so that control characters in names from files are escaped.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from workbench.cancel.progress import LOG
from workbench.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

__all__ = [
    "DATA",
    "check_out",
    "confirm",
    "emit",
    "emit_data",
    "emit_objects",
    "emit_png",
    "live_table",
    "print_tables",
    "progress_bar",
    "readers_may_leave",
    "tell",
    "tell_lines",
    "tell_warnings",
    "to_json",
    "to_yaml",
    "without_controls",
]

#: Forms of a result that `emit_data` writes.
DATA = ("json", "yaml")


#: Control characters but tab and line ends (a carriage return only before a line feed), line and paragraph separators,
#: what turns the direction of writing, and halves of surrogate pairs, which no encoding can write.
_OBEYED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)


def without_controls(text: str) -> str:
    r"""The text with each control character written as an escape such as ``\u001b``.

    These are the characters that move the cursor, change colours or reverse a line.

    JSON strings and double-quoted YAML read these escapes as the characters themselves.
    """
    return _OBEYED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


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


#: Characters of one line on stderr.
_LONGEST_LINE = 1_000

#: Columns where nothing is wrapped.
_UNWRAPPED = 1_000_000


@contextmanager
def readers_may_leave() -> Iterator[None]:
    """Context manager in which output to a pipe whose reader has ended is dropped, and the command continues.

    The exit status is then the command's own. A status for the closed pipe would depend on chance, namely whether the
    reader ends before the last write. Python, click and rich each end the process in their own way when a write fails,
    therefore no write is allowed to fail. Messages that nobody can read, for instance because the disk of their file is
    full, cost neither the result nor its status.
    """
    given = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = used = forgiving(given[0]), forgiving(given[1], OSError)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = given
        for stream in used:
            with suppress(OSError):  # of a full disk, which has been told
                stream.flush()


def check_out(out: Path | None) -> None:
    """Check the output file of a command before any work is done.

    Raises InputError if it cannot be written.
    """
    if out is None:
        return
    from workbench.formats.whole_file import check_writable

    check_writable(out)


def emit(text: str, out: Path | None = None, *, private: bool = False) -> None:
    """Write a command's result to stdout or, if `out` is given, to a file, with control characters escaped.

    They are escaped in files too, because a file may later be shown in a terminal. Either ends in a line break.

    `out`: the file; None: stdout. `private`: whether a file that is made is readable by its owner only. Raises
    InputError: the file cannot be written.
    """
    text = without_controls(text if text.endswith("\n") else text + "\n")
    if out is None:
        sys.stdout.write(text)
        return
    from workbench.formats.whole_file import write_whole

    write_whole(out, text, private=private)


def emit_png(svg: str, out: Path | None) -> None:
    """Write an SVG drawing as a PNG image to a file, or to stdout if that is no terminal.

    Raises InputError: stdout is a terminal, or the file cannot be written.
    """
    from workbench.report.png import has_font, to_png

    if out is None and sys.stdout.isatty():
        raise InputError("an image is nothing for a terminal", source="-o png", expected="--out FILE, or a pipe")
    image = to_png(svg)
    if not has_font():
        tell("note: no font was found on this machine: the picture has no letters")
    if out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(image)
        return
    from workbench.formats.whole_file import write_whole

    write_whole(out, image)


def tell(message: str) -> None:
    """Write a message as one line to stderr; a long message loses its middle.

    The beginning of an error has the place, and its end the expected values.
    """
    line = without_controls(re.sub(r"\s*\n\s*", " ", message.strip()))
    if len(line) > _LONGEST_LINE:
        line = f"{line[: _LONGEST_LINE // 2]} … {line[-_LONGEST_LINE // 2 :]}"
    tell_lines(line)


@contextmanager
def tell_warnings() -> Iterator[None]:
    """Write warnings of the log ``workbench`` to stderr, one line each."""
    handler = _Teller(logging.WARNING)
    LOG.addHandler(handler)
    try:
        yield
    finally:
        LOG.removeHandler(handler)


class _Teller(logging.Handler):
    """Writes each message with `tell`."""

    def emit(self, record: logging.LogRecord) -> None:
        tell(record.getMessage())


def tell_lines(text: str) -> None:
    """Write a text of one or more lines to stderr."""
    sys.stderr.write(without_controls(text if text.endswith("\n") else text + "\n"))


def confirm(question: str) -> bool:
    """Ask the user a yes/no question on stderr; Enter alone means no."""
    import typer

    return typer.confirm(without_controls(question), default=False, err=True)


def to_json(value: Any) -> str:
    """A value as indented JSON text; NaN or infinity in it raises an error, as that would be a bug."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    """Convert a numpy number, which policies and their parameters may hold, to Python's, for the JSON encoder."""
    try:
        return value.item()
    except AttributeError:
        return str(value)


def to_yaml(value: Any) -> str:
    """A value as block-style YAML text, with the content of `to_json` and keys in their order."""
    from workbench.formats.write_manifests import to_yaml_value

    return to_yaml_value(json.loads(to_json(value)))


def emit_data(value: Any, form: str, out: Path | None = None) -> None:
    """Write a result as JSON or YAML, as `emit` writes a text.

    `value`: what `to_json` takes. `form`: {"json", "yaml"}. `out`: the file; None: stdout.
    """
    emit(to_json(value) if form == "json" else to_yaml(value), out)


def emit_objects(
    objects: Sequence[Mapping[str, Any]], form: str, out: Path | None = None, *, private: bool = False
) -> None:
    """Write Kubernetes objects as YAML documents or as one JSON List.

    `form`: {"json", "yaml"}. `out`: the file; None: stdout. `private`: as of `emit`.
    """
    from workbench.formats.write_manifests import to_yaml as manifests_to_yaml

    as_list = {"apiVersion": "v1", "kind": "List", "items": objects}
    emit(to_json(as_list) if form == "json" else manifests_to_yaml(objects), out, private=private)


def colourless() -> bool:
    """Whether the environment variable NO_COLOR is set, that is no colours are wanted (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


class _Harmless:
    """Wrapper of a part of the output that removes its control characters; rich adds those of colours later."""

    def __init__(self, part: Any) -> None:
        self.part = part

    def __rich_console__(self, console: Console, options: Any) -> Iterator[Segment]:
        for segment in console.render(self.part, options):
            yield segment if segment.control else segment._replace(text=without_controls(segment.text))


def print_tables(*parts: Any, unwrapped: bool = False, out: Path | None = None) -> None:
    """Print rich tables, trees and texts to stdout or, if `out` is given, to a file.

    A terminal gets them fitted to its width, except for texts with ``no_wrap``. A pipe or a file gets one line per row,
    tree branch or sentence, as long as the line is, without blanks at its end, so that a name is found whole by grep; a
    terminal, too, if `unwrapped`.
    """
    if out is not None:
        printed = io.StringIO()
        _print(parts, printed, unwrapped)
        emit(printed.getvalue(), out)
    else:
        _print(parts, sys.stdout, unwrapped)


def _print(parts: Sequence[Any], file: TextIO, unwrapped: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from workbench.report.layout import fitted, one_line

    terminal = file.isatty() and not unwrapped
    width = None if terminal else _UNWRAPPED
    console = Console(file=file, width=width, highlight=False, color_system=None if colourless() else "auto")
    for given in parts:
        part = Text(given) if isinstance(given, str) else given
        if terminal:
            whole = isinstance(part, Text) and bool(part.no_wrap)
            console.print(_Harmless(fitted(part, console) if isinstance(part, Table) else part), crop=not whole)
            continue
        with console.capture() as captured:
            if isinstance(part, Table):
                part = one_line(part)
                if part.title:  # rich would wrap the title at the table's width
                    console.print(_Harmless(Text(str(part.title), part.title_style or "")))
                    part.title = None
            console.print(_Harmless(part))
        file.write("".join(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1]))


@contextmanager
def live_table() -> Iterator[Callable[..., None] | None]:
    """Context manager that shows a table on stderr which changes in place.

    Yields a function that replaces what is shown by its arguments (rich objects), or None without a terminal.
    """
    if not sys.stderr.isatty() or colourless():
        yield None
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:

        def show(*parts: Any) -> None:
            harmless = (_Harmless(Text(part) if isinstance(part, str) else part) for part in parts)
            live.update(Group(*harmless), refresh=True)

        yield show


@contextmanager
def progress_bar(verb: str) -> Iterator[Callable[[int, int, str], None] | None]:
    """Context manager that shows a progress bar on stderr.

    Yields a function (done, total, name) that reports progress, or None without a terminal. `verb` says what is being
    done.
    """
    if not sys.stderr.isatty() or colourless():  # a bar moves the cursor by escape codes
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(verb)

        def step(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=without_controls(f"{verb} {name}".rstrip()))

        yield step
