"""GPU bandwidth matrix from the topology XML of NCCL or RCCL, which `workbench.formats.nccl_topo` parses."""

from __future__ import annotations

from workbench.formats.matrices.base import MatrixFormat, MatrixReading
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.formats.nccl_topo import read_nccl_topo
from workbench.model.notice import Notice

__all__ = ["NCCL_XML"]


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    machine = read_nccl_topo(text, source)
    text = "no NVLink or XGMI in it: the matrix knows the ways over PCI only"
    notes = () if machine.has_nvlink else (Notice("pci-only", text),)
    return MatrixReading(machine.matrix, NCCL_XML.name, "nominal", notes=notes)


def _detect(text: str) -> bool:
    # Any XML that no other format takes: its message says what would have been read.
    return text.lstrip().startswith("<")


NCCL_XML = MatrixFormat("nccl-topo", "NCCL topology of one machine (XML)", _detect, _read)
