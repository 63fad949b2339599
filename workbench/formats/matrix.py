"""`load_matrix`: read a GPU bandwidth matrix from a file of any format.

Reads ``.npy``, JSON and Koordinator's Device itself; tools' printouts are read in `workbench.formats.matrices`, one
module per format.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import orjson

from workbench.errors import InputError, named_arguments
from workbench.formats.file_bytes import read_bytes
from workbench.formats.manifests import read_text
from workbench.formats.matrices.amd_smi import is_amd_smi_json
from workbench.formats.matrices.base import MatrixReading
from workbench.formats.matrices.link_speeds import default_link_speeds, read_link_speeds
from workbench.formats.matrices.printout import is_json_log
from workbench.formats.matrices.registry import read_matrix_text
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.notice import Notice
from workbench.objects.device import check_rows, read_device
from workbench.objects.fields import shown

__all__ = ["MAX_BYTES", "load_matrix", "parse_matrix", "read_matrix", "read_matrix_content"]

#: Bytes of a file with one machine's matrices: of 1,024 GPUs a printout has 8 MB per table.
MAX_BYTES = 1 << 26

_NPY_MAGIC = b"\x93NUMPY"
_MANIFEST = re.compile(rb"^\s*(?:\{|---\s|apiVersion:|kind:)", re.MULTILINE)
# A tool's banner, a log's prefix and a colour code without its escape character may begin with a bracket, too.
_JSON = re.compile(rb"\[(?:\s*[\[{\"]|(?![A-Za-z]).*\]\s*\Z)", re.DOTALL)


@named_arguments
def load_matrix(path: str | Path, link_speeds: str | Path | None = None, block: str | None = None) -> BandwidthMatrix:
    """Read the bandwidth matrix of one machine from a file, whatever its format.

    Raises InputError: missing file, not square, cut off, an entry missing, negative, NaN or no number, a link type
    without a speed; line, row and column are named. Raises UnknownNameError: no such block.

    Parameters
    ----------
    path : str or Path
        A tool's printout (`workbench.formats.matrices.registry.MATRIX_FORMATS`), a plain table as in the Koordinator
        document (with or without names of rows and columns), CSV, a JSON list of rows, a ``.npy`` array, or a
        Koordinator Device in YAML or JSON; the format is recognised by content. Row i holds the bandwidth from GPU i,
        in GB/s.
    link_speeds : str or Path, optional
        A table of link speeds for files with link types or numbers of links instead of GB/s
        (`workbench.formats.matrices.link_speeds.read_link_speeds`); by default the one in datasets/link-speeds.
    block : str, optional
        Name of one of several tables in the file (``bidirectional``, ``device_to_device_memcpy_read_ce``); by default
        one direction at a time, P2P on, write before read.

    Examples
    --------
    >>> import workbench as wb
    >>> from pathlib import Path
    >>> _ = Path("matrix.csv").write_text("0,48\\n48,0\\n")
    >>> wb.load_matrix("matrix.csv")
    BandwidthMatrix(2 GPUs, 1 link class, from matrix.csv)
    """
    return read_matrix(path, link_speeds, block).matrix


def read_matrix(path: str | Path, link_speeds: str | Path | None = None, block: str | None = None) -> MatrixReading:
    """Read a GPU bandwidth matrix as `load_matrix` does, with the file's format, kind, unread lines and notices.

    `path`, `link_speeds`, `block`: as for `load_matrix`.
    """
    return read_matrix_content(read_bytes(path, MAX_BYTES), str(path), link_speeds, block)


def parse_matrix(content: bytes, source: str) -> BandwidthMatrix:
    """Read the GPU bandwidth matrix in the content of a file, like `load_matrix`; `source` names the file in errors."""
    return read_matrix_content(content, source).matrix


def read_matrix_content(
    content: bytes, source: str, link_speeds: str | Path | None = None, block: str | None = None
) -> MatrixReading:
    """Read a GPU bandwidth matrix from the content of a file, like `read_matrix`.

    `source`: name of the file in errors. `link_speeds`, `block`: as for `load_matrix`.
    """
    if len(content) > MAX_BYTES:
        raise InputError("the file is too large for a matrix", source=source, expected=f"at most {MAX_BYTES} bytes")
    speeds = default_link_speeds() if link_speeds is None else read_link_speeds(link_speeds)
    text = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if content.startswith(_NPY_MAGIC):
        reading = MatrixReading(_npy(content, source), "npy", "bandwidth")
    elif is_json_log(content.decode("utf-8-sig", "replace")):
        return read_matrix_text(content.decode("utf-8-sig", "replace"), source, speeds, block)
    elif is_amd_smi_json(text.decode("utf-8", "replace")):
        return read_matrix_text(text.decode("utf-8", "replace"), source, speeds, block)
    elif _JSON.match(text):
        reading = MatrixReading(_json(text, source), "json", "bandwidth")
    elif _MANIFEST.match(text) or re.search(rb"^kind:\s*Device\s*$", text, re.MULTILINE):
        reading = _device(content, source)
    else:
        try:
            # PowerShell writes what a tool prints in UTF-16.
            encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
            return read_matrix_text(content.decode(encoding), source, speeds, block)
        except UnicodeDecodeError:
            got = shown(content[:8])
            raise InputError("binary data", source=source, got=got, expected="a bandwidth matrix") from None
    if block is not None:
        raise InputError("the format has no blocks to choose", source=source, got=repr(block), expected=reading.format)
    return reading


def _npy(content: bytes, source: str) -> BandwidthMatrix:
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError, SyntaxError, MemoryError) as error:
        raise InputError(f"cannot be read as .npy: {error}", source=source, expected="an array of numbers") from None
    if array.dtype.kind not in "iuf":
        raise InputError("no array of numbers", source=source, got=str(array.dtype), expected="a real dtype")
    return BandwidthMatrix(array, source=source)


def _json(text: bytes, source: str) -> BandwidthMatrix:
    try:
        rows = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"not JSON: {error.msg}", source=source, where=where, expected="[[...], ...]") from None
    check_rows(rows, source)
    return BandwidthMatrix(rows, source=source)


def _device(content: bytes, source: str) -> MatrixReading:
    """Read the bandwidth matrix of the Koordinator Devices in a text; objects of other kinds are ignored beside one."""
    found, others = [], []
    for data, where in read_text(content, source):
        if type(data) is not dict or data.get("kind") != "Device":
            others.append((data, where))
            continue
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
    if not found:
        data, where = others[0] if others else (None, "")
        got = data.get("kind") if type(data) is dict else data
        raise InputError("no Device", source=source, where=where, got=shown(got), expected="kind Device")
    if len(set(found)) > 1:
        raise InputError("several Devices that differ", source=source, got=f"{len(found)}", expected="one matrix")
    text = f"left aside: {len(others)} documents that are no Device"
    notes = (Notice("left-aside", text, numbers={"count": len(others)}),) if others else ()
    return MatrixReading(BandwidthMatrix(found[0].gb_s, source=source), "device", "bandwidth", notes=notes)
