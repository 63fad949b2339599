"""`Event` (core/v1): what a component of a cluster said about an object, read from a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.objects.fields import get_int, get_map, get_text
from workbench.objects.metadata import Metadata, read_metadata

__all__ = ["Event", "read_event"]


@dataclass(frozen=True)
class Event:
    """An event as read from a manifest.

    `kind`, `key`: kind of the object that the event is about, and its ``namespace/name``. `count`: how often it was
    said. `last`: when it was said last, as the API writes it; empty: unknown.
    """

    metadata: Metadata
    kind: str
    key: str
    reason: str
    message: str
    count: int = 1
    last: str = ""


def read_event(data: Mapping[str, Any]) -> Event:
    """Read an Event from a parsed manifest; raises InputError for a field of the wrong type."""
    metadata = read_metadata(data, namespaced=True)
    about, series = get_map(data, "involvedObject", ""), get_map(data, "series", "")
    namespace = get_text(about, "namespace", "involvedObject") or metadata.namespace
    return Event(
        metadata,
        get_text(about, "kind", "involvedObject"),
        f"{namespace}/{get_text(about, 'name', 'involvedObject')}",
        get_text(data, "reason", ""),
        get_text(data, "message", ""),
        get_int(series, "count", "series") or get_int(data, "count", "") or 1,
        get_text(series, "lastObservedTime", "series")
        or get_text(data, "lastTimestamp", "")
        or get_text(data, "eventTime", ""),
    )
