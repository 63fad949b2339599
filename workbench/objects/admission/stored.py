"""`with_defaults`: a manifest as the cluster stores it, with the defaults that admission writes into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.objects.fields import path_steps

__all__ = ["with_defaults"]


def with_defaults(data: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a manifest and set the value at each path of `defaults`, such as ``spec.tasks[0].name``.

    An existing value is replaced. Mappings on the path are created if missing; items of lists must exist.
    """
    whole = _copied(data)
    for path, value in defaults.items():
        *parents, last = path_steps(path)
        place: Any = whole
        for part in parents:
            if isinstance(place, dict) and place.get(part) is None:
                place[part] = {}
            place = place[part]
        place[last] = _copied(value)
    return whole  # type: ignore[no-any-return]


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
