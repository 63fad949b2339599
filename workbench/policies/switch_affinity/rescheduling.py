"""Rescheduling after faults: chooses the leaf switches to which the pods of faulty nodes move.

Pods of healthy nodes keep node and rank. The other pods go first to switches that the job used before, exclusive ones
before shared ones, then to switches that it did not use.

Source: document, "Rescheduling Upon Faults"; docs/reference/switch-affinity.md, section 6, ambiguities B11 to B16.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.kernels.switch_rules import place_closest
from workbench.kernels.switches import VOTES_UNHEALTHY
from workbench.model.arrays import Mask
from workbench.model.counted import counted
from workbench.model.switches import EXCLUSIVE, IDLE, SHARED
from workbench.policies.switch_affinity.explaining import tell_closest, tell_whole
from workbench.policies.switch_affinity.job_kind import JobKind
from workbench.policies.switch_affinity.table import NoPlan, Plan, Switches

__all__ = ["Damage", "reschedule"]


#: A switch, pods that go there, and what they say of it (`Plan.vote`).
_Share = tuple[int, int, int]


@dataclass(frozen=True)
class Damage:
    """What a job lost by a fault: pods that need another node, and the switches of the pods that stay.

    Attributes
    ----------
    kind : JobKind
        Kind of the job by its label and size.
    n_pods : int
        Number of pods that need another node.
    survivors : ndarray of shape (s,), int64
        Number of pods that stay under each switch.
    used : ndarray of shape (s,), bool
        Whether the job had a pod under the switch before the fault.
    crossing : bool
        Whether the job had pods under several switches, or its pods vote for shared or exclusive, before the fault.
    """

    kind: JobKind
    n_pods: int
    survivors: npt.NDArray[np.int64]
    used: Mask
    crossing: bool


def reschedule(switches: Switches, damage: Damage, max_shared: int) -> Plan | NoPlan | None:
    """Choose the leaf switches for those pods of a running job that need another node after a fault.

    Returns None: no pod survived and the switches used before do not suffice, so the job starts as a new one.

    `damage`: losses of the job: pods without a node, surviving pods, switches used before. `max_shared`: shared
    switches that a job may use at most.
    """
    # A foundation-model job takes no node under an unhealthy switch, not even where it has pods already.
    open_to_job = (switches.free > 0) & ~((damage.kind == "foundation") & switches.unhealthy)
    used = damage.used & open_to_job
    room = int(switches.free[used].sum())
    if damage.n_pods <= room:
        return Plan.of(_used_before(switches, used, damage, max_shared))
    if not damage.survivors.any():
        switches.say("no pod of the job is left and its switches have no room for it: placed as a new job")
        return None
    if switches.steps is not None:
        switches.say(f"the switches used before have {counted(room, 'free node')} for {counted(damage.n_pods, 'pod')}")
    if damage.kind == "padding":
        return NoPlan("no-single-switch", "not enough tor for fill job restart", damage.n_pods - room)
    if not damage.crossing:
        return NoPlan("one-switch-job", "tor check failed node by nslb2.0", damage.n_pods - room)
    return _extend(switches, used, damage, max_shared)


def _allowance(switches: Switches, held: Mask, max_shared: int) -> int:
    """Number of shared switches that the job may use in addition to those in the mask ``held``."""
    return max(0, max_shared - int((held & (switches.state == SHARED)).sum()))


def _used_before(switches: Switches, used: Mask, damage: Damage, max_shared: int) -> list[_Share]:
    """Put pods on switches that the job used before: exclusive ones first, then healthy shared, then unhealthy shared.

    Returns switch, number of pods and state of each. Within each class the switch with the fewest free nodes comes
    first.
    """
    left = damage.n_pods
    shares: list[_Share] = []
    allowance = _allowance(switches, damage.survivors > 0, max_shared)
    for chosen in (switches.state != SHARED, (switches.state == SHARED) & ~switches.unhealthy, switches.unhealthy):
        for switch in switches.ascending(used & chosen).tolist():
            if left == 0:
                break
            taken = min(int(switches.free[switch]), left)
            left -= taken
            state = int(switches.state[switch])
            if state == IDLE and damage.crossing:
                # A cross-switch job's switch without a mark: its own from now on, or shared where nodes stay free.
                state = SHARED if taken < switches.free[switch] and allowance > 0 else EXCLUSIVE
                allowance -= state == SHARED
            unhealthy = state == SHARED and bool(switches.unhealthy[switch])
            shares.append((switch, taken, state + VOTES_UNHEALTHY * unhealthy))
            if switches.steps is not None:
                switches.say(f"used before: {counted(taken, 'pod')} to {switches.describe(switch)}")
    return shares


def _extend(switches: Switches, used: Mask, damage: Damage, max_shared: int) -> Plan | NoPlan:
    """Put pods on every free node of the switches used before (mask ``used``), the rest on switches new to the job.

    Idle switches are taken whole, from few to many free nodes, as long as the pods fill them. The other pods go by the
    shared-switch rule, within the number of shared switches that the job may still use, else to a part of the next idle
    switch.
    """
    unused = ~damage.used
    allowance = _allowance(switches, (damage.survivors > 0) | used, max_shared)
    shares = _used_before(switches, used, damage, max_shared)
    need = damage.n_pods - sum(taken for _, taken, _ in shares)
    idle, shared = switches.idle() & unused, switches.healthy() & unused
    possible = int(switches.free[idle].sum()) + _most_on_shared(switches, allowance, shared)
    if need > possible:
        if switches.steps is not None:
            switches.say(f"switches not used before: {counted(possible, 'node')} within the limit, {need} needed")
        return NoPlan("not-enough-switches", "not enough tor for job restart", need)
    order = switches.ascending(idle).tolist()
    left = need
    whole: list[tuple[int, int]] = []
    while len(whole) < len(order) and switches.free[order[len(whole)]] <= left:
        switch = order[len(whole)]
        whole.append((switch, int(switches.free[switch])))
        left -= whole[-1][1]
    following = order[len(whole)] if left and len(whole) < len(order) else -1
    shares += [(switch, taken, EXCLUSIVE) for switch, taken in whole]
    if switches.steps is not None:
        tell_whole(switches, whole, following)
    if left:
        chosen, taken = place_closest(shared, switches.free, left, allowance)
        rest = list(zip(chosen.tolist(), taken.tolist(), strict=True))
        if switches.steps is not None:
            tell_closest(switches, rest, left)
        shares += [(switch, pods, SHARED) for switch, pods in rest]
        if not rest:
            shares.append((following, left, SHARED if allowance else EXCLUSIVE))
            if switches.steps is not None:
                switches.say(
                    f"not used before: {counted(left, 'pod opens', 'pods open')} {switches.describe(following)}"
                )
    return Plan.of(shares)


def _most_on_shared(switches: Switches, max_shared: int, allowed: Mask) -> int:
    """Free nodes under the `max_shared` largest switches of the mask `allowed`."""
    if max_shared == 0:
        return 0
    return int(np.sort(switches.free[allowed])[-max_shared:].sum())
