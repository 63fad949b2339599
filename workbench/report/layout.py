"""Fit tables of the library rich to a terminal's width, or give them one line per row for programs.

Rich itself shrinks the widest column first, in the middle of names, even if another column could be wrapped at spaces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["SOFT_BREAK", "fitted", "one_line"]

#: A place in a cell where a line may end without a space: it is dropped where the cell needs no second line.
SOFT_BREAK = "\u200b"

_UNLIMITED = 1_000_000

#: A table keeps its first column and one more, however narrow the terminal is.
_FEWEST_COLUMNS = 2


def one_line(table: Table) -> Table:
    """A copy of the table with every cell on one line: line breaks become spaces."""
    return _with_cells(table, lambda cell: _with_part(cell, "\n", " "))


def fitted(table: Table, console: Console) -> Table:
    """A copy of a table that fits the width of a console.

    Columns are narrowed by wrapping their cells at spaces, the widest column first. If the table is still too wide when
    every word stands on a line of its own, lines end at every `SOFT_BREAK`, too. If that is not enough, columns are
    left out and named below the table: the last column whose cells are single words first. The first column and columns
    that may not be wrapped are never left out, and two columns always stay; if these are still too wide, rich breaks
    words.

    Returns a copy of the table that fits.
    """
    whole = _with_cells(table, lambda cell: cell)
    if _width(whole, console) <= console.width:
        return whole
    broken = (
        _with_cells(table, lambda cell: _with_part(cell, SOFT_BREAK, "\n")) if _needs_breaks(whole, console) else whole
    )
    left_out: list[str] = []
    while True:
        natural = [max(_lengths(broken, i, "lines"), default=0) for i in range(len(broken.columns))]
        least = [max(_lengths(broken, i, "words"), default=0) for i in range(len(broken.columns))]
        budget = console.width - (_width(broken, console) - sum(natural))
        dropped = _least_needed(broken)
        if budget >= sum(least) or dropped is None:
            break
        left_out.insert(0, _as_text(broken.columns[dropped].header).plain.replace("\n", "").strip())
        broken = _without_column(broken, dropped)
    if sum(natural) > budget >= sum(least):
        for column, columns in zip(broken.columns, _shrunk(natural, least, budget), strict=True):
            column.width = columns
    if left_out:
        narrow = f"too narrow for: {', '.join(left_out)}"
        broken.caption = f"{table.caption}\n{narrow}" if table.caption else narrow
        broken.caption_justify, broken.caption_style = "left", "dim"
    return broken


def _needs_breaks(whole: Table, console: Console) -> bool:
    """Whether the columns do not fit beside each other although their cells are wrapped at spaces."""
    columns = range(len(whole.columns))
    natural, least = (sum(max(_lengths(whole, i, of), default=0) for i in columns) for of in ("lines", "words"))
    return _width(whole, console) - natural + least > console.width


def _least_needed(table: Table) -> int | None:
    """Index of the column that can be left out first; None if only two columns, or only needed ones, are left."""
    columns = table.columns
    spare = [i for i in range(len(columns) - 1, 0, -1) if not columns[i].no_wrap]
    if not spare or len(columns) <= _FEWEST_COLUMNS:
        return None
    return next((i for i in spare if not any(" " in _as_text(cell).plain for cell in columns[i].cells)), spare[0])


def _without_column(table: Table, index: int) -> Table:
    """A copy of the table without the column at `index`."""
    copy = _empty_like(table, [column for i, column in enumerate(table.columns) if i != index])
    for cells in zip(*(column.cells for i, column in enumerate(table.columns) if i != index), strict=True):
        copy.add_row(*cells)
    return copy


def _shrunk(natural: list[int], least: list[int], budget: int) -> list[int]:
    """Column widths that add up to `budget`, taken from the widest first, but never below a column's `least`."""
    widths = list(natural)
    for _ in range(sum(natural) - budget):
        widest = max((i for i in range(len(widths)) if widths[i] > least[i]), key=lambda i: widths[i])
        widths[widest] -= 1
    return widths


def _with_cells(table: Table, change: Callable[[Text], Text]) -> Table:
    """A copy of the table with `change` applied to every cell; remaining soft line breaks are removed."""
    copy = _empty_like(table, table.columns)
    for column in copy.columns:
        column.header = _with_part(change(_as_text(column.header)), SOFT_BREAK, "")
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        copy.add_row(*(_with_part(change(_as_text(cell)), SOFT_BREAK, "") for cell in cells))
    return copy


def _empty_like(table: Table, columns: Sequence[Column]) -> Table:
    """A table without rows in the style of `table`, with the given columns."""
    copy = Table(*(column.copy() for column in columns))
    for name in (
        "title",
        "title_style",
        "title_justify",
        "box",
        "show_header",
        "pad_edge",
        "collapse_padding",
        "caption",
    ):
        setattr(copy, name, getattr(table, name))
    return copy


def _as_text(cell: Any) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell))


def _with_part(cell: Text, separator: str, between: str) -> Text:
    """Split a cell at `separator` and join the parts by `between`; styles are kept."""
    return Text(between).join(cell.split(separator)) if separator in cell.plain else cell


def _width(table: Table, console: Console) -> int:
    """Width of the table in characters if no cell is wrapped."""
    return console.measure(table, options=console.options.update(max_width=_UNLIMITED)).maximum


def _lengths(table: Table, column: int, of: str) -> list[int]:
    """Lengths of all lines or all words (`of`) in a column, header included."""
    chosen = table.columns[column]
    texts = [_as_text(chosen.header).plain, *(_as_text(cell).plain for cell in chosen.cells)]
    return [cell_len(part) for text in texts for part in (text.split() if of == "words" else text.split("\n"))]
