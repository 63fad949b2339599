"""Admission of a new Queue (scheduling.volcano.sh): defaults and violations of Volcano's webhooks.

Source: texts and rules of Volcano's queue webhook as its own tests state them; hierarchies by annotation are not
modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.model.snapshot import Queue
from workbench.objects.admission.schema import Fault
from workbench.objects.fields import get_int, get_map, get_text
from workbench.objects.queue import read_queue

__all__ = ["queue_defaults", "queue_findings"]

_STATES = ("Open", "Closed")


def queue_defaults(data: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults that Volcano's mutating webhook writes into a new Queue, by field path.

    `data` is the parsed manifest.
    """
    spec = get_map(data, "spec", "")
    found: dict[str, Any] = {}
    if spec.get("reclaimable") is None:
        found["spec.reclaimable"] = True
    if not get_int(spec, "weight", "spec"):
        found["spec.weight"] = 1
    return found


def queue_findings(data: Mapping[str, Any]) -> list[Fault]:
    """Violations in a new Queue.

    Of contradictions among capability, deserved and guarantee only the first is reported.
    """
    queue, spec = read_queue(data), get_map(data, "spec", "")
    found = []
    state = get_text(get_map(data, "status", ""), "state", "status")
    if state and state not in _STATES:
        found.append(_invalid("spec.state", f'"{state}"', f"queue state must be in [{' '.join(_STATES)}]"))
    weight = get_int(spec, "weight", "spec")
    if weight is not None and weight < 0:
        found.append(_invalid("spec.weight", str(weight), "queue weight must be a positive integer"))
    return [*found, *_amounts(queue)]


def _amounts(queue: Queue) -> list[Fault]:
    """The first violation of capability >= deserved >= guarantee; a resource not listed counts as 0."""
    deserved, guarantee = queue.deserved or {}, queue.guarantee or {}
    if queue.capability and _exceeds(deserved, queue.capability):
        return [_invalid("spec.deserved", _shown(deserved), "deserved should less equal than capability")]
    if queue.capability and _exceeds(guarantee, queue.capability):
        return [_invalid("spec.guarantee", _shown(guarantee), "guarantee should less equal than capability")]
    if guarantee and _exceeds(guarantee, deserved):
        return [_invalid("spec.guarantee", _shown(guarantee), "guarantee should less equal than deserved")]
    return []


def _exceeds(more: Mapping[str, int], most: Mapping[str, int]) -> bool:
    return any(amount > most.get(name, 0) for name, amount in more.items())


def _shown(amounts: Mapping[str, int]) -> str:
    return f'"{", ".join(f"{name} {amount}" for name, amount in amounts.items())}"'


def _invalid(path: str, value: str, text: str) -> Fault:
    # The webhook calls the object "requestBody".
    return Fault(path, f"requestBody.{path}: Invalid value: {value}: {text}")
