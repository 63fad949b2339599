"""Kueue's way to write amounts and reasons."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from workbench.model.labels import Taint
from workbench.model.resources import CPU, MEMORY

__all__ = ["cut", "join_reasons", "quantity", "resource_order", "taint_text"]

#: Most characters of an event.
_LONGEST_EVENT = 1024

_DECIMAL = {-3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def quantity(resource: str, amount: int) -> str:
    """An amount in base units as Kubernetes writes it canonically: ``1536Mi``, ``500m``, ``2``."""
    in_bytes = resource in (MEMORY, "ephemeral-storage") or resource.startswith("hugepages-")
    if in_bytes and not -1024 < amount < 1024:
        power = 0
        while amount % 1024 == 0 and power + 1 < len(_BINARY):
            amount, power = amount // 1024, power + 1
        return f"{amount}{_BINARY[power]}"
    power = -3 if resource == CPU else 0
    if amount == 0:
        return "0"
    while amount % 1000 == 0 and power + 3 in _DECIMAL:
        amount, power = amount // 1000, power + 3
    return f"{amount}{_DECIMAL[power]}"


def taint_text(taint: Taint) -> str:
    """A taint as Kueue prints it."""
    return f"{{{taint.key} {taint.value} {taint.effect} <nil>}}"


@cache
def resource_order(resource: str) -> int:
    """The place of a resource among the requests of a pod set: its name's 64-bit FNV-1a hash."""
    value = 0xCBF29CE484222325
    for byte in resource.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def join_reasons(reasons: Iterable[str]) -> str:
    """Reasons of one pod set as one text: sorted as byte strings."""
    return ", ".join(sorted(reasons, key=str.encode))


def cut(message: str) -> str:
    """A message as an event keeps it."""
    return message if len(message) <= _LONGEST_EVENT else f"{message[: _LONGEST_EVENT - 4]} ..."
