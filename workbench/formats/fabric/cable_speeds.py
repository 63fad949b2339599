"""`slow_cables`: find cables that are slower than most cables of the same kind, in sources that tell link speeds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from workbench.formats.fabric.hosts import some
from workbench.model.counted import counted
from workbench.model.notice import Notice

__all__ = ["CableSpeed", "slow_cables", "speed_gbit_s"]

#: Gbit/s of one lane by InfiniBand's names of data rates.
_LANE = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.3125,
    "FDR": 14.0625,
    "EDR": 25.78125,
    "HDR": 53.125,
    "NDR": 106.25,
    "XDR": 212.5,
}
_SPEED = re.compile(r"(\d{1,2})x([A-Z]{3}\d{0,2})\Z")


@dataclass(frozen=True)
class CableSpeed:
    """One cable of a fabric.

    Attributes
    ----------
    ends : str
        Both ends, for a message: ``leaf-1[20] - spine-1[3]``.
    kind : hashable
        Cables of one kind are expected to have one speed, such as all cables between switches of two ranks.
    kind_text : str
        The kind in words: ``between switches of rank 1 and 2``.
    speed : str
        Speed as the source says it, such as ``4xEDR``.
    gbit_s : float
        Speed in Gbit/s; 0: unknown.
    """

    ends: str
    kind: Hashable
    kind_text: str
    speed: str
    gbit_s: float


@lru_cache(maxsize=1 << 10)
def speed_gbit_s(text: str) -> float:
    """Signalling rate in Gbit/s of a link that a printout calls such as ``4xEDR``; 0 for an unknown word."""
    found = _SPEED.match(text)
    return int(found[1]) * _LANE.get(found[2], 0.0) if found else 0.0


def slow_cables(cables: Iterable[CableSpeed]) -> list[Notice]:
    """Notices about cables that are slower than most cables of their kind, one for each kind.

    A cable is slow if more than half of the cables of its kind are faster and have one speed. Cables whose speed is
    unknown are not judged. `cables` may come in any order; kinds are told in the byte order of their words.
    """
    kinds: dict[Hashable, list[CableSpeed]] = {}
    for cable in cables:
        if cable.gbit_s:
            kinds.setdefault(cable.kind, []).append(cable)
    notes = []
    for alike in sorted(kinds.values(), key=lambda some: some[0].kind_text.encode()):
        counts = Counter((c.speed, c.gbit_s) for c in alike)
        (usual, fast), count = min(counts.items(), key=lambda item: (-item[1], item[0]))
        slow = [c for c in alike if c.gbit_s < fast]
        if slow and 2 * count > len(alike):
            listed = sorted((f"{c.ends} at {c.speed}" for c in slow), key=str.encode)
            text = (
                f"{counted(len(slow), 'cable')} {alike[0].kind_text} "
                f"slower than the {count} others, which run at {usual}: {some(listed)}"
            )
            notes.append(Notice("slow-cable", text, numbers={"count": len(slow)}))
    return notes
