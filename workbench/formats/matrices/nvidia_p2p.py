"""Reader of ``nvidia-smi topo -p2p``: whether each GPU can directly read or write another's memory."""

from __future__ import annotations

import re

from workbench.formats.matrices.base import Lines, MatrixFormat, MatrixReading, read_grid, types_matrix
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.formats.matrices.nvidia_topo import P2P_WHY_NOT, left_aside, pass_over_legend, topo_tables
from workbench.model.notice import Notice

__all__ = ["NVIDIA_P2P"]

_GPU = re.compile(r"GPU\d+")


def _absent(cell: str) -> str:
    return f"P2P is disabled ({P2P_WHY_NOT[cell]})" if cell in P2P_WHY_NOT else ""


def _detect(text: str) -> bool:
    tables = topo_tables(text, _GPU)
    return bool(tables) and all(table.p2p for table in tables)


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    first, *others = topo_tables(text, _GPU)
    lines = Lines(text, source)
    grid = read_grid(lines, first.header, first.columns, _GPU)
    pass_over_legend(lines)
    matrix = types_matrix(grid, source, speeds, _absent, "p2p-disabled")
    notes = left_aside(first.columns, grid)
    for table in others:
        lines.mark(*range(table.header, table.header + 1 + len(table.columns)))
        text = f"left aside: the table in line {table.header + 1}"
        notes.append(Notice("left-aside", text, numbers={"count": 1}))
    return MatrixReading(matrix, NVIDIA_P2P.name, "link types", unread=lines.unread(), notes=tuple(notes))


NVIDIA_P2P = MatrixFormat("nvidia-smi-p2p", "nvidia-smi topo -p2p", _detect, _read)
