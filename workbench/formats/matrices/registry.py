"""The table of matrix formats that are text, in the order in which they are tried on a text of unknown format."""

from __future__ import annotations

from workbench.errors import InputError
from workbench.formats.matrices.base import MatrixFormat, MatrixReading
from workbench.formats.matrices.hwloc_xml import HWLOC_XML
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.formats.matrices.nccl_xml import NCCL_XML
from workbench.formats.matrices.npu_smi import NPU_SMI
from workbench.formats.matrices.nvbandwidth import NVBANDWIDTH
from workbench.formats.matrices.nvidia_p2p import NVIDIA_P2P
from workbench.formats.matrices.nvidia_topo import NVIDIA_TOPO
from workbench.formats.matrices.own_table import OWN_TABLE
from workbench.formats.matrices.p2p_bandwidth import P2P_BANDWIDTH
from workbench.formats.matrices.rocm_smi import ROCM_SMI
from workbench.formats.matrices.table import TABLE
from workbench.formats.matrices.transferbench import TRANSFERBENCH
from workbench.model.bandwidth import MAX_GPUS

__all__ = ["MATRIX_FORMATS", "detect_matrix_format", "read_matrix_text"]

#: Characters of one line of a table: a row of 1,024 cells, each much longer than any tool prints.
_LONGEST_LINE = 256 * MAX_GPUS

#: The first format that detects a text reads it; a plain table accepts everything.
MATRIX_FORMATS: tuple[MatrixFormat, ...] = (
    HWLOC_XML,
    NCCL_XML,
    OWN_TABLE,
    P2P_BANDWIDTH,
    NVBANDWIDTH,
    TRANSFERBENCH,
    ROCM_SMI,
    NVIDIA_P2P,
    NVIDIA_TOPO,
    NPU_SMI,
    TABLE,
)


def detect_matrix_format(text: str) -> MatrixFormat:
    """The first matrix format that recognises a text by its content; a plain table if no other does."""
    return next(entry for entry in MATRIX_FORMATS if entry.detect(text))


def read_matrix_text(text: str, source: str, speeds: LinkSpeeds, block: str | None = None) -> MatrixReading:
    """Detect the format of a text and read its GPU bandwidth matrix.

    An InputError names the line; a `block` that the text does not have raises UnknownNameError.

    Parameters
    ----------
    text, source : str
        The printout, and the name of the file in errors.
    speeds : LinkSpeeds
        Table that gives the bandwidth of each link type.
    block : str, optional
        As for `workbench.formats.matrix.load_matrix`.
    """
    _check_lines(text, source)
    entry = detect_matrix_format(text)
    reading = entry.read(text, source, speeds, block)
    if block is not None and not reading.blocks:
        raise InputError("the format has no blocks to choose", source=source, got=repr(block), expected=entry.title)
    return reading


def _check_lines(text: str, source: str) -> None:
    """Raise InputError if a line is too long for a table, before it is split into cells; XML may be on one line."""
    if text.lstrip().startswith("<"):
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
