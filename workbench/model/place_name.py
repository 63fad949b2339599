"""`place_name`: the name that people read for a HyperNode, without any array library."""

from __future__ import annotations

__all__ = ["VIRTUAL_TOP", "place_name"]

#: What the virtual top is called where a name must be shown (Volcano 1.15 uses this text).
VIRTUAL_TOP = "<cluster-top-hypernode>"
#: What the virtual top is called in sentences and tables.
_WHOLE_CLUSTER = "the whole cluster"


def place_name(domain: str) -> str:
    """The name of a HyperNode as sentences have it: that of the virtual top (`VIRTUAL_TOP`) is for programs."""
    return _WHOLE_CLUSTER if domain == VIRTUAL_TOP else domain
