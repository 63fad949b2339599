"""Reader of ``npu-smi info -t topo``: link types between Ascend NPUs (HCCS, SIO)."""

from __future__ import annotations

import re

from workbench.formats.matrices.base import MatrixFormat, MatrixReading
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.formats.matrices.nvidia_topo import topo_reading, topo_tables

__all__ = ["NPU_SMI"]

_NPU = re.compile(r"(?:NPU|Phy-ID)\d+")


def _detect(text: str) -> bool:
    return bool(topo_tables(text, _NPU))


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    return topo_reading(text, source, speeds, _NPU, NPU_SMI, block)


NPU_SMI = MatrixFormat("npu-smi", "npu-smi info -t topo (Ascend)", _detect, _read)
