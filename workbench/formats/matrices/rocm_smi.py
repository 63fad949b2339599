"""``rocm-smi --showtopo`` and ``--shownodesbw``: bandwidth, link types or weights between AMD GPUs.

``--showtopo`` ends with what ``--showtoponuma`` prints alone: the NUMA node of each GPU. It tells no NICs.
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
    bandwidth_entry,
    no_direct_link,
    pick_block,
    read_grid,
    types_matrix,
)
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.machine_parts import MachineParts
from workbench.model.notice import Notice
from workbench.model.number_text import whole_number
from workbench.objects.fields import shown

__all__ = ["ROCM_SMI", "nominal_bandwidth", "types_of_weights"]

_TITLE = re.compile(r"^=+\s*(Weight|Hops|Link Type|Bandwidth|Link accessibility) between two GPUs\s*=+$", re.IGNORECASE)
_TALK = re.compile(r"^\s*(?:=+.*=+$|GPU\[\d+\]\s*:|Format:|WARNING|\*)")
_GPU = re.compile(r"GPU\d+")
_NUMA_NODE = re.compile(r"^\s*GPU\[(\d+)\]\s*:\s*\(Topology\) Numa Node:\s*(-?\d+)$")
_RANGE = re.compile(r"(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)")
_ORDER = ("bandwidth", "link type", "weight")

# Linux, drivers/gpu/drm/amd/amdkfd/kfd_crat.h: XGMI 15, inside a socket 13; PCIe is at least 20 per hop.
_XGMI_WEIGHTS = frozenset({"13", "15"})
_LEAST_PCIE = 20


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    lines = Lines(text, source)
    tables: dict[str, Grid] = {}
    twice: list[Notice] = []
    for i, line in enumerate(lines.text):
        title = _TITLE.match(line.strip())
        if title is None:
            continue
        lines.mark(i)
        header = i + 1
        columns = lines.text[header].split() if header < len(lines) else []
        if not columns or not _GPU.fullmatch(columns[0]):
            where = f"line {header + 1}"
            raise InputError("the table is cut off", source=source, where=where, expected="GPU0 GPU1 …")
        grid = read_grid(lines, header, columns, _GPU)
        if title[1].lower() in tables:
            text = f"left aside: the table {title[1]} in line {i + 1}, the second of that name"
            twice.append(Notice("left-aside", text, numbers={"count": 1}))
        else:
            tables[title[1].lower()] = grid
    lines.mark_matching(_TALK)
    usable = tuple(name for name in tables if name in _ORDER)
    if not usable:
        got = ", ".join(tables) or "no table"
        raise InputError(
            "nothing to tell links apart", source=source, got=got, expected="bandwidth, link type or weight"
        )
    name = pick_block(usable, block, _ORDER)
    grid, notes = tables[name], []
    if name == "bandwidth":
        matrix, kind = no_direct_link(nominal_bandwidth(grid, source), speeds), "nominal"
    else:
        if name == "weight":
            grid = types_of_weights(grid, source)
            text = "no link types in it: a weight of 13 or 15 is taken for XGMI, of 20 and more for PCIe"
            notes = [Notice("link-types-assumed", text)]
        matrix = types_matrix(grid, source, speeds, lambda cell: "no link" if cell in ("N/A", "0") else "")
        kind = "link types"
    matrix = replace(matrix, parts=_parts(lines, matrix.labels))
    return MatrixReading(matrix, ROCM_SMI.name, kind, name, usable, lines.unread(), (*twice, *notes))


def _parts(lines: Lines, labels: tuple[str, ...]) -> MachineParts | None:
    """The NUMA node of each GPU; None unless every GPU has one."""
    found = (_NUMA_NODE.match(line) for line in lines.text)
    nodes = {f"GPU{line[1]}": line[2] for line in found if line is not None}
    return MachineParts(numa=tuple(nodes[label] for label in labels)) if set(labels) <= set(nodes) else None


def types_of_weights(grid: Grid, source: str) -> Grid:
    """A table of AMD's link weights as one of link types, ``XGMI`` and ``PCIE``; `source` names the file in errors."""
    rows = []
    for i, row in enumerate(grid.cells):
        types = []
        for j, cell in enumerate(row):
            if i != j and cell not in _XGMI_WEIGHTS and (whole_number(cell) or 0) < _LEAST_PCIE:
                expected = f"13, 15, or {_LEAST_PCIE} and more"
                raise InputError(
                    "an unknown weight", source=source, where=grid.where(i, j), got=shown(cell), expected=expected
                )
            types.append("XGMI" if cell in _XGMI_WEIGHTS else "PCIE")
        rows.append(tuple(types))
    return Grid(grid.labels, tuple(rows), grid.lines)


def nominal_bandwidth(grid: Grid, source: str) -> BandwidthMatrix:
    """Matrix from cells ``least-most`` in MB/s (one link, and all links together); the second number counts."""
    gb_s = []
    for i, row in enumerate(grid.cells):
        values = []
        for j, cell in enumerate(row):
            both = _RANGE.fullmatch(cell)
            value = float(both[2]) if both else 0.0 if cell == "N/A" else bandwidth_entry(cell)
            if value is None:
                expected = "least-most in MB/s, or N/A"
                raise InputError(
                    "not a bandwidth", source=source, where=grid.where(i, j), got=shown(cell), expected=expected
                )
            values.append(0.0 if i == j else value / 1000.0)
        gb_s.append(values)
    return BandwidthMatrix(gb_s, labels=grid.labels, source=source)  # type: ignore[arg-type]


def _detect(text: str) -> bool:
    return "ROCm System Management Interface" in text or any(_TITLE.match(line.strip()) for line in text.splitlines())


ROCM_SMI = MatrixFormat("rocm-smi", "rocm-smi --showtopo, --shownodesbw", _detect, _read)
