"""The difference of two manifests as a patch that `kubectl patch` takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["json_patch", "merge_patch"]


def json_patch(before: Any, after: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """The operations of a JSON patch (RFC 6902) that turn one value into another.

    Parameters
    ----------
    before, after : object
        Parsed JSON.
    path : str
        JSON pointer to both values.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            place = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
            if key not in after:
                yield {"op": "remove", "path": place}
            elif key not in before:
                yield {"op": "add", "path": place, "value": after[key]}
            else:
                yield from json_patch(before[key], after[key], place)
    elif isinstance(before, list) and isinstance(after, list) and len(before) <= len(after):
        for i, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from json_patch(old, new, f"{path}/{i}")
        for new in after[len(before) :]:
            yield {"op": "add", "path": f"{path}/-", "value": new}
    elif before != after:
        yield {"op": "replace", "path": path, "value": after}


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    """The JSON merge patch (RFC 7386) that turns one mapping into another.

    None: a list differs in both, which such a patch would have to repeat as a whole.
    """
    patch: dict[str, Any] = {}
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            inner = merge_patch(old, new)
            if inner is None:
                return None
            patch[key] = inner
        elif isinstance(old, list) and isinstance(new, list):
            return None
        else:
            patch[key] = new
    return patch
