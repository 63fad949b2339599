"""Lowest common ancestors (LCA) of HyperNodes, and scores by the tier of the LCA, for many pairs at once.

Checked interface of ``_core.tiers``. Domain -1 is the virtual top above all HyperNodes. How a release scores a tier is
decided in ``policies``, which hand in one value per domain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench._core import tiers as _core
from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_length, check_range

__all__ = ["VIRTUAL_TOP", "Forest", "tier_scores"]

VIRTUAL_TOP = -1


class Forest:
    """The HyperNodes as a forest under one virtual top, whose number is -1.

    `parent` (ndarray of shape (d,), int32): parent of each domain, -1 where the virtual top is the parent. `tier`
    (ndarray of shape (d,), int32): tier of each domain, smaller is closer. Any ints: tiers may be skipped, leaves may
    be of different depth, and a parent need not have a greater tier (the LCA follows parents, never tiers). Raises
    InputError: wrong dtype or shape, a parent outside -1..d-1, a cycle.

    Notes
    -----
    Rule (Volcano): the LCA of two HyperNodes is the first ancestor of the one (beginning with itself) that is an
    ancestor of the other or the other itself. HyperNodes of two trees have the LCA -1: the virtual top from release
    1.14 on, no common ancestor in 1.13.

    Cost: O(d) memory and one xor per pair where the packed path codes fit 63 bits and no path is longer than 15
    domains (`packed`), O(d log d) memory and two look-ups otherwise. Read-only after construction.
    """

    def __init__(self, parent: NDArray[np.int32], tier: NDArray[np.int32]) -> None:
        parent = as_array("parent", parent, np.int32, 1)
        tier = as_array("tier", tier, np.int32, 1)
        check_length("tier", tier, parent.shape[0])
        check_range("parent", parent, VIRTUAL_TOP, parent.shape[0] - 1)
        try:
            self._c_forest = _core.Forest(parent)
        except ValueError as error:
            raise InputError(str(error), source="parent", expected="a forest") from error
        self._tier = tier.copy()
        self._tier.flags.writeable = False

    def __len__(self) -> int:
        return self._c_forest.size

    @property
    def parent(self) -> NDArray[np.int32]:
        """Parents as given; int32 (d,), read-only."""
        return self._c_forest.parent

    @property
    def tier(self) -> NDArray[np.int32]:
        """Tiers as given; int32 (d,), read-only."""
        return self._tier

    @property
    def depth(self) -> NDArray[np.int32]:
        """Number of proper ancestors of each domain (HyperNode), the virtual top not counted; int32 (d,), read-only."""
        return self._c_forest.depth

    @property
    def packed(self) -> bool:
        """Whether LCAs are found by path codes of at most 63 bits, the faster of two methods with equal answers."""
        return self._c_forest.packed

    def path(self, domain: int) -> NDArray[np.int32]:
        """Ancestors of a domain (HyperNode), itself first and its root last, int32; empty for -1, the virtual top.

        Raises InputError: if ``domain`` is outside -1..d-1.
        """
        return self._c_forest.path(self._domain("domain", domain))

    def lca(
        self, a: NDArray[np.int32], b: NDArray[np.int32], *, out: NDArray[np.int32] | None = None
    ) -> NDArray[np.int32]:
        """Lowest common ancestor of each of m pairs of domains (HyperNodes).

        `a`, `b` (ndarray of shape (m,), int32): domains; -1 stands for a node without domain, or the virtual top, and
        the result is then -1. `out` (ndarray of shape (m,), int32): written and returned instead of a new array.
        Returns: ndarray of shape (m,), int32: -1 where the pair meets only in the virtual top.
        """
        a, b = self._pairs(a, b)
        out = _output("out", out, np.dtype(np.int32), a.shape[0])
        self._c_forest.lca(a, b, out)
        return out

    def scores(
        self,
        a: NDArray[np.int32],
        b: NDArray[np.int32],
        value: NDArray[np.float64],
        *,
        top: float = 0.0,
        own: float | None = None,
        out: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Score of each of m pairs of domains (HyperNodes): the given value of the pair's lowest common ancestor.

        Returns: ndarray of shape (m,), float64.

        Parameters
        ----------
        a, b : ndarray of shape (m,), int32
            Domains, -1 for none.
        value : ndarray of shape (d,), float64
            Score by domain, see `tier_scores`.
        top : float
            Score where the pair meets in the virtual top or one side is -1.
        own : float, optional
            Score where both sides are the same domain; None takes that domain's ``value``.
        out : ndarray of shape (m,), float64, optional
            Written and returned instead of a new array.
        """
        a, b = self._pairs(a, b)
        table = self._table(value, top)
        same = table
        if own is not None:
            same = np.full(len(self) + 1, own, dtype=np.float64)
            same[0] = top
        out = _output("out", out, np.dtype(np.float64), a.shape[0])
        self._c_forest.scores(a, b, table, same, out)
        return out

    def lca_against(self, b: int) -> NDArray[np.int32]:
        """Lowest common ancestor of every domain (HyperNode) and ``b``; int32 (d,), all -1 when ``b`` is -1."""
        out = np.empty(len(self), dtype=np.int32)
        self._c_forest.lca_against(np.arange(len(self), dtype=np.int32), self._domain("b", b), out)
        return out

    def _domain(self, name: str, domain: int) -> int:
        if not VIRTUAL_TOP <= domain < len(self):
            raise InputError("no such domain", source=name, got=str(domain), expected=f"-1..{len(self) - 1}")
        return domain

    def _pairs(self, a: NDArray[np.int32], b: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        a = as_array("a", a, np.int32, 1)
        b = as_array("b", b, np.int32, 1)
        check_length("b", b, a.shape[0])
        check_range("a", a, VIRTUAL_TOP, len(self) - 1)
        check_range("b", b, VIRTUAL_TOP, len(self) - 1)
        return a, b

    def _table(self, value: NDArray[np.float64], top: float) -> NDArray[np.float64]:
        value = as_array("value", value, np.float64, 1)
        check_length("value", value, len(self))
        table = np.empty(len(self) + 1, dtype=np.float64)
        table[0] = top
        table[1:] = value
        return table


def tier_scores(tier: NDArray[np.int32], lowest: int, highest: int, *, flat: float) -> NDArray[np.float64]:
    """Closeness of each domain's tier: 1 at tier ``lowest``, 0 at ``highest``, linear between, 0 outside.

    Returns: ndarray of shape (d,), float64.

    Parameters
    ----------
    tier : ndarray of shape (d,), int32
        Tier of each domain (HyperNode).
    lowest, highest : int
        Smallest and greatest tier of the release's view: 1.13 counts the tiers of real HyperNodes, later releases the
        virtual top (greatest + 1) too.
    flat : float
        Value of a tier inside the range when ``lowest == highest``: 0 in 1.13, 1 later.

    Notes
    -----
    Source: Volcano network-topology-aware design, "(maxTier - tier(LCA)) / (maxTier - minTier)".
    """
    tier = as_array("tier", tier, np.int32, 1)
    if lowest > highest:
        raise InputError("lowest tier above highest", source="lowest", got=str(lowest), expected=f"<= {highest}")
    inside = (tier >= lowest) & (tier <= highest)
    if lowest == highest:
        return np.where(inside, flat, 0.0)
    return np.where(inside, (highest - tier.astype(np.int64)) / (highest - lowest), 0.0)


def _output(name: str, out: object, dtype: np.dtype[np.generic], length: int) -> NDArray[Any]:
    if out is None:
        return np.empty(length, dtype=dtype)
    array = as_array(name, out, dtype, 1)
    check_length(name, array, length)
    if array is not out or not array.flags.writeable:
        raise InputError("cannot be written in place", source=name, expected="contiguous, writeable array")
    return array
