"""Where results go: stdout or a whole file, tables by rich, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.errors import InputError

__all__ = ["check_out", "emit", "print_tables", "progress_bar", "to_json", "to_yaml"]


def check_out(out: Path | None, output: str = "") -> None:
    """Before any work: InputError for ``--out`` with a table, which is written nowhere, or with an unwritable file."""
    if out is None:
        return
    if output == "table":
        raise InputError("a table goes to the terminal", source="--out", expected="-o html or -o json beside it")
    from workbench.formats.whole_file import check_writable

    check_writable(out)


def emit(text: str, out: Path | None = None) -> None:
    """Write a result to stdout, or to a file as `workbench.formats.whole_file.write_whole` does.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    if out is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    from workbench.formats.whole_file import write_whole

    write_whole(out, text)


def to_json(value: Any) -> str:
    """Indented JSON; NaN and infinity are our bug."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    """numpy's numbers, which policies and their parameters may hold, as Python's."""
    try:
        return value.item()
    except AttributeError:
        return str(value)


def to_yaml(value: Any) -> str:
    """Block-style YAML in the order of the value; exactly what `to_json` says."""
    import yaml

    return yaml.dump(
        json.loads(to_json(value)), Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=120
    )


def print_tables(*parts: Any) -> None:
    """Tables and texts to stdout, as wide as the terminal, 80 columns elsewhere."""
    from rich.console import Console

    console = Console(soft_wrap=False, highlight=False)
    for part in parts:
        console.print(part)


@contextmanager
def progress_bar(verb: str) -> Iterator[Callable[[int, int, str], None] | None]:
    """A bar on stderr while something long runs; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(verb)

        def step(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{verb} {name}".rstrip())

        yield step
