"""`RackWish`: the HyperNode that a gang claims for itself."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.model.extras import Extra

__all__ = ["RackWish"]


@dataclass(frozen=True)
class RackWish(Extra):
    """The HyperNode that holds all pods of a gang; read by the policy ``rack-claims``.

    Attributes
    ----------
    rack : str
        Name of the HyperNode; empty: any nodes will do.
    """

    rack: str = ""
