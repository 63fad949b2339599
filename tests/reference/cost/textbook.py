"""Textbook costs of collectives: latency alpha, transfer beta and reduction gamma.

The formulas hold for one message at a time per rank and direction, equal links and no other traffic. Hierarchical
algorithms add their phases up, which is an upper bound: libraries send chunks through the phases in a pipeline.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class LinkLevel:
    """One level of links: the GPUs of a node, or the nodes of a job.

    Attributes
    ----------
    ranks : int
        Members that exchange messages at this level.
    alpha_s : float
        Seconds that a message takes besides its bytes.
    beta_s_per_byte : float
        Seconds per byte: one over the bandwidth.
    """

    ranks: int
    alpha_s: float
    beta_s_per_byte: float


def _steps(n: int) -> int:
    """Rounds in which n ranks reach each other when the reached double: the logarithm, rounded up."""
    return (n - 1).bit_length()


Formula = Callable[[int, float, float, float, float, int], float]

#: Algorithm -> seconds from n, bytes, alpha, beta, gamma and chunks.
ALGORITHMS: dict[str, Formula] = {
    "ring-all-reduce": lambda n, s, a, b, g, k: 2 * (n - 1) * (a + s / n * b) + (n - 1) * s / n * g,
    "ring-reduce-scatter": lambda n, s, a, b, g, k: (n - 1) * (a + s / n * (b + g)),
    "ring-all-gather": lambda n, s, a, b, g, k: (n - 1) * (a + s / n * b),
    "pairwise-all-to-all": lambda n, s, a, b, g, k: (n - 1) * (a + s / n * b),
    "recursive-doubling-all-reduce": lambda n, s, a, b, g, k: _steps(n) * (a + s * (b + g)),
    "halving-doubling-all-reduce": lambda n, s, a, b, g, k: (
        2 * _steps(n) * a + 2 * (n - 1) / n * s * b + (n - 1) / n * s * g
    ),
    "double-binary-tree-all-reduce": lambda n, s, a, b, g, k: 2 * _steps(n) * a + 2 * s * b + s * g,
    "binomial-broadcast": lambda n, s, a, b, g, k: _steps(n) * (a + s * b),
    "chain-broadcast": lambda n, s, a, b, g, k: (n - 2 + k) * (a + s / k * b),
    "bruck-all-to-all": lambda n, s, a, b, g, k: _steps(n) * (a + s / 2 * b),
    "point-to-point": lambda n, s, a, b, g, k: a + s * b,
}

#: Hierarchical algorithm -> seconds of its phases inside the nodes, and of its phase between them.
HIERARCHICAL: dict[str, Callable[[float, LinkLevel, LinkLevel], tuple[float, ...]]] = {
    "hierarchical-all-reduce": lambda s, i, o: (
        (i.ranks - 1) * (i.alpha_s + s / i.ranks * i.beta_s_per_byte),
        2 * (o.ranks - 1) * (o.alpha_s + s / (i.ranks * o.ranks) * o.beta_s_per_byte),
        (i.ranks - 1) * (i.alpha_s + s / i.ranks * i.beta_s_per_byte),
    ),
    "hierarchical-all-to-all": lambda s, i, o: (
        (i.ranks - 1) * (i.alpha_s + s / i.ranks * i.beta_s_per_byte),
        (o.ranks - 1) * (o.alpha_s + s / o.ranks * o.beta_s_per_byte),
    ),
}


def collective_time(
    algorithm: str,
    size: float,
    level: LinkLevel,
    gamma_s_per_byte: float = 0.0,
    chunks: int = 1,
) -> float:
    """Seconds of a collective whose ranks are joined by equal links.

    Parameters
    ----------
    algorithm : str
        A key of `ALGORITHMS`.
    size : float
        Bytes of the whole vector: payload (all-reduce, broadcast, point to point), a rank's input (reduce-scatter), a
        rank's output (all-gather) or a rank's send buffer (all-to-all).
    level : LinkLevel
        Ranks with latency and transfer time.
    gamma_s_per_byte : float
        Seconds to reduce one byte.
    chunks : int
        Pieces that a chain broadcast cuts its payload into; other algorithms ignore it.

    Returns
    -------
    float
        Most formulas give 0 for a single rank. The chain broadcast (k - 1 chunks) and the double binary tree (2 S beta)
        do not, because they count pipeline time; callers should skip groups of one rank.
    """
    formula = ALGORITHMS[algorithm]
    return formula(level.ranks, size, level.alpha_s, level.beta_s_per_byte, gamma_s_per_byte, chunks)


def hierarchical_time(algorithm: str, size: float, inner: LinkLevel, outer: LinkLevel) -> tuple[float, float]:
    """Seconds of a collective inside the nodes and then between them: a lower and an upper bound.

    Parameters
    ----------
    algorithm : str
        A key of `HIERARCHICAL`.
    size : float
        Bytes of the whole vector, as for `collective_time`.
    inner, outer : LinkLevel
        GPUs of one node; nodes. Each GPU has its own network card.

    Returns
    -------
    tuple of float
        (longest phase: phases overlap fully; sum of the phases: nothing overlaps).
    """
    phases = HIERARCHICAL[algorithm](size, inner, outer)
    return max(phases), sum(phases)
