"""Reader of the workbench's own matrix tables: plain cells below ``#`` lines that state their meaning.

Recognised in the ``#`` lines are: ``link count`` or ``number of … links`` (cells are numbers of links, converted by the
table of link speeds; ``XGMI`` or ``NVLink`` names the link type, ``gcn=906`` the GPU), ``MB/s`` (otherwise GB/s), and
``order: OSDev:1 … Package:3`` (hwloc's objects, of which the GPUs are kept). If the cells are words, they are link
types, joined by ``+`` if a pair has several. A zero off the diagonal means no direct link.
"""

from __future__ import annotations

import re
from dataclasses import replace

from workbench.errors import InputError
from workbench.formats.matrices.base import (
    Grid,
    Lines,
    MatrixFormat,
    MatrixReading,
    no_direct_link,
    read_grid,
    types_matrix,
)
from workbench.formats.matrices.hwloc_xml import gpus_of
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.formats.matrices.table import is_number, read_table
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted

__all__ = ["OWN_TABLE"]

_COUNTS = re.compile(r"\blink counts?\b|\bnumber of \w* ?links\b", re.IGNORECASE)
_LINK = re.compile(r"\b(XGMI|NVLink)\b", re.IGNORECASE)
_LINK_TYPES = {"xgmi": "XGMI", "nvlink": "NV"}
_GCN = re.compile(r"\bgcn=(\w+)")
_ORDER = re.compile(r"\border:((?: \S+:\S+)+)")
# The link type of a pair without one: what its bytes do instead.
_NO_LINK = "staging"
_ANY = re.compile(r"\S+")


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    lines = text.splitlines()
    head = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    rows = [(i, line.split()) for i, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    if _is_grid_of_types(rows):
        grid = read_grid(Lines(text, source), rows[0][0], rows[0][1], _ANY)
        return MatrixReading(types_matrix(grid, source, speeds), OWN_TABLE.name, "link types")
    matrix = read_table(text, source)
    if _COUNTS.search(head):
        return MatrixReading(_of_counts(matrix, head, speeds), OWN_TABLE.name, "link counts")
    order = _ORDER.search(head)
    if order is not None:
        objects = order[1].split()
        if len(objects) != len(matrix):
            got, expected = counted(len(objects), "object"), f"{len(matrix)}, one per row"
            raise InputError("the order has another number of objects", source=source, got=got, expected=expected)
        scale = 1.0 if "MB/s" in head else 1000.0
        gb_s, labels = gpus_of(objects, matrix.gb_s * scale, source)
        matrix = BandwidthMatrix(gb_s, labels, source)
    elif "MB/s" in head:
        matrix = replace(matrix, gb_s=matrix.gb_s / 1000.0)
    return MatrixReading(
        no_direct_link(matrix, speeds), OWN_TABLE.name, "nominal" if "nominal" in head else "bandwidth"
    )


def _is_grid_of_types(rows: list[tuple[int, list[str]]]) -> bool:
    if len(rows) < 2 or rows[1][1][0] not in rows[0][1]:
        return False
    return not any(is_number(cell) for _, cells in rows for cell in cells)


def _of_counts(matrix: BandwidthMatrix, head: str, speeds: LinkSpeeds) -> BandwidthMatrix:
    named, gcn = _LINK.search(head), _GCN.search(head)
    link = _LINK_TYPES[named[1].lower()] if named else "XGMI"
    of_gpu = f"@{gcn[1]}" if gcn else ""
    n = len(matrix)
    cells = []
    for i, row in enumerate(matrix.gb_s.tolist()):
        for j, count in enumerate(row):
            if i != j and (count != int(count) or count > 999):
                where = f"row {matrix.labels[i]}, column {j}"
                expected = "a whole number of at most 999"
                raise InputError(
                    "not a number of links", source=matrix.source, where=where, got=f"{count:g}", expected=expected
                )
        cells.append(tuple("" if i == j else f"{link}{int(c)}{of_gpu}" if c else _NO_LINK for j, c in enumerate(row)))
    grid = Grid(matrix.labels, tuple(cells), tuple(range(n)))
    return types_matrix(grid, matrix.source, speeds, lambda cell: "no direct link" if cell == _NO_LINK else "")


def _detect(text: str) -> bool:
    return text.lstrip().startswith("#")


OWN_TABLE = MatrixFormat("own-table", "table below # lines that say what it is", _detect, _read)
