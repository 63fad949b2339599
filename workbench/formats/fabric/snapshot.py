"""The workbench's own snapshot file as a topology format, the only one that keeps every part of a snapshot."""

from __future__ import annotations

from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, Written
from workbench.formats.snapshot_file import MARK, parse_snapshot, snapshot_text
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["SNAPSHOT"]


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
