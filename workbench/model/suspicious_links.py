"""`SuspiciousLinks`: links of one machine that look suspicious for a common reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["SuspiciousLinks"]


@dataclass(frozen=True)
class SuspiciousLinks:
    """GPU-to-GPU links of one machine that are suspicious for a common reason.

    Attributes
    ----------
    code : str
        ``one-slow-direction``, ``p2p-slower-than-staging``, ``p2p-disabled`` or ``no-direct-link``.
    pairs : tuple of (int, int)
        The links as (from GPU, to GPU), ascending.
    message : str
        What is suspicious about the links.
    fact : str
        The message without what a reader put in the place of a missing bandwidth, for a matrix that has a measured one;
        empty: the message.
    """

    code: str
    pairs: tuple[tuple[int, int], ...]
    message: str
    fact: str = field(default="", compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The fields of ``suspicious_links`` in `workbench gpus -o json`."""
        return {"code": self.code, "pairs": [list(pair) for pair in self.pairs], "message": self.message}
