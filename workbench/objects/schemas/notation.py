"""Parser of the short notation in which the fields of Kubernetes kinds are described.

There is one entry per type, ``Name: field=type field=type …``; an indented line continues the entry above. A type is
the name of another entry or one of the scalars ``text``, ``int``, ``bool``, ``quantity``, ``any`` (content not checked)
and ``keys`` (labels or annotations); ``[type]`` is a list, ``{type}`` a mapping with free keys. ``@1.15`` marks a
field that Volcano 1.13 lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["SCALARS", "Field", "read_types"]

SCALARS = frozenset({"text", "int", "bool", "quantity", "any", "keys"})


@dataclass(frozen=True)
class Field:
    """The type of one field of a Kubernetes kind.

    `form`: ``one``, ``list`` or ``map``. `of`: name of a type or scalar; for a list or mapping the type of its items.
    `since_1_15`: whether the field exists only in releases after 1.13.
    """

    form: Literal["one", "list", "map"]
    of: str | Field
    since_1_15: bool = False

    @property
    def base(self) -> str:
        """Name of the innermost type, inside all lists and mappings."""
        return self.of if isinstance(self.of, str) else self.of.base


def read_types(*texts: str) -> dict[str, Mapping[str, Field]]:
    """Parse texts in the notation of this module: type name to a mapping from field name to `Field`."""
    types: dict[str, Mapping[str, Field]] = {}
    for entry in (entry for text in texts for entry in _entries(text)):
        name, _, fields = entry.partition(":")
        types[name] = {key: _field(written) for key, _, written in (item.partition("=") for item in fields.split())}
    return types


def _entries(text: str) -> Iterable[str]:
    """The entries of a text in the notation, with continuation lines joined to one line each."""
    return (line for line in text.replace("\n    ", " ").splitlines() if line)


def _field(written: str) -> Field:
    name, at, _ = written.partition("@")
    since_1_15 = bool(at)
    if name.startswith("["):
        return Field("list", _field(name[1:-1]), since_1_15)
    if name.startswith("{"):
        return Field("map", _field(name[1:-1]), since_1_15)
    return Field("one", name, since_1_15)
