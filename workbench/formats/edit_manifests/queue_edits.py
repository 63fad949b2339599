"""Edits of a queue: the amounts of its capability, deserved share and guarantee, and its weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.errors import InputError
from workbench.formats.edit_manifests.manifest_set import ManifestSet, child_map
from workbench.objects.fields import shown

__all__ = ["AMOUNTS", "change_amounts", "change_weight"]

#: Path below a Queue's spec of the amounts that each kind of edit changes.
AMOUNTS = {
    "queue-capability": ("capability",),
    "queue-deserved": ("deserved",),
    "queue-guarantee": ("guarantee", "resource"),
}


def change_amounts(manifests: ManifestSet, queue: str, edit: Mapping[str, Any]) -> None:
    """Set the amounts of the resources that the edit names; one that becomes null, or is missing, is not limited.

    `manifests`: changed in place. `edit`: the key ``kind`` is one of `AMOUNTS`; ``from`` and ``to`` have the amounts by
    resource before and after.
    """
    before, after = edit.get("from") or {}, edit.get("to") or {}
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        raise InputError("wrong type or value", where="to", got=shown(after), expected="amounts by resource")
    amounts = child_map(manifests.change(_queue(manifests, queue)), "spec", *AMOUNTS[edit["kind"]])
    for name in {**before, **after}:
        if after.get(name) is None:
            amounts.pop(name, None)
        else:
            amounts[name] = after[name]


def change_weight(manifests: ManifestSet, queue: str, edit: Mapping[str, Any]) -> None:
    """Set the weight of a queue.

    `manifests`, `queue`: as in `change_amounts`. `edit`: the key ``to`` has the new weight.
    """
    child_map(manifests.change(_queue(manifests, queue)), "spec")["weight"] = edit["to"]


def _queue(manifests: ManifestSet, name: str) -> int:
    """Position of a Queue; the queue default, which every cluster has, is added if it is not in the input."""
    if name == "default" and manifests.find("Queue", name) is None:
        version = "scheduling.volcano.sh/v1beta1"
        manifests.add({"apiVersion": version, "kind": "Queue", "metadata": {"name": name}, "spec": {"weight": 1}})
    return manifests.need("Queue", name)
