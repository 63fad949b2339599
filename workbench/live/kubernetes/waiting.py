"""`WaitingObjects`: the objects of a cluster that wait, whose events alone a snapshot keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["WaitingObjects"]

#: Phases of a PodGroup, and of a Volcano Job, whose pods do not all run yet; empty: nobody has looked at it.
_PHASES = ("", "Pending", "Inqueue", "Unknown")


class WaitingObjects:
    """Collects what waits while the lists of a cluster are read.

    Jobs, PodGroups and pods must be seen before the events about them.
    """

    def __init__(self) -> None:
        self._keys: set[tuple[str, str, str]] = set()

    def see(self, kind: str, item: Mapping[str, Any]) -> None:
        """Note an object of the cluster if it waits."""
        if kind in _WAITS and _WAITS[kind](item):
            metadata = item.get("metadata") or {}
            self._keys.add((kind, str(metadata.get("namespace")), str(metadata.get("name"))))

    def concerns(self, event: Mapping[str, Any]) -> bool:
        """Whether an event is about an object that waits."""
        about = event.get("involvedObject") or {}
        return (str(about.get("kind")), str(about.get("namespace")), str(about.get("name"))) in self._keys


def _pod(item: Mapping[str, Any]) -> bool:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    return not spec.get("nodeName") and status.get("phase", "Pending") == "Pending"


def _group(item: Mapping[str, Any]) -> bool:
    return ((item.get("status") or {}).get("phase") or "") in _PHASES


def _job(item: Mapping[str, Any]) -> bool:
    return (((item.get("status") or {}).get("state") or {}).get("phase") or "") in _PHASES


_WAITS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "Pod": _pod,
    "PodGroup": _group,
    "Job": _job,
    "HyperJob": lambda _: True,
}
