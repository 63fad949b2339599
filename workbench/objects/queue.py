"""Volcano's Queue (scheduling.volcano.sh) and PriorityClass (scheduling.k8s.io), read from manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.model.snapshot import Queue
from workbench.objects.fields import get_bool, get_int, get_map, wrong
from workbench.objects.metadata import read_metadata
from workbench.objects.quantity import read_resources

__all__ = ["PriorityClass", "read_priority_class", "read_queue"]


@dataclass(frozen=True)
class PriorityClass:
    """A PriorityClass; one with `global_default` applies to pods that name no class."""

    name: str
    value: int
    global_default: bool = False


def read_queue(data: Mapping[str, Any]) -> Queue:
    """Read a Volcano Queue from a parsed manifest; weight is 1 and priority 0 if absent."""
    spec = get_map(data, "spec", "")
    weight = get_int(spec, "weight", "spec")
    capability = read_resources(spec, "capability", "spec")
    guarantee = get_map(spec, "guarantee", "spec")
    metadata = read_metadata(data, namespaced=False)
    return Queue(
        metadata.name,
        1 if weight is None else weight,
        capability or None,
        deserved=read_resources(spec, "deserved", "spec") or None,
        guarantee=read_resources(guarantee, "resource", "spec.guarantee") or None,
        priority=get_int(spec, "priority", "spec") or 0,
        created=metadata.created,
    )


def read_priority_class(data: Mapping[str, Any]) -> PriorityClass:
    """Read a PriorityClass from a parsed manifest."""
    value = get_int(data, "value", "")
    if value is None:
        raise wrong("value", None, "a whole number")
    return PriorityClass(read_metadata(data, namespaced=False).name, value, get_bool(data, "globalDefault", ""))
