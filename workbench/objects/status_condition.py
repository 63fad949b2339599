"""`StatusCondition`: one entry of an object's status.conditions, as Kubernetes' own kinds and PodGroups have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.objects.fields import get_map, get_maps, get_text

__all__ = ["StatusCondition", "read_status_conditions"]


@dataclass(frozen=True)
class StatusCondition:
    """One condition of an object: its type, whether it holds (``True``, ``False``, ``Unknown``), and why."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


def read_status_conditions(data: Mapping[str, Any]) -> tuple[StatusCondition, ...]:
    """Read status.conditions of a parsed manifest; raises InputError for a field of the wrong type."""
    return tuple(
        StatusCondition(*(get_text(item, key, path) for key in ("type", "status", "reason", "message")))
        for path, item in get_maps(get_map(data, "status", ""), "conditions", "status")
    )
