"""Bandwidths as nccl-tests prints them: bytes over time, and bus bandwidth."""

from __future__ import annotations

from workbench.evaluate.cost.checks import known, not_negative, positive, whole

__all__ = ["COLLECTIVES", "bandwidths", "bus_factor"]

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


def bandwidths(collective: str, ranks: int, size: float, time_s: float) -> tuple[float, float]:
    """Algorithm bandwidth and bus bandwidth in GB/s (1e9 bytes per second).

    Parameters
    ----------
    collective : str
    ranks : int
    size : float
        Bytes of the whole vector (all-gather and reduce-scatter: ranks times the share of one).
    time_s : float
        Seconds of one operation.

    Returns
    -------
    tuple of float
    """
    algorithm = not_negative(size, "size") / positive(time_s, "time_s") / 1e9
    return algorithm, algorithm * bus_factor(collective, ranks)
