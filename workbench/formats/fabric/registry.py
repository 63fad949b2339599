"""The fabric formats there are, in the order in which a text is tried."""

from __future__ import annotations

from workbench.errors import UnknownNameError
from workbench.formats.fabric.base import FabricFormat, Sample
from workbench.formats.fabric.hived import HIVED
from workbench.formats.fabric.ibnetdiscover import IBNETDISCOVER
from workbench.formats.fabric.lingjun import LINGJUN
from workbench.formats.fabric.netq import NETQ_GRAPH, NETQ_INVENTORY
from workbench.formats.fabric.slurm_conf import SLURM_CONF
from workbench.formats.fabric.topograph import TOPOGRAPH
from workbench.formats.fabric.topograph_labels import TOPOGRAPH_LABELS
from workbench.formats.nccl_topo import NCCL_TOPO

__all__ = ["FORMATS", "detect_format", "get_format", "writable_formats"]

#: The more particular first: the first that takes a text for its own reads it.
FORMATS: tuple[FabricFormat, ...] = (
    SLURM_CONF,
    IBNETDISCOVER,
    NETQ_GRAPH,
    NETQ_INVENTORY,
    HIVED,
    TOPOGRAPH,
    LINGJUN,
    NCCL_TOPO,
    TOPOGRAPH_LABELS,
)


def get_format(name: str) -> FabricFormat:
    """The format of that name; UnknownNameError offers close ones."""
    for entry in FORMATS:
        if entry.name == name:
            return entry
    raise UnknownNameError("format", name, [entry.name for entry in FORMATS])


def detect_format(text: str, path: str) -> FabricFormat | None:
    """The format that a text is in, by its content; None where it is none of them, or Kubernetes manifests."""
    sample = Sample(text, path)
    if sample.is_manifest:
        return None
    return next((entry for entry in FORMATS if entry.detect is not None and entry.detect(sample)), None)


def writable_formats() -> tuple[str, ...]:
    """Names of the formats that can be written."""
    return tuple(entry.name for entry in FORMATS if entry.write is not None)
