"""``amd-smi topology``, the successor of ``rocm-smi --showtopo``: tables of AMD GPUs by bus id, also as JSON and CSV.

Hops are 1 between any two GPUs of a hive, with a direct link or without; only the table of bandwidths tells them apart.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson

from workbench.errors import InputError
from workbench.formats.matrices.base import (
    Grid,
    Lines,
    MatrixFormat,
    MatrixReading,
    no_direct_link,
    pick_block,
    read_grid,
    staged_links,
    types_matrix,
)
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.formats.matrices.rocm_smi import nominal_bandwidth, types_of_weights
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.notice import Notice
from workbench.objects.fields import shown

__all__ = ["AMD_SMI", "is_amd_smi_json"]

_TITLE = re.compile(r"^\s*([A-Z][A-Z -]*) TABLE\s*:?\s*$")
_TABLES = {"NUMA BW": "bandwidth", "LINK TYPE": "link type", "WEIGHT": "weight", "ACCESS": "access", "HOPS": "hops"}
_ORDER = ("bandwidth", "link type", "weight")
_DEVICE = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]|GPU\d+")
_LEGEND = re.compile(r"^\s*(?:Legend:|\S+(?:\s?/\s?\S+)*\s+=\s|64,32 = |<BW from>)")
_JSON_START = re.compile(r"\s*[\[{]")

#: Keys of the JSON and columns of the CSV, in the forms of several releases.
_KEYS = {
    "bandwidth": "bandwidth",
    "numa_bandwidth": "bandwidth",
    "numa_bw": "bandwidth",
    "link_type": "link type",
    "weight": "weight",
    "link_status": "access",
    "link_accessibility": "access",
    "access": "access",
    "num_hops": "hops",
    "hops": "hops",
}
_CSV_COLUMN = re.compile(rf"({'|'.join(_KEYS)})[_.]?(?:gpu_?)?(\d+)", re.IGNORECASE)


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    lines = Lines(text, source)
    aside: list[str] = []
    if _JSON_START.match(text):
        tables = _of_json(text, source)
    elif (header := _csv_header(text)) is not None:
        tables = _of_csv(lines, header)
    else:
        tables = _of_printout(lines, aside)
    unread = () if _JSON_START.match(text) else lines.unread()
    usable = tuple(name for name in tables if name in _ORDER)
    if not usable:
        got, expected = ", ".join(tables) or "no table", "NUMA BW, LINK TYPE or WEIGHT"
        raise InputError("nothing to tell links apart", source=source, got=got, expected=expected)
    told = "bandwidth" in tables and any(any(map(_has_link, row)) for row in tables["bandwidth"].cells)
    name = pick_block(usable, block, _ORDER if told else (*_ORDER[1:], *_ORDER[:1]))
    matrix, kind, notes = _matrix(name, tables, source, speeds)
    matrix = _without_access(matrix, tables.get("access"), speeds)
    aside += [name for name in tables if name == "hops"]
    if aside:
        text = f"left aside: {', '.join(aside)}"
        notes.append(Notice("left-aside", text, numbers={"count": len(aside)}))
    return MatrixReading(matrix, AMD_SMI.name, kind, name, usable, unread, tuple(notes))


def _has_link(cell: str) -> bool:
    return cell not in ("N/A", "0-0", "0", "SELF", "")


def _matrix(
    name: str, tables: Mapping[str, Grid], source: str, speeds: LinkSpeeds
) -> tuple[BandwidthMatrix, str, list[Notice]]:
    grid = tables[name]
    if name != "bandwidth":
        notes = []
        if name == "weight":
            grid = types_of_weights(grid, source)
            text = "no link types in it: a weight of 13 or 15 is taken for XGMI, of 20 and more for PCIe"
            notes = [Notice("link-types-assumed", text)]
        matrix = types_matrix(grid, source, speeds, lambda cell: "no link" if cell in ("N/A", "UNKNOWN", "0") else "")
        return matrix, "link types", notes
    matrix = nominal_bandwidth(grid, source)
    types = tables.get("link type")
    over_pcie = speeds.gb_s("PCIE")
    if types is not None and types.labels == grid.labels and over_pcie is not None:
        # The table of bandwidths is about XGMI only; a pair over PCIe has N/A there, and no fault.
        pcie = [
            [cell == "PCIE" and grid.cells[i][j] == "N/A" for j, cell in enumerate(r)]
            for i, r in enumerate(types.cells)
        ]
        matrix = replace(matrix, gb_s=np.where(np.array(pcie), over_pcie, matrix.gb_s))
    return no_direct_link(matrix, speeds), "nominal", []


def _without_access(matrix: BandwidthMatrix, access: Grid | None, speeds: LinkSpeeds) -> BandwidthMatrix:
    """The matrix with the staging speed, and a doubt, for pairs whose access is DISABLED."""
    if access is None or access.labels != matrix.labels:
        return matrix
    n = len(matrix)
    off = tuple((i, j) for i in range(n) for j in range(n) if i != j and access.cells[i][j].upper() == "DISABLED")
    if not off:
        return matrix
    gb_s = matrix.gb_s.copy()
    gb_s[tuple(np.array(off).T)] = speeds.staging_gb_s
    doubt = staged_links("p2p-disabled", "P2P is disabled", off, n, speeds)
    return replace(matrix, gb_s=gb_s, suspicious=(*matrix.suspicious, doubt))


def _of_printout(lines: Lines, aside: list[str]) -> dict[str, Grid]:
    tables: dict[str, Grid] = {}
    lines.mark_matching(_LEGEND)
    for i, line in enumerate(lines.text):
        title = _TITLE.match(line)
        if title is None:
            continue
        lines.mark(i)
        header = next((k for k in range(i + 1, len(lines)) if lines.text[k].strip()), len(lines))
        columns = lines.text[header].split() if header < len(lines) else []
        if not columns or not _DEVICE.fullmatch(columns[0]):
            where = f"line {header + 1}"
            raise InputError("the table is cut off", source=lines.source, where=where, expected="bus ids of the GPUs")
        grid = read_grid(lines, header, columns, _DEVICE)
        name = _TABLES.get(title[1], "")
        if not name or name in tables:
            aside.append(f"the table {title[1]} in line {i + 1}" if name else f"the table {title[1]}")
        else:
            tables[name] = grid
    return tables


def _of_json(text: str, source: str) -> dict[str, Grid]:
    try:
        rows = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"not JSON: {error.msg}", source=source, where=where, expected="amd-smi topology") from None
    rows = _rows_of(rows)
    labels = tuple(str(row.get("bdf") or f"GPU{row.get('gpu', i)}") for i, row in enumerate(rows))
    found: dict[str, list[dict[int, str]]] = {}
    for i, row in enumerate(rows):
        links = row.get("links")
        for k, link in enumerate(links if isinstance(links, list) else ()):
            if not isinstance(link, dict):
                raise InputError("not a link", source=source, where=f"GPU {i}, link {k}", got=shown(link))
            at = labels.index(str(link["bdf"])) if str(link.get("bdf")) in labels else k
            for key, value in link.items():
                _put(found, key, i, at, value, len(rows))
        for key, value in row.items():
            for k, cell in enumerate(value.values() if isinstance(value, dict) else ()):
                _put(found, key, i, k, cell, len(rows))
    return {name: _grid(labels, cells, source, name) for name, cells in found.items()}


def _put(found: dict[str, list[dict[int, str]]], key: str, row: int, column: int, cell: Any, n: int) -> None:
    if key.lower() in _KEYS:
        found.setdefault(_KEYS[key.lower()], [{} for _ in range(n)])[row][column] = str(cell)


def _rows_of(data: Any) -> list[dict[str, Any]]:
    """The GPUs of the JSON: a list, or an object around one."""
    if isinstance(data, dict):
        data = next((value for value in data.values() if isinstance(value, list)), [])
    return [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []


def _csv_header(text: str) -> int | None:
    for i, line in enumerate(text.splitlines()[:50]):
        if "," in line and len(_CSV_COLUMN.findall(line)) > 1:
            return i
    return None


def _of_csv(lines: Lines, header: int) -> dict[str, Grid]:
    columns = [name.strip() for name in next(csv.reader([lines.text[header]]))]
    lines.mark(header)
    rows = []
    for i in range(header + 1, len(lines)):
        cells = [cell.strip() for cell in next(csv.reader([lines.text[i]]), [])]
        if len(cells) == len(columns):
            rows.append(dict(zip(columns, cells, strict=True)))
            lines.mark(i)
    labels = tuple(row.get("bdf") or _label(row.get("gpu", ""), i) for i, row in enumerate(rows))
    found: dict[str, list[dict[int, str]]] = {}
    for i, row in enumerate(rows):
        for name, cell in row.items():
            if (match := _CSV_COLUMN.fullmatch(name)) is not None:
                _put(found, match[1], i, int(match[2][:4]), cell, len(rows))
    return {name: _grid(labels, cells, lines.source, name) for name, cells in found.items()}


def _label(gpu: str, row: int) -> str:
    return gpu if _DEVICE.fullmatch(gpu) else f"GPU{gpu or row}"


def _grid(labels: Sequence[str], rows: Sequence[Mapping[int, str]], source: str, name: str) -> Grid:
    n = len(labels)
    for label, row in zip(labels, rows, strict=True):
        missing = next((j for j in range(n) if j not in row), None)
        if missing is not None or len(row) > n or len(set(labels)) != n:
            got = f"no value for GPU {missing}" if missing is not None else f"{len(row)} values"
            where = f"{name}, row {label}"
            raise InputError("the table is cut off", source=source, where=where, got=got, expected=f"{n}, one per GPU")
    return Grid(tuple(labels), tuple(tuple(row[j] for j in range(n)) for row in rows), tuple(range(n)))


def is_amd_smi_json(text: str) -> bool:
    """Whether a text is what ``amd-smi topology --json`` prints."""
    if _JSON_START.match(text) is None or '"gpu"' not in text or '"apiVersion"' in text:
        return False
    return any(f'"{key}"' in text for key in _KEYS) and ('"links"' in text or '"gpu_0"' in text)


def _detect(text: str) -> bool:
    if _JSON_START.match(text):
        return is_amd_smi_json(text)
    if any((title := _TITLE.match(line)) and title[1] in _TABLES for line in text.splitlines()):
        return True
    return _csv_header(text) is not None


AMD_SMI = MatrixFormat("amd-smi", "amd-smi topology (tables, JSON, CSV)", _detect, _read)
