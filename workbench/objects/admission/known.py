"""Cluster state that admission looks up to check an object: queues, tier names, namespaces."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

__all__ = ["Known", "KnownQueue"]


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

    Attributes
    ----------
    queues : mapping of str to KnownQueue
        An unknown queue counts as open, with a warning, because the cluster may have it; ``default`` always exists.
    tier_names : collection of str, optional
        Tier names of the known HyperNodes; None: HyperNodes are unknown.
    namespaces : mapping of str to mapping of str to str
        Annotations of the known namespaces.
    """

    queues: Mapping[str, KnownQueue] = field(default_factory=dict)
    tier_names: Collection[str] | None = None
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
