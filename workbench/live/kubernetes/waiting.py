"""`WaitingObjects`: the objects of a cluster that wait, whose events alone a snapshot keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.live.kubernetes.shapes import mapping

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
            metadata = mapping(item.get("metadata"))
            self._keys.add((kind, str(metadata.get("namespace")), str(metadata.get("name"))))

    def concerns(self, event: Mapping[str, Any]) -> bool:
        """Whether an event is about an object that waits."""
        about = mapping(event.get("involvedObject"))
        return (str(about.get("kind")), str(about.get("namespace")), str(about.get("name"))) in self._keys


def _pod(item: Mapping[str, Any]) -> bool:
    spec, status = mapping(item.get("spec")), mapping(item.get("status"))
    return not spec.get("nodeName") and status.get("phase", "Pending") == "Pending"


def _group(item: Mapping[str, Any]) -> bool:
    return (mapping(item.get("status")).get("phase") or "") in _PHASES


def _job(item: Mapping[str, Any]) -> bool:
    return (mapping(mapping(item.get("status")).get("state")).get("phase") or "") in _PHASES


_WAITS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "Pod": _pod,
    "PodGroup": _group,
    "Job": _job,
    "HyperJob": lambda _: True,
}
