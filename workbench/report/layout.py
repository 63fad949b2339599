"""Layout of tables of the library rich, fitted to a terminal or with one line per row for programs.

Rich alone shrinks the widest column first, through the middle of names, although another column has spaces to wrap at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["SOFT_BREAK", "fitted", "one_line"]

#: A place in a cell where a line may end without a space: it is dropped where the cell needs no second line.
SOFT_BREAK = "\u200b"

_UNLIMITED = 1_000_000


def one_line(table: Table) -> Table:
    """The table with every cell in one line: line breaks become spaces."""
    return _with_cells(table, lambda cell: _joined(cell, "\n", " "))


def fitted(table: Table, console: Console) -> Table:
    """The table for the width of a console.

    Columns with spaces are wrapped there, the widest first, before a word is broken. Where the words do not fit beside
    each other, rich decides where to break them.

    Parameters
    ----------
    table : rich.table.Table
    console : rich.console.Console

    Returns
    -------
    rich.table.Table
        A copy.
    """
    whole = _with_cells(table, lambda cell: cell)
    if _width(whole, console) <= console.width:
        return whole
    broken = _with_cells(table, lambda cell: _joined(cell, SOFT_BREAK, "\n"))
    natural = [max(_lengths(broken, i, "lines"), default=0) for i in range(len(broken.columns))]
    least = [max(_lengths(broken, i, "words"), default=0) for i in range(len(broken.columns))]
    budget = console.width - (_width(broken, console) - sum(natural))
    if sum(natural) > budget >= sum(least):
        for column, columns in zip(broken.columns, _shrunk(natural, least, budget), strict=True):
            column.width = columns
    return broken


def _shrunk(natural: list[int], least: list[int], budget: int) -> list[int]:
    """Column widths that add up to the budget, taken from the widest column first; none goes below its least width."""
    widths = list(natural)
    for _ in range(sum(natural) - budget):
        widest = max((i for i in range(len(widths)) if widths[i] > least[i]), key=lambda i: widths[i])
        widths[widest] -= 1
    return widths


def _with_cells(table: Table, change: Callable[[Text], Text]) -> Table:
    """A copy with changed cells; soft breaks that are left are dropped."""
    copy = Table(*(column.copy() for column in table.columns))
    for name in ("title", "title_style", "title_justify", "box", "show_header", "pad_edge", "collapse_padding"):
        setattr(copy, name, getattr(table, name))
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        copy.add_row(*(_joined(change(_as_text(cell)), SOFT_BREAK, "") for cell in cells))
    return copy


def _as_text(cell: Any) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell))


def _joined(cell: Text, separator: str, between: str) -> Text:
    """The cell with another text between its parts; styles stay."""
    return Text(between).join(cell.split(separator)) if separator in cell.plain else cell


def _width(table: Table, console: Console) -> int:
    """Number of characters that the table needs if no cell is wrapped."""
    return console.measure(table, options=console.options.update(max_width=_UNLIMITED)).maximum


def _lengths(table: Table, column: int, of: str) -> list[int]:
    """Length of every line or word of a column, its header included."""
    chosen = table.columns[column]
    texts = [_as_text(chosen.header).plain, *(_as_text(cell).plain for cell in chosen.cells)]
    return [cell_len(part) for text in texts for part in (text.split() if of == "words" else text.split("\n"))]
