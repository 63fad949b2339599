"""Bus bandwidth of a collective over its bytes per second, as nccl-tests counts it."""

from __future__ import annotations

from workbench.evaluate.cost.checks import known, whole

__all__ = ["COLLECTIVES", "bus_factor"]

#: Times that every byte but a rank's own crosses a link; None: the factor is 1 for any number of ranks.
COLLECTIVES: dict[str, int | None] = {
    "all-reduce": 2,
    "all-gather": 1,
    "reduce-scatter": 1,
    "all-to-all": 1,
    "broadcast": None,
    "reduce": None,
}


def bus_factor(collective: str, ranks: int) -> float:
    """Bus bandwidth over bytes per second: 2(n-1)/n for an all-reduce, (n-1)/n, or 1 (broadcast, reduce)."""
    times = known(COLLECTIVES, collective, "collective")
    return 1.0 if times is None else times * (whole(ranks, "ranks") - 1) / ranks
