"""Bandwidth matrices from files: printed tables, CSV, JSON, .npy, Device objects and NCCL topologies."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path

import numpy as np
import orjson

from workbench.errors import InputError
from workbench.formats.manifests import read_bytes, read_text
from workbench.formats.nccl_topo import read_nccl_topo
from workbench.model.bandwidth import BandwidthMatrix
from workbench.objects.device import check_rows, read_device
from workbench.objects.fields import shown

__all__ = ["format_matrix", "load_matrix", "parse_matrix"]

_NPY_MAGIC = b"\x93NUMPY"
_MANIFEST = re.compile(rb"^\s*(?:\{|---|apiVersion:|kind:)", re.MULTILINE)

# How tools print the entry of a GPU with itself.
_SELF = {"-", "x", "n/a"}

_EXPECTED = "a finite number >= 0, in GB/s"


def load_matrix(path: str | Path) -> BandwidthMatrix:
    """Read the bandwidth matrix of one machine from a file, whatever its format.

    Parameters
    ----------
    path : str or Path
        A table as the Koordinator document prints it (with or without names of rows and columns), CSV, a JSON list of
        rows, a ``.npy`` array, a Koordinator Device in YAML or JSON, or an NCCL topology (XML, nominal numbers); told
        apart by content. Numbers are GB/s.

    Raises
    ------
    InputError
        Nothing there, not square, an entry missing, negative, NaN or no number; line, row and column are named.
    """
    return parse_matrix(read_bytes(path), str(path))


def parse_matrix(content: bytes, source: str) -> BandwidthMatrix:
    """The matrix in the content of a file; see `load_matrix`."""
    if content.startswith(_NPY_MAGIC):
        return _npy(content, source)
    text = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] == b"[":
        return _json(text, source)
    if text[:1] == b"<":
        return _machine(text, source)
    if _MANIFEST.match(text) or re.search(rb"^kind:\s*Device\s*$", text, re.MULTILINE):
        return _device(content, source)
    try:
        return _table(content.decode("utf-8-sig"), source)
    except UnicodeDecodeError:
        raise InputError("binary data", source=source, got=shown(content[:8]), expected="a bandwidth matrix") from None


def format_matrix(matrix: BandwidthMatrix) -> str:
    """The matrix as a table with names of rows and columns, as the Koordinator document prints it.

    Reading it again gives an equal matrix.
    """
    rows = [["", *matrix.labels]]
    rows += [[label, *map(repr, row)] for label, row in zip(matrix.labels, matrix.gb_s.tolist(), strict=True)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(["Bandwidth Matrix:", *lines, ""])


def _npy(content: bytes, source: str) -> BandwidthMatrix:
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError, SyntaxError, MemoryError) as error:
        raise InputError(f"cannot be read as .npy: {error}", source=source, expected="an array of numbers") from None
    if array.dtype.kind not in "iuf":
        raise InputError("no array of numbers", source=source, got=str(array.dtype), expected="a real dtype")
    return BandwidthMatrix(array, source=source)


def _machine(text: bytes, source: str) -> BandwidthMatrix:
    try:
        return read_nccl_topo(text.decode(), source).matrix
    except UnicodeDecodeError:
        raise InputError("not text", source=source, expected="an NCCL topology in UTF-8") from None


def _json(text: bytes, source: str) -> BandwidthMatrix:
    try:
        rows = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"not JSON: {error.msg}", source=source, where=where, expected="[[...], ...]") from None
    check_rows(rows, source)
    return BandwidthMatrix(rows, source=source)


def _device(content: bytes, source: str) -> BandwidthMatrix:
    found = []
    for data, where in read_text(content, source):
        if type(data) is not dict or data.get("kind") != "Device":
            got = data.get("kind") if type(data) is dict else data
            raise InputError("no Device", source=source, where=where, got=shown(got), expected="kind Device")
        try:
            matrix = read_device(data).bandwidth
        except InputError as error:
            place = f"{where}, {error.where}" if error.where else where
            raise InputError(
                error.message, source=source, where=place, got=error.got, expected=error.expected
            ) from None
        if matrix is None:
            expected = "spec.topologies.gpu[] with the name bandwidth"
            raise InputError("the Device reports no bandwidth", source=source, where=where, expected=expected)
        found.append(matrix)
    if len(set(found)) > 1:
        raise InputError("several Devices that differ", source=source, got=f"{len(found)}", expected="one matrix")
    return BandwidthMatrix(found[0].gb_s, source=source)


def _table(text: str, source: str) -> BandwidthMatrix:
    header: list[str] = []
    labels: list[str] = []
    rows: list[list[float]] = []
    comma = "," in text
    lines: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        cells = [cell.strip().strip('"') for cell in line.split(",")] if comma else line.split()
        if not rows and not header and not any(_is_number(cell) for cell in cells):
            # A title ("Bandwidth Matrix:") or the names of the columns, whichever is last.
            header = [] if line.endswith(":") else [cell for i, cell in enumerate(cells) if cell or i]
            continue
        label = "" if _is_number(cells[0]) or cells[0].lower() in _SELF else cells.pop(0)
        row = len(rows)
        rows.append([_entry(cell, row, j, label, number, source) for j, cell in enumerate(cells)])
        labels.append(label)
        lines.append(number)
    if not rows:
        raise InputError("no matrix in it", source=source, got="no row of numbers", expected="n rows of n numbers")
    for i, row_values in enumerate(rows):
        if len(row_values) != len(rows):
            raise InputError(
                "the matrix is not square",
                source=source,
                where=f"line {lines[i]}, row {labels[i] or i}",
                got=f"{len(row_values)} numbers",
                expected=f"{len(rows)}, as many as rows",
            )
    if len(header) == len(rows) + 1:
        header = header[1:]  # the corner has a name, too
    names = labels if all(labels) else header if len(header) == len(rows) else []
    if all(labels) and len(header) == len(rows) and header != labels:
        raise InputError("rows and columns have different names", source=source, got=str(header), expected=str(labels))
    return BandwidthMatrix(np.array(rows), labels=tuple(names), source=source)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _entry(cell: str, row: int, column: int, label: str, line: int, source: str) -> float:
    if row == column and cell.lower() in _SELF:
        return 0.0
    value = float(cell) if _is_number(cell) else math.nan
    if not math.isfinite(value) or (value < 0 and row != column):
        raise InputError(
            "not a bandwidth" if cell else "a missing entry",
            source=source,
            where=f"line {line}, row {label or row}, column {column}",
            got=shown(cell) if cell else "nothing",
            expected=_EXPECTED,
        )
    return value
