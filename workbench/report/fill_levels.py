"""How full each HyperNode is, as a bar: the part of its GPUs that are in use."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from html import escape

import numpy as np
import numpy.typing as npt

from workbench.model.counted import counted
from workbench.model.topology import Topology
from workbench.report.blocks import LEVEL_PX, Block
from workbench.report.occupancy import Occupancy
from workbench.report.svg_text import short

__all__ = ["LEVEL_FREE", "LEVEL_USED", "fill_levels", "used_of_domains"]

#: Paint of the two parts of a bar, on light and dark ground.
LEVEL_FREE, LEVEL_USED = "fill-opacity='.13'", "fill-opacity='.7'"


def used_of_domains(topology: Topology, who: Occupancy) -> npt.NDArray[np.int64] | None:
    """GPUs in use and all GPUs of each domain, int64 (d + 1, 2), the virtual top last; None if no GPU is known."""
    if not who.n_gpus:
        return None
    amounts = np.zeros((topology.n_nodes, 2), dtype=np.int64)
    for node, n in who.n_gpus.items():
        amounts[node, 1] = n
    for node, n in who.n_busy.items():
        amounts[node, 0] = n
    for node, entries in who.held.items():
        amounts[node, 0] += sum([entry.n_gpus for entry in entries])
    return topology.domain_sums(amounts)


def fill_levels(
    topology: Topology, who: Occupancy, blocks: Iterable[tuple[str, Block]], tips: bool = True
) -> tuple[tuple[str, str], ...]:
    """Draw the bars that show how full HyperNodes are: pairs of name and SVG markup; none if no GPU is known.

    `blocks`: name and box of each domain whose box has a header. `tips`: whether each bar has a tool tip.
    """
    amounts = used_of_domains(topology, who)
    if amounts is None:
        return ()
    of = amounts.tolist()
    return tuple(
        [
            (name, _bar(name if tips else "", *of[b.domain], b.x, b.y + b.header - LEVEL_PX - 2.0, b.width))
            for name, b in blocks
        ]
    )


# Most bars of a picture are those of the picture before.
@lru_cache(maxsize=8192)
def _bar(name: str, used: int, total: int, x: float, y: float, width: float) -> str:
    """The bar of a HyperNode, with a tool tip if a name is given."""
    room = width - 10.0
    place = f"x='{short(x + 5.0)}' y='{short(y)}' height='{short(LEVEL_PX)}'"
    part = used / total if total else 0.0
    tip = f"<title>{escape(name)}: {used} of {counted(total, 'GPU')} in use</title>" if name else ""
    filled = f"<rect {place} width='{short(max(part * room, 1.5))}' {LEVEL_USED}/>" if used else ""
    return f"<g>{tip}<rect {place} width='{short(room)}' {LEVEL_FREE}/>{filled}</g>"
