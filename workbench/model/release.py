"""`Release`: the Volcano release whose behaviour a policy follows."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Release"]


class Release(StrEnum):
    """The two releases of Volcano whose behaviours are modelled separately (docs/decisions.md, decision 4).

    Attributes
    ----------
    V1_13
        v1.13.0 to v1.13.3.
    V1_15
        v1.15.1, the latest one that ``docs/reference/volcano-topology.md`` describes.
    """

    V1_13 = "1.13"
    V1_15 = "1.15"
