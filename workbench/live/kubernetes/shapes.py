"""The shape of what an API server answers, which is checked before anything of it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.control.store import Object
from workbench.errors import ClusterError

__all__ = ["Misshapen", "Page", "checked_event", "checked_item", "checked_page", "mapping", "version_of"]

_EVENTS = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")


class Misshapen(ClusterError):
    """An answer of an API server, or an event of a watch, has another shape than Kubernetes gives it."""


class Page(NamedTuple):
    """A page of a list.

    `items`: each has been through `checked_item`. `version`: the resourceVersion of the list. `token`: by which the
    next page is asked for; empty: this is the last one. `remaining`: number of objects on the pages that follow.
    """

    items: list[Object]
    version: str
    token: str
    remaining: int


def mapping(value: Any) -> Mapping[str, Any]:
    """A value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def checked_page(data: Any, what: str) -> Page:
    """A page of a list; `Misshapen` names `what` if it is none."""
    if not isinstance(data, dict) or not isinstance(data.get("items") or [], list):
        raise Misshapen(f"{what}: the answer is no list of objects")
    metadata = data.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise Misshapen(f"{what}: the answer is no list of objects: metadata is no mapping")
    remaining = metadata.get("remainingItemCount") or 0
    return Page(
        items=[checked_item(item, what) for item in data.get("items") or []],
        version=_text(metadata, "resourceVersion", what),
        token=_text(metadata, "continue", what),
        remaining=remaining if type(remaining) is int and remaining >= 0 else 0,
    )


def checked_item(data: Any, what: str, *, named: bool = True) -> Object:
    """An object whose metadata, spec and status are mappings; `Misshapen` names `what` otherwise.

    `named`: whether the object must have a name.
    """
    if not isinstance(data, dict):
        raise Misshapen(f"{what}: an object is no mapping")
    for part in ("metadata", "spec", "status"):
        if not isinstance(data.get(part) or {}, dict):
            raise Misshapen(f"{what}: {part} of an object is no mapping")
    metadata = data.get("metadata") or {}
    for field in ("name", "namespace", "uid", "resourceVersion"):
        _text(metadata, field, what)
    if named and not metadata.get("name"):
        raise Misshapen(f"{what}: an object has no name")
    return data


def checked_event(data: Any, what: str) -> tuple[str, Object]:
    """The type and the object of an event of a watch; `Misshapen` names `what` if it is none."""
    if not isinstance(data, dict) or data.get("type") not in _EVENTS or not isinstance(data.get("object"), dict):
        raise Misshapen(f"{what}: an event cannot be used")
    event, found = data["type"], data["object"]
    if event == "ERROR":
        return event, found
    if not isinstance(found.get("metadata"), dict):
        raise Misshapen(f"{what}: the object of an event has no metadata")
    return event, found if event == "BOOKMARK" else checked_item(found, what)


def version_of(metadata: Mapping[str, Any], what: str) -> int:
    """The resourceVersion in some metadata as a number; `Misshapen` names `what` if there is none."""
    text = metadata.get("resourceVersion")
    if type(text) is not str or not text.isascii() or not text.isdigit() or len(text) > 20:
        raise Misshapen(f"{what}: a resourceVersion is no number")
    return int(text)


def _text(metadata: Mapping[str, Any], field: str, what: str) -> str:
    value = metadata.get(field)
    if value is not None and type(value) is not str:
        raise Misshapen(f"{what}: metadata.{field} is no text")
    return value or ""
