"""The table of matrix formats that are text, in the order in which they are tried on a text of unknown format."""

from __future__ import annotations

import re
from dataclasses import replace

from workbench.errors import InputError, UnknownNameError
from workbench.formats.matrices.amd_smi import AMD_SMI
from workbench.formats.matrices.base import MatrixFormat, MatrixReading
from workbench.formats.matrices.hwloc_xml import HWLOC_XML
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.formats.matrices.nvbandwidth import NVBANDWIDTH
from workbench.formats.matrices.nvidia_topo import NPU_SMI, NVIDIA_P2P, NVIDIA_TOPO
from workbench.formats.matrices.own_table import OWN_TABLE
from workbench.formats.matrices.p2p_bandwidth import P2P_BANDWIDTH
from workbench.formats.matrices.printout import Printout, clean_printout
from workbench.formats.matrices.rocm_smi import ROCM_SMI
from workbench.formats.matrices.table import TABLE
from workbench.formats.matrices.transferbench import TRANSFERBENCH
from workbench.formats.nccl_tests import is_nccl_tests
from workbench.formats.nccl_topo import read_nccl_topo
from workbench.model.bandwidth import MAX_GPUS
from workbench.model.notice import Notice

__all__ = ["MATRIX_FORMATS", "detect_matrix_format", "read_matrix_text"]

#: Characters of one line of a table: a row of 1,024 cells, each much longer than any tool prints.
_LONGEST_LINE = 256 * MAX_GPUS

_XML = re.compile(r"\s*<(?:\?xml|!--|!DOCTYPE|system|topology)\b|\s*<!--")


def _read_nccl(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    """The matrix of a topology of NCCL or RCCL, as `workbench.formats.nccl_topo` reads it."""
    machine = read_nccl_topo(text, source)
    text = "no NVLink or XGMI in it: the matrix knows the ways over PCI only"
    notes = () if machine.has_nvlink else (Notice("pci-only", text),)
    return MatrixReading(machine.matrix, NCCL_XML.name, "nominal", notes=notes)


def _detect_nccl(text: str) -> bool:
    # Any XML that no other format takes: its message says what would have been read.
    return text.lstrip().startswith("<")


NCCL_XML = MatrixFormat("nccl-topo", "NCCL topology of one machine (XML)", _detect_nccl, _read_nccl)

#: Printouts of tools, several of which may be in one file.
_PRINTOUTS: tuple[MatrixFormat, ...] = (
    P2P_BANDWIDTH,
    NVBANDWIDTH,
    TRANSFERBENCH,
    AMD_SMI,
    ROCM_SMI,
    NVIDIA_P2P,
    NVIDIA_TOPO,
    NPU_SMI,
)

#: The first format that detects a text reads it; a plain table accepts everything.
MATRIX_FORMATS: tuple[MatrixFormat, ...] = (HWLOC_XML, NCCL_XML, OWN_TABLE, *_PRINTOUTS, TABLE)


def detect_matrix_format(text: str) -> MatrixFormat:
    """The first matrix format that recognises a text by its content; a plain table if no other does."""
    # A page or a launcher may begin with a bracket, too.
    page = text.lstrip().startswith("<") and not _XML.match(text)
    first: tuple[MatrixFormat, ...] = _PRINTOUTS if page else ()
    return next(entry for entry in (*first, *MATRIX_FORMATS) if entry.detect(text))


def read_matrix_text(text: str, source: str, speeds: LinkSpeeds, block: str | None = None) -> MatrixReading:
    """Detect the format of a text and read its GPU bandwidth matrix.

    An InputError names the line; a `block` that the text does not have raises UnknownNameError.

    `text`, `source`: the printout, and the name of the file in errors. `speeds`: table that gives the bandwidth of each
    link type. `block`: as for `workbench.formats.matrix.load_matrix`.
    """
    _check_lines(text, source)
    if is_nccl_tests(text):
        expected = "a bandwidth for every pair of GPUs; 'workbench calibrate FILE' reads this printout"
        raise InputError("nccl-tests measures one collective of all its GPUs", source=source, expected=expected)
    printout = Printout(text) if _XML.match(text) else clean_printout(text)
    entry = detect_matrix_format(printout.text)
    reading = entry.read(printout.text, source, speeds, block)
    if block is not None and not reading.blocks:
        raise InputError("the format has no blocks to choose", source=source, got=repr(block), expected=entry.title)
    reading = _with_others(reading, entry, printout.text, source, speeds)
    given = text.splitlines()
    unread = tuple((number, given[number - 1].strip()) for number, _ in reading.unread)
    return replace(reading, unread=unread, notes=(*printout.notes, *reading.notes))


def _with_others(
    reading: MatrixReading, entry: MatrixFormat, text: str, source: str, speeds: LinkSpeeds
) -> MatrixReading:
    """A reading with what tables of other tools in the same file add to it.

    A table of link types of the same GPUs adds their types, NICs and NUMA nodes, and pairs without P2P; other tables
    are named in a notice.
    """
    if entry not in _PRINTOUTS:
        return reading
    matrix, notes, unread = reading.matrix, list(reading.notes), dict(reading.unread)
    for other in _PRINTOUTS:
        if other is entry or not other.detect(text):
            continue
        try:
            beside = other.read(text, source, speeds, None)
        except (InputError, UnknownNameError):
            beside = None
        added = []
        if beside is not None:
            lines = dict(beside.unread)
            unread = {number: line for number, line in unread.items() if number in lines}
        if beside is not None and other in (NVIDIA_TOPO, NPU_SMI, NVIDIA_P2P) and len(beside.matrix) == len(matrix):
            if not matrix.link_types and beside.matrix.link_types and other is not NVIDIA_P2P:
                matrix = replace(matrix, link_types=beside.matrix.link_types)
                added.append("link types")
            if matrix.parts is None and beside.matrix.parts is not None:
                matrix = replace(matrix, parts=beside.matrix.parts)
                added.append("NICs and NUMA nodes")
            doubts = [doubt for doubt in beside.matrix.suspicious if doubt.code == "p2p-disabled"]
            if doubts and not any(doubt.code == "p2p-disabled" for doubt in matrix.suspicious):
                told = (replace(doubt, message=doubt.fact or doubt.message) for doubt in doubts)
                matrix = replace(matrix, suspicious=(*matrix.suspicious, *told))
                added.append("pairs without P2P")
        used = f"; of it are used: {', '.join(added)}" if added else ""
        notes.append(Notice("left-aside", f"left aside: a table of {other.title}{used}", numbers={"count": 1}))
    return replace(reading, matrix=matrix, notes=tuple(notes), unread=tuple(unread.items()))


def _check_lines(text: str, source: str) -> None:
    """Raise InputError if a line is too long for a table, before it is split into cells; XML may be on one line."""
    if _XML.match(text):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > _LONGEST_LINE:
            raise InputError(
                "the line is too long for a row of a matrix",
                source=source,
                where=f"line {number}",
                got=f"{len(line)} characters",
                expected=f"at most {MAX_GPUS} columns",
            )
