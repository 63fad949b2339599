"""Choice of the leaf switches of a new job in switch affinity 2.0: padding, foundation-model and common jobs.

A padding job is placed under one switch or stays pending (ambiguity B10). Other jobs with fewer pods than a switch has
nodes are placed under one switch if one holds them, and then change no state. A foundation-model job takes idle
switches whole, which become exclusive, and the rest by the shared-switch rule. A common job does so where that is
enough; else it falls back to every idle switch, then unhealthy shared ones, then healthy ones that no foundation-model
job crosses, and the shared switches that it uses become unhealthy. No job that crosses switches enters exclusive ones.

Source: document, "Switch Affinity for ..." each kind of job; the list of the shared-switch rule, which that text lacks,
from the full upstream page; for other small jobs the plugin's shortcut (docs/reference/switch-affinity.md, section 5,
ambiguities A1, A4, A6, B1 to B5, B7, B8, C1). The orders of choice: `workbench.kernels.switch_rules.place_new`.
"""

from __future__ import annotations

import numpy as np

from workbench.kernels.switch_rules import COMMON, FALL_BACK, FOUNDATION, ONE, PADDING, WHOLE, place_new
from workbench.kernels.switches import VOTES_UNHEALTHY
from workbench.model.counted import counted
from workbench.model.switches import EXCLUSIVE, IDLE, SHARED
from workbench.policies.switch_affinity.explaining import tell_closest, tell_whole
from workbench.policies.switch_affinity.job_kind import JobKind
from workbench.policies.switch_affinity.table import NoPlan, Plan, Switches

__all__ = ["place_new_job", "place_single_layer"]

_KIND = {"padding": PADDING, "foundation": FOUNDATION, "common": COMMON}
#: What the pods say of a switch, by the rule it was taken by: one switch, whole, closest, opened, fall-back.
_VOTE_OF = np.array([IDLE, EXCLUSIVE, SHARED, SHARED, SHARED + VOTES_UNHEALTHY], dtype=np.int8)
_PENDING = {
    "padding": ("no-single-switch", "tor check failed not enough resource for fill job"),
    "foundation": ("not-enough-switches", "set tor failed by not enough nodes"),
    "common": ("not-enough-switches", "not enough node for normal job to schedule"),
}


def place_new_job(switches: Switches, kind: JobKind, n_pods: int, max_shared: int) -> Plan | NoPlan:
    """Choose the leaf switches of a new job, and the number of its pods under each.

    `switches`: free nodes and states of the switches. `kind`: {"padding", "foundation", "common"}. `n_pods`: pods of
    the job; each takes a node for itself. `max_shared`: most shared switches that the job may use, 1 or 2; the
    fall-back is not limited.
    """
    switch, taken, rule, missing = place_new(
        switches.sums,
        switches.free,
        _KIND[kind],
        n_pods,
        switches.table.nodes_per_switch,
        max_shared,
    )
    if switches.steps is not None:
        shares = list(zip(switch.tolist(), taken.tolist(), rule.tolist(), strict=True))
        _tell(switches, kind, n_pods, max_shared, shares)
    if missing and kind == "foundation":
        # The rule stops before the shared switches if they do not hold what is left; a smaller job would use them.
        largest = -np.sort(-switches.free[switches.healthy()])[:max_shared]
        missing = min(missing, n_pods - int(switches.free[switches.idle()].sum() + largest.sum()))
    if missing:
        return NoPlan(*_PENDING[kind], missing)
    return Plan(switch, taken, _VOTE_OF.take(rule), whole=len(rule) > 0 and int(rule[0]) == WHOLE)


def _tell(switches: Switches, kind: JobKind, n_pods: int, max_shared: int, shares: list[tuple[int, int, int]]) -> None:
    """Note in `Switches.steps` which rule chose which switches; ``shares`` are triples of switch, pods and rule."""
    if shares and shares[0][2] == ONE:
        switches.say(f"one switch: {counted(n_pods, 'pod')} to {switches.describe(shares[0][0])}, its state stays")
        return
    if kind == "padding" or n_pods < switches.table.nodes_per_switch:
        switches.say(f"one switch: none that is open to the job has {counted(n_pods, 'free node')}")
    if kind == "padding":
        return
    by_rule = [[(switch, taken) for switch, taken, rule in shares if rule == wanted] for wanted in range(FALL_BACK + 1)]
    whole, rest, opened, fallen = by_rule[WHOLE:]
    left = n_pods - sum(taken for _, taken in whole)
    idle = switches.idle()
    idle[[switch for switch, _ in whole]] = False
    following = switches.descending(idle)
    tell_whole(switches, whole, int(following[0]) if left and len(following) else -1)
    if left == 0:
        return
    tell_closest(switches, rest, left)
    for switch, taken in opened:
        switches.say(f"shared rule: {counted(taken, 'pod opens', 'pods open')} {switches.describe(switch)} as shared")
    if rest or opened:
        return
    switches.say(
        f"no {max_shared} healthy shared and no idle switch hold the "
        f"{counted(left, 'pod that is left', 'pods that are left')}"
    )
    if kind == "common":
        switches.say(
            f"fall-back: {counted(n_pods - left, 'pod fills', 'pods fill')} all "
            f"{counted(len(whole), 'idle switch', 'idle switches')}, {left} left"
        )
        for switch, taken in fallen:
            switches.say(f"fall-back: {counted(taken, 'pod')} to {switches.describe(switch)}, now unhealthy")
        left -= sum(taken for _, taken in fallen)
        if left:
            switches.say(f"fall-back: {counted(left, 'pod finds', 'pods find')} no node")


def place_single_layer(switches: Switches, n_pods: int) -> Plan | NoPlan:
    """Choose the one switch of a network with a single layer: that with the fewest free nodes that holds all pods.

    The kind of job makes no difference. Of equal switches the first in configuration order is chosen.
    Switches have no states there (docs/reference/switch-affinity.md, section 5.6).
    """
    if n_pods > switches.table.nodes_per_switch:
        return NoPlan("larger-than-switch", "job's task number is bigger than torCount", n_pods)
    switch = switches.smallest(np.ones(len(switches.free), dtype=np.bool_), n_pods)
    if switch < 0:
        return NoPlan("no-single-switch", "tor check failed not enough resource for job", n_pods)
    if switches.steps is not None:
        switches.say(f"one switch: {counted(n_pods, 'pod')} to {switches.name(switch)}")
    return Plan.of([(switch, n_pods, IDLE)])
