"""Reader of ``nvidia-smi topo -m``: link types between GPUs, and their NICs and NUMA nodes.

Huawei's ``npu-smi info -t topo`` prints such a table with other names; one function reads both.
"""

from __future__ import annotations

import re
from dataclasses import replace

from workbench.formats.matrices.base import Grid, Lines, MatrixFormat, MatrixReading, read_grid, types_matrix
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.model.machine_parts import MachineParts
from workbench.model.notice import Notice

__all__ = ["NVIDIA_TOPO", "topo_header", "topo_reading"]

_GPU = re.compile(r"GPU\d+")
# Where the columns of the affinities begin.
_AFTER_DEVICES = frozenset({"CPU", "NUMA", "GPU"})
_AFFINITY = re.compile(r"(?:CPU|NUMA)\s+Affinity|GPU\s+NUMA\s+ID")
_LEGEND = re.compile(r"^\s*(?:NIC )?Legend:", re.IGNORECASE)
# A line of the legend of NICs.
_NIC_NAME = re.compile(r"^\s*(NIC\d+)\s*:\s*(\S+)$")
_P2P_STATE = frozenset({"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"})


def topo_header(text: str, device: re.Pattern[str]) -> tuple[int, list[str], str] | None:
    """Find the header of a link type table among the lines of a printout; `device` matches the names of GPUs.

    Returns
    -------
    tuple of (int, list of str, str), or None
        Index of the header's line, the names of its columns up to the affinities, and the first entry off the
        diagonal; None if no line of device names is followed by a row that begins with a device name.
    """
    lines = Lines(text, "").text
    for i, line in enumerate(lines[:-1]):
        words = line.split()
        end = next((k for k, word in enumerate(words) if word in _AFTER_DEVICES), len(words))
        columns = words[:end]
        if not columns or not device.fullmatch(columns[0]):
            continue
        row = lines[i + 1].split()
        if row[:1] == columns[:1] and len(row) > 1 and row[1].upper() == "X":
            return i, columns, row[2] if len(row) > 2 else ""
    return None


def topo_reading(
    text: str, source: str, speeds: LinkSpeeds, device: re.Pattern[str], format: MatrixFormat
) -> MatrixReading:
    """Read the table of link types that `topo_header` finds in a printout.

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
    """
    found = topo_header(text, device)
    assert found is not None, "the format was detected by its header"
    lines = Lines(text, source)
    header, columns, _ = found
    grid = read_grid(lines, header, columns, device)
    pass_over_legend(lines)
    matrix = replace(types_matrix(grid, source, speeds, _absent), parts=_parts(lines, header, columns, grid))
    return MatrixReading(matrix, format.name, "link types", unread=lines.unread())


def _parts(lines: Lines, header: int, columns: list[str], grid: Grid) -> MachineParts | None:
    """The columns behind the GPUs: NICs, and the NUMA affinity where every row has all its affinities.

    A legend of NICs names the network device of each column, which is what programs are told.
    """
    rows = [lines.text[i].split()[1:] for i in grid.lines]
    named = {found[1]: found[2] for line in lines.text if (found := _NIC_NAME.match(line))}
    nics = {
        named.get(name, name): tuple(row[j] for row in rows)
        for j, name in enumerate(columns)
        if name not in grid.labels
    }
    after = [found[0] for found in _AFFINITY.finditer(lines.text[header])]
    numa: tuple[str, ...] = ()
    if "NUMA" in {name.split()[0] for name in after} and all(len(row) == len(columns) + len(after) for row in rows):
        at = len(columns) + next(i for i, name in enumerate(after) if name.startswith("NUMA"))
        numa = tuple(row[at] for row in rows)
    return MachineParts(nics, numa) if nics or numa else None


def pass_over_legend(lines: Lines) -> None:
    """Mark the lines of the printout's legend, from the word Legend on, as understood."""
    begin = next((i for i, line in enumerate(lines.text) if _LEGEND.match(line)), len(lines))
    lines.mark(*range(begin, len(lines)))


def left_aside(columns: list[str], grid: Grid) -> list[Notice]:
    """A notice about columns of the table that are no GPUs; an empty list if there are no such columns."""
    others = [name for name in columns if name not in grid.labels]
    text = f"left aside: {', '.join(others[:6])}{', …' if len(others) > 6 else ''}"
    return [Notice("left-aside", text, numbers={"count": len(others)})] if others else []


def _absent(cell: str) -> str:
    return "the way is not known" if cell.upper() in ("NA", "N/A", "U") else ""


def _detect(text: str) -> bool:
    found = topo_header(text, _GPU)
    return found is not None and found[2] not in _P2P_STATE and not text.lstrip().startswith("#")


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    return topo_reading(text, source, speeds, _GPU, NVIDIA_TOPO)


NVIDIA_TOPO = MatrixFormat("nvidia-smi-topo", "nvidia-smi topo -m", _detect, _read)
