"""Foundation-model jobs: the exclusive-switch rule, then the shared-switch rule for what is left.

Source: document, "Switch Affinity for Foundation Model Jobs"; the list of the shared-switch rule, which that text
lacks, from the full upstream page (reference/switch-affinity.md 5.2 and 5.3, ambiguities A1, B3 to B5, C1).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.model.switches import EXCLUSIVE, SHARED
from workbench.policies.switch_affinity.table import NoPlan, Plan, Share, Switches

__all__ = ["most_on_shared", "place_foundation", "whole_switches", "with_shared"]

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def place_foundation(switches: Switches, n_pods: int, max_shared: int) -> Plan | NoPlan:
    """A new job by the rules of foundation-model jobs.

    Parameters
    ----------
    switches : Switches
    n_pods : int
    max_shared : int
        Most shared switches that the job may use, 1 or 2.
    """
    order = switches.descending(switches.idle())
    whole = whole_switches(switches, order, n_pods)
    left = n_pods - whole.total
    if left == 0:
        return Plan((whole,))
    rest = with_shared(switches, left, max_shared, switches.healthy())
    if rest is None:
        rest = _opened(switches, left, order[len(whole.switch) :])
    if rest is None:
        if switches.steps is not None:
            switches.say(f"no {max_shared} healthy shared and no idle switch hold the {left} pods that are left")
        return NoPlan("not-enough-switches", "set tor failed by not enough nodes", left)
    return Plan((whole, rest))


def whole_switches(switches: Switches, order: Longs, n_pods: int) -> Share:
    """Idle switches taken whole, in the given order, up to the first that holds more than what is left."""
    free = switches.free[order]
    filled = int(free.cumsum().searchsorted(n_pods, side="right"))
    share = Share(order[:filled], free[:filled], EXCLUSIVE, whole=True)
    if switches.steps is not None:
        for switch, taken in share.each():
            switches.say(f"idle rule: {taken} pods fill {switches.describe(switch)}, now exclusive")
        if filled < len(order) and n_pods > share.total:
            switches.say(f"idle rule: stop at {switches.describe(int(order[filled]))}, which would not be full")
    return share


def with_shared(switches: Switches, n_pods: int, max_shared: int, allowed: Mask) -> Share | None:
    """The shared-switch rule on healthy shared switches; None where they do not hold the pods.

    One switch, or with `max_shared` 2 also a pair, whose free nodes are closest to the pods and enough. Ties: the
    pair before the single switch; of several pairs the one with the smallest smaller switch; configuration order.
    In a pair the smaller switch is filled first.

    Parameters
    ----------
    n_pods : int
        At least 1.
    max_shared : int
        0: none may be used.
    allowed : ndarray of shape (s,), bool
        Healthy shared switches with a free node.
    """
    order = switches.ascending(allowed)
    if max_shared == 0 or len(order) == 0:
        return None
    free = switches.free[order]
    single = int(free.searchsorted(n_pods))
    best = int(free[single]) if single < len(order) else -1
    chosen, taken = ([single], [n_pods]) if best >= 0 else ([], [])
    if max_shared >= 2 and len(order) > 1:
        partner = np.maximum(free.searchsorted(n_pods - free), np.arange(1, len(order) + 1))
        first = (partner < len(order)).nonzero()[0]
        sums = free[first] + free[partner[first]]
        at = int(sums.argmin()) if len(first) else -1
        # A pair whose smaller switch alone would do never comes here: that switch is closer.
        if at >= 0 and (best < 0 or sums[at] <= best):
            smaller = int(first[at])
            on_smaller = int(free[smaller])
            chosen, taken = [smaller, int(partner[smaller])], [on_smaller, n_pods - on_smaller]
    if not chosen:
        return None
    share = Share(order[chosen], np.array(taken), SHARED)
    if switches.steps is not None:
        for switch, pods in share.each():
            switches.say(f"shared rule: {pods} pods to {switches.describe(switch)}, closest to {n_pods}")
    return share


def most_on_shared(switches: Switches, max_shared: int, allowed: Mask) -> int:
    """How many pods the shared-switch rule can place at most: the free nodes of the largest allowed switches."""
    if max_shared == 0:
        return 0
    return int(np.sort(switches.free[allowed])[-max_shared:].sum())


def _opened(switches: Switches, n_pods: int, idle: Longs) -> Share | None:
    """The idle switch closest to the pods becomes shared; ties in configuration order."""
    fitting = np.sort(idle[switches.free[idle] >= n_pods])
    if len(fitting) == 0:
        return None
    switch = int(fitting[np.argmin(switches.free[fitting])])
    if switches.steps is not None:
        switches.say(f"shared rule: {n_pods} pods open {switches.describe(switch)} as shared")
    return Share.of_one(switch, n_pods, SHARED)
