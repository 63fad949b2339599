"""Reader of NVIDIA's nvbandwidth: device-to-device copies by copy engine or kernel, reading and writing."""

from __future__ import annotations

import re

from workbench.errors import InputError
from workbench.formats.matrices.base import Grid, Lines, MatrixFormat, MatrixReading, numbers_of, pick_block, read_grid
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.notice import Notice

__all__ = ["NVBANDWIDTH"]

_RUNNING = re.compile(r"^\s*Running (\w+)\.")
_TITLE = re.compile(
    r"^\s*(?:memcpy|memory) .*GPU\s*\(row\)\s*(?P<arrow><->|->|<-)\s*GPU\s*\(column\).*bandwidth \(GB/s\)"
)
_OTHER_TABLE = re.compile(r"^\s*(?:memcpy|memory) ")
_TALK = re.compile(
    r"^\s*(?:SUM |nvbandwidth Version|Built from|MPI version|CUDA Runtime|CUDA Driver|Driver Version|Process \d|"
    r"Device \d|NOTE:)"
)
_NUMBER = re.compile(r"\d+")
_ORDER = (
    "device_to_device_memcpy_write_ce",
    "device_to_device_memcpy_read_ce",
    "device_to_device_memcpy_write_sm",
    "device_to_device_memcpy_read_sm",
)


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    lines = Lines(text, source)
    lines.mark_matching(_TALK)
    tables: dict[str, tuple[Grid, str]] = {}
    others: list[str] = []
    running = ""
    for i, line in enumerate(lines.text):
        named, title = _RUNNING.match(line), _TITLE.match(line)
        if named is not None:
            running = named[1]
            lines.mark(i)
        elif title is not None:
            name = running or f"line-{i + 1}"
            suffix = ""
            while name + suffix in tables:  # bidirectional tests print one table for each engine and the total
                suffix = f"-{int(suffix[1:] or 1) + 1}" if suffix else "-2"
            tables[name + suffix] = (_grid(lines, i), title["arrow"])
        elif _OTHER_TABLE.match(line):
            others.append(running or line.strip()[:40])
            _pass_over(lines, i)
    if not tables:
        got = f"tables of {', '.join(others[:3])}" if others else "no table"
        expected = "a device-to-device test, GPU(row) -> GPU(column) bandwidth (GB/s)"
        raise InputError("no bandwidth between GPUs in it", source=source, got=got, expected=expected)
    name = pick_block(tuple(tables), block, _ORDER)
    grid, arrow = tables[name]
    gb_s = numbers_of(grid, source)
    # "GPU(row) <- GPU(column)": the row receives. Our rows send.
    matrix = BandwidthMatrix(gb_s.T if arrow == "<-" else gb_s, source=source)
    kind = "bidirectional" if arrow == "<->" or "bidirectional" in name else "unidirectional"
    notes = (
        [Notice("left-aside", f"left aside: {', '.join(others[:4])}", numbers={"count": len(others)})] if others else []
    )
    return MatrixReading(matrix, NVBANDWIDTH.name, kind, name, tuple(tables), lines.unread(), tuple(notes))


def _grid(lines: Lines, title: int) -> Grid:
    lines.mark(title)
    columns = lines.text[title + 1].split() if title + 1 < len(lines) else []
    if not columns or not all(_NUMBER.fullmatch(word) for word in columns):
        where = f"line {title + 2}"
        raise InputError("the table is cut off", source=lines.source, where=where, expected="the numbers of the GPUs")
    return read_grid(lines, title + 1, columns, _NUMBER)


def _pass_over(lines: Lines, title: int) -> None:
    for i in range(title, len(lines)):
        if i > title and not lines.text[i].strip():
            break
        lines.mark(i)


def _detect(text: str) -> bool:
    return any(_TITLE.match(line) or _OTHER_TABLE.match(line) for line in text.splitlines())


NVBANDWIDTH = MatrixFormat("nvbandwidth", "nvbandwidth", _detect, _read)
