"""`csv_text`: a table as CSV text that is safe to open in a spreadsheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

__all__ = ["csv_text"]

#: Beginnings of a cell that spreadsheets take for a formula, or strip to find one.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(frame: pandas.DataFrame) -> str:
    """A DataFrame as CSV text, with its header and without its index.

    Text that a spreadsheet would take for a formula begins with an apostrophe, by which spreadsheets mark text; numbers
    stay numbers, negative ones too.
    """
    from pandas.api.types import is_numeric_dtype

    # Older pandas make floats of whole numbers with missing ones where a function is applied to them.
    safe = frame.apply(lambda column: column if is_numeric_dtype(column) else column.map(_plain))
    # Lines end as RFC 4180 says; a carriage return inside a cell is then put in quotes.
    return safe.rename(columns=_plain).to_csv(index=False, lineterminator="\r\n")


def _plain(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
