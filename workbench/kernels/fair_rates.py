"""Max-min fair rates of bundles of flows that share links.

Checked interface of the ``fair_rates`` kernel.

A bundle is a set of flows in lock-step, such as the ring of a collective: one rate for all of them. At rate x it takes
``load · x`` of each of its links, the load being the number of its flows there.

All rates rise together from 0, each in proportion to its weight. When a link is full, the bundles on it stop; when a
bundle has what it demands, it stops; the others go on. Exactly one set of rates results: each bundle has its demand or
crosses a full link on which no bundle has a larger rate for its weight.

Source: progressive filling (Bertsekas and Gallager, Data Networks, chapter 6).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench._core import fair_rates as kernel
from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_length, check_range

__all__ = ["fair_rates"]


def fair_rates(
    start: NDArray[np.int64],
    link: NDArray[np.int32],
    load: NDArray[np.float64],
    capacity: NDArray[np.float64],
    *,
    weight: NDArray[np.float64] | None = None,
    demand: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Rate of each bundle of flows.

    Returns: ndarray of shape (b,), float64: in the unit of the capacities; infinite: nothing limits the bundle. No
    order of links or bundles changes the rates by more than rounding. Raises InputError: an array of another length or
    type, a number out of range, or a bundle that names a link twice.

    Parameters
    ----------
    start : ndarray of shape (b + 1,), int64
        Bundle i crosses the links ``link[start[i]:start[i + 1]]``, each once.
    link : ndarray of shape (k,), int32
        Numbers of links.
    load : ndarray of shape (k,), float64
        Flows of the bundle on this link, above 0; parts of a flow are allowed.
    capacity : ndarray of shape (links,), float64
        Rate that each link carries, from 0 on.
    weight : ndarray of shape (b,), float64, optional
        Share relative to other bundles, above 0; None: 1 each.
    demand : ndarray of shape (b,), float64, optional
        Rate that a bundle never exceeds, from 0 on; infinite, or None: no limit.
    """
    capacity = as_array("capacity", capacity, np.float64, 1)
    start = as_array("start", start, np.int64, 1)
    bundles = len(start) - 1
    link = as_array("link", link, np.int32, 1)
    load = as_array("load", load, np.float64, 1)
    if bundles < 0 or start[0] != 0 or start[-1] != len(link) or (np.diff(start) < 0).any():
        raise InputError("wrong offsets", source="start", expected="from 0 up to the length of link")
    check_length("load", load, len(link))
    check_range("link", link, 0, len(capacity) - 1)
    check_range("load", load, np.nextafter(0, 1), np.finfo(np.float64).max)
    check_range("capacity", capacity, 0, np.finfo(np.float64).max)
    weight = as_array("weight", np.ones(bundles) if weight is None else weight, np.float64, 1)
    demand = as_array("demand", np.full(bundles, np.inf) if demand is None else demand, np.float64, 1)
    check_length("weight", weight, bundles)
    check_length("demand", demand, bundles)
    check_range("weight", weight, np.nextafter(0, 1), np.finfo(np.float64).max)
    check_range("demand", demand, 0, np.inf)
    owner = np.repeat(np.arange(bundles), np.diff(start))
    if len(np.unique(owner * max(len(capacity), 1) + link)) < len(link):
        raise InputError("a bundle names a link twice", source="link", expected="each link once, with its load")
    return kernel.fair_rates(start, link, load, weight, demand, capacity)
