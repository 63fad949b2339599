"""Reader of plain tables of numbers, with or without names of rows and columns, separated by blanks or commas."""

from __future__ import annotations

import math

import numpy as np

from workbench.errors import InputError
from workbench.formats.matrices.base import SELF, MatrixFormat, MatrixReading
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.model.bandwidth import MAX_GPUS, BandwidthMatrix
from workbench.objects.fields import shown

__all__ = ["TABLE", "is_number", "read_table"]

_EXPECTED = "a finite number >= 0, in GB/s"


def read_table(text: str, source: str) -> BandwidthMatrix:
    """Read a GPU bandwidth matrix in GB/s from a plain table; lines that begin with ``#`` are comments.

    Raises InputError: a first row that is mostly words; not square, an entry missing, negative, NaN or no number, rows
    and columns named differently; with the place.
    """
    header: list[str] = []
    labels: list[str] = []
    rows: list[list[float]] = []
    comma = any("," in line for line in text.splitlines() if not line.lstrip().startswith("#"))
    lines: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        cells = [cell.strip().strip('"') for cell in line.split(",")] if comma else line.split()
        if not rows and not header and not any(is_number(cell) for cell in cells):
            # A title ("Bandwidth Matrix:") or the names of the columns, whichever is last.
            header = [] if line.endswith(":") else [cell for i, cell in enumerate(cells) if cell or i]
            continue
        if len(rows) == MAX_GPUS or len(cells) > MAX_GPUS + 1:
            got = f"{len(cells)} columns" if len(cells) > MAX_GPUS + 1 else f"more than {MAX_GPUS} rows"
            raise InputError(
                "too many GPUs in one matrix",
                source=source,
                where=f"line {number}",
                got=got,
                expected=f"at most {MAX_GPUS} rows and columns",
            )
        label = "" if is_number(cells[0]) or cells[0].lower() in SELF else cells.pop(0)
        row = len(rows)
        numbers = sum(is_number(cell) or cell.lower() in SELF for cell in cells)
        if not rows and (not cells or 2 * numbers < len(cells)):
            raise InputError(
                "no bandwidth matrix",
                source=source,
                where=f"line {number}",
                got=shown(line),
                expected="rows of numbers in GB/s, or what a tool such as 'nvidia-smi topo -m' prints",
            )
        rows.append([_entry(cell, row, j, label, number, source) for j, cell in enumerate(cells)])
        labels.append(label)
        lines.append(number)
    if not rows:
        raise InputError("no matrix in it", source=source, got="no row of numbers", expected="n rows of n numbers")
    for i, row_values in enumerate(rows):
        if len(row_values) != len(rows):
            raise InputError(
                "the matrix is not square",
                source=source,
                where=f"line {lines[i]}, row {labels[i] or i}",
                got=f"{len(row_values)} numbers",
                expected=f"{len(rows)}, as many as rows",
            )
    if len(header) == len(rows) + 1:
        header = header[1:]  # the corner has a name, too
    names = labels if all(labels) else header if len(header) == len(rows) else []
    if all(labels) and len(header) == len(rows) and header != labels:
        raise InputError("rows and columns have different names", source=source, got=str(header), expected=str(labels))
    return BandwidthMatrix(np.array(rows), labels=tuple(names), source=source)


def is_number(cell: str) -> bool:
    """Whether a cell's text is a number; NaN and infinity count as numbers."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _entry(cell: str, row: int, column: int, label: str, line: int, source: str) -> float:
    if row == column and cell.lower() in SELF:
        return 0.0
    value = float(cell) if is_number(cell) else math.nan
    if not math.isfinite(value) or (value < 0 and row != column):
        raise InputError(
            "not a bandwidth" if cell else "a missing entry",
            source=source,
            where=f"line {line}, row {label or row}, column {column}",
            got=shown(cell) if cell else "nothing",
            expected=_EXPECTED,
        )
    return value


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    return MatrixReading(read_table(text, source), TABLE.name, "bandwidth")


TABLE = MatrixFormat("table", "plain table or CSV of GB/s", lambda text: True, _read)
