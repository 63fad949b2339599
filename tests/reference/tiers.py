"""Oracle of the ``tiers`` kernel: climb parents, one pair at a time."""

from __future__ import annotations

from collections.abc import Sequence


def path(parent: Sequence[int], domain: int) -> list[int]:
    """Ancestors, the domain first."""
    climbed = []
    while domain >= 0:
        climbed.append(domain)
        domain = parent[domain]
    return climbed


def lca(parent: Sequence[int], a: int, b: int) -> int:
    """First ancestor of ``a`` (``a`` first) that is an ancestor of ``b``; -1 if there is none."""
    above_b = path(parent, b)
    for domain in path(parent, a):
        if domain in above_b:
            return domain
    return -1


def score(parent: Sequence[int], a: int, b: int, value: Sequence[float], top: float, own: float | None) -> float:
    """Value of the LCA."""
    if a == b and a >= 0 and own is not None:
        return own
    common = lca(parent, a, b)
    return top if common < 0 else value[common]
