"""Reader of p2pBandwidthLatencyTest (CUDA samples): bandwidth with P2P on and off, one way and both, and latencies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.formats.matrices.base import Grid, Lines, MatrixFormat, MatrixReading, numbers_of, pick_block, read_grid
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.model.bandwidth import BandwidthMatrix, SuspiciousLinks
from workbench.model.links import SLOW_DIRECTION, pairs_text
from workbench.model.notice import Notice

__all__ = ["P2P_BANDWIDTH"]

_TITLE = re.compile(
    r"^\s*(?:(?P<ways>Unidirectional|Bidirectional)\s+)?P2P=(?P<p2p>Enabled|Disabled)\s+(?P<what>Bandwidth|Latency)"
    r"\s*(?:\(P2P (?P<way>Read|Write)s?\)\s*)?Matrix\s*\((?P<unit>[^)]*)\)"
)
_CONNECTIVITY = re.compile(r"^\s*P2P Connectivity Matrix")
_HEADER = re.compile(r"^\s*(?:D\\D|GPU|CPU)((?:\s+\d+)+)\s*$")
_CANNOT = re.compile(r"^\s*Device=(\d{1,9}) CANNOT Access Peer Device=(\d{1,9})\b")
_TALK = re.compile(
    r"^\s*(?:\[P2P \(Peer-to-Peer\)|Device: \d+,|Device=\d+ CAN|\*\*\*NOTE|NOTE:|So you can see lesser Bandwidth)"
)
_NUMBER = re.compile(r"\d+")
_P2P_OFF, _READS = "-p2p-off", "-reads"
_ORDER = tuple(ways + end for ways in ("unidirectional", "bidirectional") for end in ("", _READS, _P2P_OFF))


@dataclass(frozen=True)
class _Tables:
    bandwidth: Mapping[str, Grid]
    connected: Grid | None
    cannot: tuple[tuple[int, int], ...]
    latencies: bool


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    lines = Lines(text, source)
    lines.mark_matching(_TALK)
    tables = _tables(lines)
    if not tables.bandwidth:
        got = "latencies only" if tables.latencies else "no table of bandwidths"
        raise InputError("no bandwidth in it", source=source, got=got, expected="a Bandwidth Matrix (GB/s)")
    name = pick_block(tuple(tables.bandwidth), block, _ORDER)
    gb_s = _numbers(tables, name, source)
    matrix = BandwidthMatrix(gb_s, source=source, suspicious=_doubts(tables, name, source))
    notes = []
    if name.startswith("bi"):
        notes.append(Notice("sum-of-directions", "bidirectional: each number is the sum of both directions"))
    if tables.latencies:
        notes.append(Notice("left-aside", "latencies are left aside"))
    kind = _ways(name)
    return MatrixReading(matrix, P2P_BANDWIDTH.name, kind, name, tuple(tables.bandwidth), lines.unread(), tuple(notes))


def _tables(lines: Lines) -> _Tables:
    bandwidth: dict[str, Grid] = {}
    connected, latencies, cannot = None, False, []
    for i, line in enumerate(lines.text):
        title, refused = _TITLE.match(line), _CANNOT.match(line)
        if refused is not None:
            cannot.append((int(refused[1]), int(refused[2])))
            lines.mark(i)
        elif _CONNECTIVITY.match(line):
            connected = _grid(lines, i)
        elif title is not None and title["what"] == "Latency":
            latencies = True
            lines.mark(i)
            _pass_over(lines, i)
        elif title is not None:
            if title["unit"].strip() != "GB/s":
                where, got = f"line {i + 1}", title["unit"][:20]
                raise InputError("an unknown unit", source=lines.source, where=where, got=got, expected="GB/s")
            name = (title["ways"] or "Unidirectional").lower() + (_READS if title["way"] == "Read" else "")
            name += _P2P_OFF if title["p2p"] == "Disabled" else ""
            if name in bandwidth:
                where = f"line {i + 1}"
                raise InputError(
                    "the same table twice", source=lines.source, where=where, expected="one run of the test"
                )
            bandwidth[name] = _grid(lines, i)
    return _Tables(bandwidth, connected, tuple(cannot), latencies)


def _ways(name: str) -> str:
    return name.split("-")[0]


def _numbers(tables: _Tables, name: str, source: str) -> npt.NDArray[np.float64]:
    """GB/s of a table, rows sending; where the devices of the rows read, the data go the other way."""
    gb_s = numbers_of(tables.bandwidth[name], source)
    return gb_s.T if _READS in name else gb_s


def _grid(lines: Lines, title: int) -> Grid:
    lines.mark(title)
    header = _HEADER.match(lines.text[title + 1]) if title + 1 < len(lines) else None
    if header is None:
        where = f"line {title + 2}"
        raise InputError("the table is cut off", source=lines.source, where=where, expected="D\\D 0 1 …")
    return read_grid(lines, title + 1, header[1].split(), _NUMBER)


def _pass_over(lines: Lines, title: int) -> None:
    """Mark the latency table whose title is at line `title`, which is not used, as understood: GPU and CPU half."""
    for i in range(title + 1, len(lines)):
        words = lines.text[i].split()
        if words and not _HEADER.match(lines.text[i]) and not words[0].isdigit():
            break
        lines.mark(i)


def _doubts(tables: _Tables, name: str, source: str) -> tuple[SuspiciousLinks, ...]:
    n = len(tables.bandwidth[name].labels)
    others = ~np.eye(n, dtype=np.bool_)
    found = []
    off = tables.cannot
    if tables.connected is not None and len(tables.connected.labels) == n:
        reach = numbers_of(tables.connected, source)
        off = tuple((int(i), int(j)) for i, j in np.argwhere((reach == 0) & others))
    off = tuple(pair for pair in off if max(pair) < n)
    if off:
        text = f"P2P is disabled {pairs_text(off, n)}: copies go through the memory of the host"
        found.append(SuspiciousLinks("p2p-disabled", off, text))
    elif name.endswith(_P2P_OFF) and not any(_is_on_beside(other, name) for other in tables.bandwidth):
        everything = tuple((int(i), int(j)) for i, j in np.argwhere(others))
        text = "measured with P2P off: every copy goes through the memory of the host"
        found.append(SuspiciousLinks("p2p-disabled", everything, text))
    staged = name if name.endswith(_P2P_OFF) else _ways(name) + _P2P_OFF
    ons = [other for other in _ORDER if other in tables.bandwidth and _is_on_beside(other, staged)]
    on = name if name in ons else next(iter(ons), "")
    if on and staged in tables.bandwidth and len(tables.bandwidth[on].labels) == n == _size(tables, staged):
        fast, slow = _numbers(tables, on, source), _numbers(tables, staged, source)
        pairs = tuple((int(i), int(j)) for i, j in np.argwhere((fast < SLOW_DIRECTION * slow) & others))
        if pairs:
            i, j = pairs[0]
            text = (
                f"P2P is slower than staging through the host {pairs_text(pairs, n)}: "
                f"{fast[i, j]:.4g} against {slow[i, j]:.4g} GB/s"
            )
            found.append(SuspiciousLinks("p2p-slower-than-staging", pairs, text))
    return tuple(found)


def _is_on_beside(name: str, off: str) -> bool:
    """Whether a table is one with P2P on, in the directions of a table with P2P off."""
    return not name.endswith(_P2P_OFF) and _ways(name) == _ways(off)


def _size(tables: _Tables, name: str) -> int:
    return len(tables.bandwidth[name].labels)


def _detect(text: str) -> bool:
    return any(_TITLE.match(line) or _CONNECTIVITY.match(line) for line in text.splitlines())


P2P_BANDWIDTH = MatrixFormat("p2pBandwidthLatencyTest", "p2pBandwidthLatencyTest (CUDA samples)", _detect, _read)
