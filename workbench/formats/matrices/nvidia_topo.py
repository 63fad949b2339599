"""Readers of ``nvidia-smi topo -m``, of its ``-p2p`` and of ``npu-smi info -t topo``: link types between GPUs.

The tables of ``-m`` and of Huawei's npu-smi, which have other names, also hold NICs and NUMA nodes; ``-p2p`` says
whether each GPU can directly read or write another's memory. What ``-p2p`` printed into the file of another table is
applied to its pairs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from workbench.errors import InputError
from workbench.formats.matrices.base import (
    Grid,
    Lines,
    MatrixFormat,
    MatrixReading,
    pick_block,
    read_grid,
    staged_links,
    types_matrix,
)
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.formats.matrices.printout import DEVICE_NAME
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.machine_parts import MachineParts
from workbench.model.notice import Notice

__all__ = ["NPU_SMI", "NVIDIA_P2P", "NVIDIA_TOPO"]

_GPU = re.compile(rf"(?!NPU|Phy-ID){DEVICE_NAME}\d+")
_NPU = re.compile(r"(?:NPU|Phy-ID)\d+")
_P2P_GPU = re.compile(r"GPU\d+")
# Where the columns of the affinities begin.
_AFTER_DEVICES = frozenset({"CPU", "NUMA", "GPU"})
_AFFINITY = re.compile(r"(?:CPU|NUMA)\s+Affinity|GPU\s+NUMA\s+ID")
_LEGEND = re.compile(r"^\s*(?:NIC )?Legend:", re.IGNORECASE)
_LEGEND_LINE = re.compile(r"^\s*(?:\S+(?:\s?/\s?\S+)*\s*=\s|NIC\d+\s*:\s)")
_LEGEND_WORD = re.compile(r"^\s*(\S+)\s*=\s*(.+)$")
#: What a legend says of a link -> its type today; the first that matches.
_MEANINGS = (
    ("SYS", re.compile(r"\bSMP\b|between NUMA|\bsockets?\b|socket-level|\bQPI\b|\bUPI\b", re.IGNORECASE)),
    ("NODE", re.compile(r"between PCIe Host Bridges|within a NUMA", re.IGNORECASE)),
    ("PXB", re.compile(r"multiple PCIe|several PCIe", re.IGNORECASE)),
    ("PIX", re.compile(r"(?:at most )?a (?:single )?PCIe (?:internal )?(?:switch|bridge)\b", re.IGNORECASE)),
    ("PHB", re.compile(r"PCIe host bridge", re.IGNORECASE)),
)
# A line of the legend of NICs.
_NIC_NAME = re.compile(r"^\s*(NIC\d+)\s*:\s*(\S+)$")
# What the cell behind the devices cannot be, and what the cell of a device cannot be: a list of processors.
_LINK = re.compile(r"[A-Z]{2,}\d*|X")
_PROCESSORS = re.compile(r"\d+(?:[-,]\d+)+")
#: States of ``topo -p2p`` other than OK, as the tool's legend has them.
P2P_WHY_NOT = {
    "CNS": "chipset not supported",
    "GNS": "GPU not supported",
    "TNS": "topology not supported",
    "NS": "not supported",
    "DR": "disabled by a registry key",
    "U": "unknown",
}
_P2P_COMMAND = re.compile(r"-p2p\s+([a-z]+)\b")
#: Letters of ``-p2p``: reads and writes say whether copies go directly; NVLink, atomics and PCIe do not.
_COPIES = frozenset("rw")


@dataclass(frozen=True)
class TopoTable:
    """A table of link types in a printout.

    `header`: index of the header's line. `columns` (tuple of str): names of its columns up to the affinities. `p2p`:
    whether the cells are those of ``nvidia-smi topo -p2p`` (``OK``, ``GNS``, …).
    """

    header: int
    columns: tuple[str, ...]
    p2p: bool


def topo_tables(text: str, device: re.Pattern[str]) -> list[TopoTable]:
    """Find the tables of link types in a printout; `device` matches the names of GPUs.

    A table begins with a line of names, the first of which is a device; the row below begins with that device and with
    ``X``, its link to itself.
    """
    lines = Lines(text, "").text
    rows = [i for i, line in enumerate(lines) if line.strip()]
    found = []
    for i, below in pairwise(rows):
        words = lines[i].split()
        columns = words[: next((k for k, word in enumerate(words) if word in _AFTER_DEVICES), len(words))]
        row = lines[below].split()
        if not columns or not device.fullmatch(columns[0]) or row[:1] != columns[:1]:
            continue
        if len(row) > 1 and row[1].upper() in ("X", "SELF"):
            p2p = len(row) > 2 and len(columns) > 1 and (row[2] == "OK" or row[2] in P2P_WHY_NOT)
            found.append(TopoTable(i, tuple(columns), p2p))
    return found


def topo_reading(
    text: str, source: str, speeds: LinkSpeeds, device: re.Pattern[str], format: MatrixFormat, block: str | None
) -> MatrixReading:
    """Read the tables of link types that `topo_tables` finds in a printout.

    Parameters
    ----------
    text, source : str
        The printout, and the name of the file in errors.
    speeds : LinkSpeeds
        Table that gives the bandwidth of each link type.
    device : re.Pattern
        Pattern of the names of GPUs (or NPUs).
    format : MatrixFormat
        Format of the result.
    block : str or None
        ``topo``, or ``topo-2`` … where the file has several tables that differ; None: the first.
    """
    tables = topo_tables(text, device)
    lines = Lines(text, source)
    notes: list[Notice] = []
    grids: dict[str, tuple[TopoTable, Grid]] = {}
    states: list[tuple[TopoTable, Grid]] = []
    for table in tables:
        try:
            grid = read_grid(lines, table.header, table.columns, device)
        except InputError as error:
            if not table.p2p and not grids:
                raise
            notes.append(_aside(f"the table in line {table.header + 1} ({error.message})"))
            continue
        if table.p2p:
            states.append((table, grid))
        elif all(grid.cells != other.cells or grid.labels != other.labels for _, other in grids.values()):
            grids[f"topo-{len(grids) + 1}" if grids else "topo"] = table, grid
    pass_over_legend(lines)
    name = pick_block(tuple(grids), block if len(grids) > 1 else None, ("topo",))
    for other, (table, _) in grids.items():
        if other != name:
            notes.append(_aside(f"the table of link types in line {table.header + 1} (--block {other})"))
    table, grid = grids[name]
    grid, assumed = _by_legend(lines, grid, speeds)
    notes += assumed
    matrix = types_matrix(grid, source, speeds, _absent)
    for above, below in states:
        letters = _p2p_letters(lines, above, tables)
        if not letters or set(letters) & _COPIES:
            matrix = _with_states(matrix, below, speeds)
        else:
            notes.append(_aside(f"the table of -p2p {letters} in line {above.header + 1}, which is not about copies"))
    parts, unread = _parts(lines, table, grid)
    blocks = tuple(grids) if len(grids) > 1 else ()
    return MatrixReading(
        replace(matrix, parts=parts),
        format.name,
        "link types",
        name if blocks else "",
        blocks,
        lines.unread(),
        (*notes, *unread),
    )


def _by_legend(lines: Lines, grid: Grid, speeds: LinkSpeeds) -> tuple[Grid, list[Notice]]:
    """The table with the type that today's `nvidia-smi` prints for words without a speed, as their legend explains."""
    explained = {found[1]: found[2] for line in lines.text if (found := _LEGEND_WORD.match(line))}
    meant: dict[str, str] = {}
    upper: dict[str, str] = {}
    for word in sorted({cell for i, row in enumerate(grid.cells) for j, cell in enumerate(row) if i != j}):
        if speeds.gb_s(word) is None and speeds.gb_s(word.upper()) is not None:
            upper[word] = word.upper()
        elif speeds.gb_s(word) is None and word in explained:
            kind = next((kind for kind, says in _MEANINGS if says.search(explained[word])), "")
            meant |= {word: kind} if kind else {}
    if not meant and not upper:
        return grid, []
    cells = tuple(tuple((meant | upper).get(cell, cell) for cell in row) for row in grid.cells)
    if not meant:
        return replace(grid, cells=cells), []
    text = ", ".join(f"{word} is taken for {kind}" for word, kind in meant.items())
    note = Notice("link-types-assumed", f"{text}, as the legend explains it")
    return replace(grid, cells=cells), [note]


def _aside(what: str) -> Notice:
    return Notice("left-aside", f"left aside: {what}", numbers={"count": 1})


def _p2p_letters(lines: Lines, table: TopoTable, tables: Sequence[TopoTable]) -> str:
    """What the command above a table of states asked for, such as ``rw``; empty where the file does not say."""
    begin = max((other.header for other in tables if other.header < table.header), default=0)
    found = [match[1] for line in lines.text[begin : table.header] if (match := _P2P_COMMAND.search(line))]
    return found[-1] if found else ""


def _with_states(matrix: BandwidthMatrix, states: Grid, speeds: LinkSpeeds) -> BandwidthMatrix:
    """The matrix with the staging speed, and a doubt, for pairs that a table of states says have no P2P."""
    place = {label: i for i, label in enumerate(matrix.labels)}
    gb_s = matrix.gb_s.copy()
    without: dict[str, list[tuple[int, int]]] = {}
    for name, row in zip(states.labels, states.cells, strict=True):
        for other, cell in zip(states.labels, row, strict=True):
            if name != other and cell in P2P_WHY_NOT and name in place and other in place:
                i, j = place[name], place[other]
                gb_s[i, j] = speeds.staging_gb_s
                without.setdefault(P2P_WHY_NOT[cell], []).append((i, j))
    doubts = tuple(
        staged_links("p2p-disabled", f"P2P is disabled ({why})", pairs, len(matrix), speeds)
        for why, pairs in without.items()
    )
    # Reads and writes, each with a table of its own, mostly say the same.
    suspicious = tuple(dict.fromkeys((*matrix.suspicious, *doubts)))
    return replace(matrix, gb_s=gb_s, suspicious=suspicious) if doubts else matrix


def _parts(lines: Lines, table: TopoTable, grid: Grid) -> tuple[MachineParts | None, list[Notice]]:
    """The columns behind the GPUs: NICs, and the NUMA affinity where every row has all its affinities.

    A legend of NICs names the network device of each column, which is what programs are told. NICs whose columns cannot
    be told apart are left out, with a notice.
    """
    columns = table.columns
    rows = [lines.text[i].split()[1:] for i in grid.lines]
    named = {found[1]: found[2] for line in lines.text if (found := _NIC_NAME.match(line))}
    others = [(j, name) for j, name in enumerate(columns) if name not in grid.labels]
    broken = [
        i
        for i, row in enumerate(rows)
        if any(_PROCESSORS.fullmatch(row[j]) for j, _ in others) or _LINK.fullmatch("".join(row[len(columns) :][:1]))
    ]
    nics = {named.get(name, name): tuple(row[j] for row in rows) for j, name in others}
    after = [found[0] for found in _AFFINITY.finditer(lines.text[table.header])]
    widths = {len(row) - len(columns) for row in rows}
    if broken:
        text = (
            f"no NIC is named: line {table.header + 1} has {len(columns)} columns of devices, "
            f"which do not match the cells of line {grid.lines[broken[0]] + 1}"
        )
        return None, [Notice("nics-unread", text)]
    numa: tuple[str, ...] = ()
    if "NUMA" in {name.split()[0] for name in after} and widths == {len(after)}:
        at = len(columns) + next(i for i, name in enumerate(after) if name.startswith("NUMA"))
        numa = tuple(row[at] for row in rows)
    return MachineParts(nics, numa) if nics or numa else None, []


def pass_over_legend(lines: Lines) -> None:
    """Mark the lines of the printout's legends as understood: those that begin with a word and ``=``."""
    inside = False
    for i, line in enumerate(lines.text):
        if _LEGEND.match(line):
            inside = True
            lines.mark(i)
        elif inside and line.strip():
            inside = _LEGEND_LINE.match(line) is not None
            lines.mark(*[i] * inside)


def left_aside(columns: Sequence[str], grid: Grid) -> list[Notice]:
    """A notice about columns of the table that are no GPUs; an empty list if there are no such columns."""
    others = [name for name in columns if name not in grid.labels]
    text = f"left aside: {', '.join(others[:6])}{', …' if len(others) > 6 else ''}"
    return [Notice("left-aside", text, numbers={"count": len(others)})] if others else []


def _absent(cell: str) -> str:
    return "the way is not known" if cell.upper() in ("NA", "N/A", "U") else ""


def _detect(text: str) -> bool:
    return not text.lstrip().startswith("#") and any(not table.p2p for table in topo_tables(text, _GPU))


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    return topo_reading(text, source, speeds, _GPU, NVIDIA_TOPO, block)


NVIDIA_TOPO = MatrixFormat("nvidia-smi-topo", "nvidia-smi topo -m", _detect, _read)


def _detect_npu(text: str) -> bool:
    return bool(topo_tables(text, _NPU))


def _read_npu(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    return topo_reading(text, source, speeds, _NPU, NPU_SMI, block)


NPU_SMI = MatrixFormat("npu-smi", "npu-smi info -t topo (Ascend)", _detect_npu, _read_npu)


def _absent_p2p(cell: str) -> str:
    return f"P2P is disabled ({P2P_WHY_NOT[cell]})" if cell in P2P_WHY_NOT else ""


def _detect_p2p(text: str) -> bool:
    tables = topo_tables(text, _P2P_GPU)
    return bool(tables) and all(table.p2p for table in tables)


def _read_p2p(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    first, *others = topo_tables(text, _P2P_GPU)
    lines = Lines(text, source)
    grid = read_grid(lines, first.header, first.columns, _P2P_GPU)
    pass_over_legend(lines)
    matrix = types_matrix(grid, source, speeds, _absent_p2p, "p2p-disabled")
    notes = left_aside(first.columns, grid)
    for table in others:
        lines.mark(*range(table.header, table.header + 1 + len(table.columns)))
        text = f"left aside: the table in line {table.header + 1}"
        notes.append(Notice("left-aside", text, numbers={"count": 1}))
    return MatrixReading(matrix, NVIDIA_P2P.name, "link types", unread=lines.unread(), notes=tuple(notes))


NVIDIA_P2P = MatrixFormat("nvidia-smi-p2p", "nvidia-smi topo -p2p", _detect_p2p, _read_p2p)
