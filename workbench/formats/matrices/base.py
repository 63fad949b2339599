"""`MatrixFormat`, the interface of a matrix format, the result of reading one, and tables with named rows
and columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError, UnknownNameError
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.model.bandwidth import MAX_GPUS, BandwidthMatrix, SuspiciousLinks
from workbench.model.links import pairs_text
from workbench.model.notice import Notice
from workbench.objects.fields import shown

__all__ = [
    "SELF",
    "Grid",
    "Lines",
    "MatrixFormat",
    "MatrixReading",
    "bandwidth_entry",
    "no_direct_link",
    "numbers_of",
    "pick_block",
    "read_grid",
    "staged_links",
    "types_matrix",
]

#: How tools print the entry of a device with itself.
SELF = frozenset({"-", "x", "n/a"})


@dataclass(frozen=True)
class MatrixReading:
    """A GPU bandwidth matrix read from a file, with further information from the file.

    Attributes
    ----------
    matrix : BandwidthMatrix
        The bandwidths in GB/s.
    format : str
        Name of the file's format.
    kind : str
        Origin of the numbers: ``unidirectional`` or ``bidirectional`` (both directions together) measurements,
        ``bandwidth`` (the file does not say whether measured or nominal), ``link types`` or ``link counts`` (converted
        by the table of link speeds), ``nominal`` (computed from the machine's parts).
    block : str
        Name of the table in the file; empty if the file has one kind of table only.
    blocks : tuple of str
        Names of all tables in the file.
    unread : tuple of (int, str)
        Lines that were not understood: number from 1, and text.
    notes : tuple of Notice
        Notices about parts that were ignored or replaced.
    """

    matrix: BandwidthMatrix
    format: str
    kind: str
    block: str = ""
    blocks: tuple[str, ...] = ()
    unread: tuple[tuple[int, str], ...] = ()
    notes: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class MatrixFormat:
    """A format of GPU bandwidth matrices: one kind of a tool's printout.

    `name`, `title`: name of the format, and its description in one line. `detect`: function that tells by its content
    whether a text is in this format. `read`: function (text, source, link speeds, block or None) -> MatrixReading.
    """

    name: str
    title: str
    detect: Callable[[str], bool]
    read: Callable[[str, str, LinkSpeeds, str | None], MatrixReading]


class Lines:
    """The lines of a printout (`clean_printout`), with a mark on each line that has been understood."""

    def __init__(self, text: str, source: str) -> None:
        self.text = [line.rstrip() for line in text.splitlines()]
        self.source = source
        self._read: set[int] = set()

    def __len__(self) -> int:
        return len(self.text)

    def mark(self, *indices: int) -> None:
        """Mark the lines at these indices as understood."""
        self._read.update(indices)

    def mark_matching(self, pattern: re.Pattern[str]) -> None:
        """Mark every line that matches `pattern` as understood, because it is known to be irrelevant for the matrix."""
        self.mark(*(i for i, line in enumerate(self.text) if pattern.match(line)))

    def unread(self) -> tuple[tuple[int, str], ...]:
        """Lines that were not understood, by number from 1; blank lines are left out."""
        return tuple((i + 1, line.strip()) for i, line in enumerate(self.text) if line.strip() and i not in self._read)


@dataclass(frozen=True)
class Grid:
    """A printed table with named rows and columns, reduced to those of GPUs (or NPUs).

    `labels` (tuple of str): devices, in the order of the columns. `cells` (tuple of tuple of str): cells by row and
    column, as many rows as columns. `lines` (tuple of int): index of each row's line.
    """

    labels: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def where(self, row: int, column: int) -> str:
        """The place of the cell at `row` and `column`, as text for messages."""
        return f"line {self.lines[row] + 1}, row {self.labels[row]}, column {self.labels[column]}"


def read_grid(lines: Lines, header: int, columns: Sequence[str], device: re.Pattern[str], arrow: str = "") -> Grid:
    """Read the rows of a printed table below its header.

    Raises InputError: a row or a cell is missing: the table is cut off; its line is named.

    Parameters
    ----------
    header : int
        Index of the header's line.
    columns : sequence of str
        Names of all columns that the rows have, in order; more cells in a row (affinities) are passed over.
    device : re.Pattern
        Names of the columns and rows that are devices; others (NICs, processors) are read and ignored.
    arrow : str
        A word between a row's name and its cells.
    """
    lines.mark(header)
    if len(set(columns)) != len(columns):
        where = f"line {header + 1}"
        raise InputError("a column twice", source=lines.source, where=where, expected="every device once")
    wanted = [j for j, name in enumerate(columns) if device.fullmatch(name)]
    if len(wanted) > MAX_GPUS:
        got, expected = f"{len(wanted)} columns", f"at most {MAX_GPUS}"
        raise InputError(
            "too many devices", source=lines.source, where=f"line {header + 1}", got=got, expected=expected
        )
    rows: dict[str, tuple[list[str], int]] = {}
    known = set(columns)
    last, gap = header, False
    for i in range(header + 1, len(lines)):
        words = lines.text[i].split()
        if not words:
            gap = True
            continue
        # Below a gap (a drawn line, or a paste with every other line empty) stands a missing row, or another table.
        if words[0] not in known or (gap and words[0] in rows):
            break
        gap = False
        name, cells = words[0], words[1 + (len(words) > 1 and words[1] == arrow) :]
        if len(cells) < len(columns) and device.fullmatch(name):
            raise InputError(
                "the row is cut off",
                source=lines.source,
                where=f"line {i + 1}, row {name}",
                got=f"{len(cells)} entries",
                expected=f"{len(columns)}, one per column",
            )
        if name in rows:
            raise InputError("a row twice", source=lines.source, where=f"line {i + 1}, row {name}")
        rows[name] = (cells, i)
        lines.mark(i)
        last = i
    labels = tuple(columns[j] for j in wanted)
    missing = [name for name in labels if name not in rows]
    if missing or not labels:
        raise InputError(
            "the table is cut off: rows are missing",
            source=lines.source,
            where=f"after line {last + 1}",
            got=f"{len(labels) - len(missing)} rows, no row {missing[0] if missing else 'of a device'}",
            expected=f"{len(labels)}, one per column",
        )
    return Grid(
        labels, tuple(tuple(rows[name][0][j] for j in wanted) for name in labels), tuple(rows[n][1] for n in labels)
    )


def bandwidth_entry(text: str) -> float | None:
    """Read a table cell as GB/s; None unless it is a finite number of at least 0.

    Notations that only Python takes for a number, such as ``1_0``, also give None.
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if "_" not in text and 0 <= value < float("inf") else None


def numbers_of(grid: Grid, source: str) -> npt.NDArray[np.float64]:
    """The cells of a grid as float64 of shape (n, n); on the diagonal a dash, X or N/A is allowed and gives 0."""
    n = len(grid.labels)
    gb_s = np.zeros((n, n))
    for i, row in enumerate(grid.cells):
        for j, cell in enumerate(row):
            value = bandwidth_entry(cell)
            if value is None and not (i == j and cell.lower() in SELF):
                where = grid.where(i, j)
                raise InputError("not a number", source=source, where=where, got=shown(cell), expected="a number >= 0")
            gb_s[i, j] = value or 0.0
    return gb_s


def types_matrix(
    grid: Grid,
    source: str,
    speeds: LinkSpeeds,
    absent: Callable[[str], str] = lambda _: "",
    code: str = "no-direct-link",
) -> BandwidthMatrix:
    """Convert a table of link types to a bandwidth matrix, using the table of link speeds.

    `source`: name of the file in errors. `absent`: function from a link type to the reason why it is no direct link,
    empty if it is one; a pair without a direct link gets the staging speed and is flagged. `code`: code of the notice
    on pairs without a direct link. Raises InputError: a type that the table of link speeds does not have; its place is
    named.
    """
    n = len(grid.labels)
    gb_s = np.zeros((n, n))
    without: dict[str, list[tuple[int, int]]] = {}
    known_gb_s: dict[str, float | None] = {}
    for i, row in enumerate(grid.cells):
        for j, cell in enumerate(row):
            if i == j:
                continue
            reason = absent(cell)
            if cell not in known_gb_s:
                known_gb_s[cell] = speeds.gb_s(cell)
            value = speeds.staging_gb_s if reason else known_gb_s[cell]
            if value is None:
                where = grid.where(i, j)
                known = f"{', '.join(speeds.names)}, or its row in a table for --link-speeds"
                raise InputError(
                    "a link type without a speed", source=source, where=where, got=shown(cell), expected=known
                )
            gb_s[i, j] = value
            if reason:
                without.setdefault(reason, []).append((i, j))
    types = tuple(tuple("" if i == j else cell for j, cell in enumerate(row)) for i, row in enumerate(grid.cells))
    doubts = [staged_links(code, reason, pairs, n, speeds) for reason, pairs in without.items()]
    return BandwidthMatrix(gb_s, grid.labels, source, types, tuple(doubts))


def staged_links(
    code: str, reason: str, pairs: Sequence[tuple[int, int]], n: int, speeds: LinkSpeeds
) -> SuspiciousLinks:
    """Links that have the staging speed, because GPUs of these pairs do not reach each other directly.

    `code`: one of the codes of `SuspiciousLinks`. `reason`: beginning of the message: ``P2P is disabled``. `pairs`: the
    links as (from GPU, to GPU), ascending. `n`: number of GPUs.
    """
    fact = f"{reason} {pairs_text(pairs, n)}"
    return SuspiciousLinks(code, tuple(pairs), f"{fact}: taken as {speeds.staging_gb_s:g} GB/s", fact)


def no_direct_link(matrix: BandwidthMatrix, speeds: LinkSpeeds) -> BandwidthMatrix:
    """A copy of a matrix in which zeros off the diagonal (no direct link) are replaced by the staging speed and
    flagged.
    """
    zero = (matrix.gb_s == 0) & ~np.eye(len(matrix), dtype=np.bool_)
    if not zero.any():
        return matrix
    pairs = tuple((int(i), int(j)) for i, j in np.argwhere(zero))
    doubt = staged_links("no-direct-link", "no direct link", pairs, len(matrix), speeds)
    gb_s = np.where(zero, speeds.staging_gb_s, matrix.gb_s)
    return replace(matrix, gb_s=gb_s, suspicious=(*matrix.suspicious, doubt))


def pick_block(blocks: Sequence[str], wanted: str | None, order: Sequence[str]) -> str:
    """Choose one of the tables (blocks) of a file by name; raises UnknownNameError if `wanted` does not exist.

    `wanted`: name of the block to choose; None: choose by `order`. `order`: preferred blocks: if `wanted` is None, the
    first of these that exists is chosen, or else the first block.
    """
    if wanted is None:
        return next((name for name in order if name in blocks), blocks[0])
    if wanted not in blocks:
        raise UnknownNameError("block", wanted, blocks)
    return wanted
