"""Cluster state that admission looks up to check an object: queues, tier names, namespaces.

`with_defaults` gives a manifest as the cluster stores it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.objects.fields import copied, path_steps

__all__ = ["Known", "KnownQueue", "with_defaults"]


@dataclass(frozen=True)
class KnownQueue:
    """State of an existing Volcano queue, such as ``Open``, and its parent's name.

    An empty parent stands for ``root``.
    """

    state: str = "Open"
    parent: str = ""


@dataclass(frozen=True)
class Known:
    """Cluster state that admission looks up to check an object, as far as it is known.

    `queues`: an unknown queue counts as open, with a warning, because the cluster may have it; ``default`` always
    exists. `tier_names`: tier names of the known HyperNodes; None: HyperNodes are unknown. `namespaces`: annotations of
    the known namespaces. `levels`: node labels that are levels of the known Topologies of Kueue; None: none is known.
    """

    queues: Mapping[str, KnownQueue] = field(default_factory=dict)
    tier_names: Collection[str] | None = None
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    levels: Collection[str] | None = None


def with_defaults(data: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a manifest and set the value at each path of `defaults`, such as ``spec.tasks[0].name``.

    An existing value is replaced. Mappings on the path are created if missing; items of lists must exist.
    """
    whole = copied(data)
    for path, value in defaults.items():
        *parents, last = path_steps(path)
        place: Any = whole
        for part in parents:
            if isinstance(place, dict) and place.get(part) is None:
                place[part] = {}
            place = place[part]
        place[last] = copied(value)
    return whole  # type: ignore[no-any-return]
