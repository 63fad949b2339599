"""The table of network topology formats, in the order in which they are tried on a text of unknown format."""

from __future__ import annotations

from workbench.errors import UnknownNameError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, Written
from workbench.formats.fabric.graphml import GRAPHML
from workbench.formats.fabric.hived import HIVED
from workbench.formats.fabric.hypernode_yaml import CLUSTER, HYPERNODES, HYPERNODES_REGEX
from workbench.formats.fabric.ibnetdiscover import IBNETDISCOVER
from workbench.formats.fabric.levels import KAI, KOORDINATOR, KUEUE
from workbench.formats.fabric.lingjun import LINGJUN
from workbench.formats.fabric.netq import NETQ_GRAPH, NETQ_INVENTORY
from workbench.formats.fabric.rail_cables import RAIL_CABLES
from workbench.formats.fabric.slurm_conf import SLURM_BLOCK_CONF, SLURM_CONF
from workbench.formats.fabric.slurm_yaml import SLURM_BLOCK_YAML, SLURM_YAML
from workbench.formats.fabric.topograph import TOPOGRAPH
from workbench.formats.fabric.topograph_labels import TOPOGRAPH_LABELS
from workbench.formats.fabric.tor_node import TOR_NODE
from workbench.formats.fabric.tor_tables import TOR_SHARE
from workbench.formats.nccl_topo import NCCL_TOPO
from workbench.formats.snapshot_file import parse_snapshot
from workbench.formats.snapshot_record import MARK, snapshot_text
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["FORMATS", "detect_format", "get_format", "writable_formats"]


def _read(text: str, source: str) -> FabricRecords:
    return FabricRecords(snapshot=parse_snapshot(text, source))


def _detect(sample: Sample) -> bool:
    # Also detects a truncated text, so that the error says that it is cut off.
    return MARK in sample.keys or sample.text[:200].lstrip("{ \t\r\n").startswith(f'"{MARK}"')


def _write(snapshot: ClusterSnapshot) -> Written:
    return Written(snapshot_text(snapshot))


SNAPSHOT = FabricFormat(
    "snapshot", "a whole ClusterSnapshot of this workbench, without loss", detect=_detect, read=_read, write=_write
)


#: The more particular first: the first that takes a text for its own reads it.
FORMATS: tuple[FabricFormat, ...] = (
    SNAPSHOT,
    SLURM_CONF,
    SLURM_BLOCK_CONF,
    SLURM_YAML,
    SLURM_BLOCK_YAML,
    TOR_NODE,
    TOR_SHARE,
    GRAPHML,
    KUEUE,
    KAI,
    KOORDINATOR,
    HYPERNODES,
    CLUSTER,
    HYPERNODES_REGEX,
    IBNETDISCOVER,
    NETQ_GRAPH,
    NETQ_INVENTORY,
    HIVED,
    TOPOGRAPH,
    LINGJUN,
    RAIL_CABLES,
    NCCL_TOPO,
    TOPOGRAPH_LABELS,
)


def get_format(name: str) -> FabricFormat:
    """The network topology format called `name`; raises UnknownNameError, which suggests similar names."""
    for entry in FORMATS:
        if entry.name == name:
            return entry
    raise UnknownNameError("format", name, [entry.name for entry in FORMATS])


def detect_format(text: str, path: str) -> FabricFormat | None:
    """The network topology format of a text, judged by its content.

    None if it is unknown or holds Kubernetes manifests. `path` is the file's name, which some formats need.
    """
    sample = Sample(text, path)
    if sample.is_manifest:
        return None
    # XML is known by its beginning; the patterns of other formats would search all of it first.
    if GRAPHML.detect is not None and GRAPHML.detect(sample):
        return GRAPHML
    return next((entry for entry in FORMATS if entry.detect is not None and entry.detect(sample)), None)


def writable_formats() -> tuple[str, ...]:
    """Names of the network topology formats that can be written (``--to``)."""
    return tuple(entry.name for entry in FORMATS if entry.write is not None)
