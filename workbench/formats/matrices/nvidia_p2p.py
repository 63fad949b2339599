"""Reader of ``nvidia-smi topo -p2p``: whether each GPU can directly read or write another's memory."""

from __future__ import annotations

import re

from workbench.formats.matrices.base import Lines, MatrixFormat, MatrixReading, read_grid, types_matrix
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.formats.matrices.nvidia_topo import left_aside, pass_over_legend, topo_header

__all__ = ["NVIDIA_P2P"]

_GPU = re.compile(r"GPU\d+")
# As the tool's legend has them.
_WHY_NOT = {
    "CNS": "chipset not supported",
    "GNS": "GPU not supported",
    "TNS": "topology not supported",
    "NS": "not supported",
    "DR": "disabled by a registry key",
    "U": "unknown",
}


def _absent(cell: str) -> str:
    return f"P2P is disabled ({_WHY_NOT[cell]})" if cell in _WHY_NOT else ""


def _detect(text: str) -> bool:
    found = topo_header(text, _GPU)
    return found is not None and (found[2] == "OK" or found[2] in _WHY_NOT)


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    found = topo_header(text, _GPU)
    assert found is not None, "the format was detected by its header"
    lines = Lines(text, source)
    header, columns, _ = found
    grid = read_grid(lines, header, columns, _GPU)
    pass_over_legend(lines)
    matrix = types_matrix(grid, source, speeds, _absent, "p2p-disabled")
    notes = left_aside(columns, grid)
    return MatrixReading(matrix, NVIDIA_P2P.name, "link types", unread=lines.unread(), notes=tuple(notes))


NVIDIA_P2P = MatrixFormat("nvidia-smi-p2p", "nvidia-smi topo -p2p", _detect, _read)
