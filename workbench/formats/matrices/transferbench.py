"""Reader of AMD TransferBench's peer-to-peer preset: copies between processors and GPUs, of which those of GPUs are
kept.
"""

from __future__ import annotations

import re

from workbench.errors import InputError
from workbench.formats.matrices.base import Grid, Lines, MatrixFormat, MatrixReading, numbers_of, pick_block, read_grid
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.notice import Notice

__all__ = ["TRANSFERBENCH"]

_TITLE = re.compile(r"^\s*(Unidirectional|Bidirectional) copy peak bandwidth GB/s")
_TALK = re.compile(r"^\s*(?:Bytes Per Direction|TransferBench|\[.*\]|=+$|-+$|Averages?\b|\w+ ?\+?=)")
_DEVICE = re.compile(r"\b(CPU|GPU)\s+(\d+)\b")
_GPU = re.compile(r"GPU\d+")
_HEADER = re.compile(r"^\s*SRC(?:\+EXE)?\\DST")


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    lines = Lines(_DEVICE.sub(r"\1\2", text), source)
    lines.mark_matching(_TALK)
    tables: dict[str, Grid] = {}
    for i, line in enumerate(lines.text):
        title = _TITLE.match(line)
        if title is None:
            continue
        lines.mark(i)
        name = title[1].lower()
        header = i + 1
        columns = lines.text[header].split()[1:] if header < len(lines) and _HEADER.match(lines.text[header]) else []
        if not columns or name in tables:
            where, expected = f"line {header + 1}", "SRC+EXE\\DST and one table of each kind"
            raise InputError("the table is cut off or comes twice", source=source, where=where, expected=expected)
        if name == "bidirectional":
            _keep_sums(lines, header)
        tables[name] = read_grid(lines, header, columns, _GPU, "->" if name == "unidirectional" else "<->")
    if not tables:
        raise InputError("no table of GPUs in it", source=source, expected="Unidirectional copy peak bandwidth GB/s")
    name = pick_block(tuple(tables), block, ("unidirectional", "bidirectional"))
    gb_s = numbers_of(tables[name], source)
    labels = tuple(f"gpu_{label[3:].lstrip('0') or '0'}" for label in tables[name].labels)
    notes = (Notice("left-aside", "left aside: copies from and to processors"),)
    matrix = BandwidthMatrix(gb_s, labels, source)
    return MatrixReading(matrix, TRANSFERBENCH.name, name, name, tuple(tables), lines.unread(), notes)


def _keep_sums(lines: Lines, header: int) -> None:
    """Keep the sums of a table with three rows per device (``->``, ``<-``, ``<->``); `header`: line of its header."""
    kept, i = [], header + 1
    while i < len(lines) and (not lines.text[i].strip() or _DEVICE_ROW.match(lines.text[i])):
        if "<->" in lines.text[i]:
            kept.append(lines.text[i])
        i += 1
    rest = [""] * (i - header - 1 - len(kept))
    lines.text[header + 1 : i] = [*kept, *rest]


_DEVICE_ROW = re.compile(r"^\s*(?:CPU|GPU)\d+\s")


def _detect(text: str) -> bool:
    return any(_TITLE.match(line) for line in text.splitlines())


TRANSFERBENCH = MatrixFormat("transferbench", "TransferBench p2p", _detect, _read)
