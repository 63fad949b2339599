"""Common jobs: the rules of foundation-model jobs where they suffice, else the fall-back.

Source: document, "Switch Affinity for Common Jobs"; reference/switch-affinity.md 5.4, ambiguities A7, B2, B7, B8.
"""

from __future__ import annotations

from workbench.model.switches import EXCLUSIVE, SHARED
from workbench.policies.switch_affinity.foundation import place_foundation
from workbench.policies.switch_affinity.table import NoPlan, Plan, Share, Switches

__all__ = ["place_common"]


def place_common(switches: Switches, n_pods: int, max_shared: int) -> Plan | NoPlan:
    """A new common job.

    The fall-back takes every free node of every idle switch, then unhealthy shared switches, then healthy shared ones
    that no foundation-model job crosses, each class with few free nodes first. The shared switches that it uses
    become unhealthy. Exclusive switches are never entered.
    """
    plan = place_foundation(switches, n_pods, max_shared)
    if isinstance(plan, Plan):
        return plan
    idle = switches.descending(switches.idle())
    shares = [Share(idle, switches.free[idle], EXCLUSIVE)]
    left = n_pods - shares[0].total
    if switches.steps is not None:
        switches.say(f"fall-back: {n_pods - left} pods fill all {len(idle)} idle switches, {left} are left")
    for chosen in (switches.sick(), switches.healthy() & switches.common_only):
        share, left = switches.fill(switches.ascending(chosen), left, SHARED, unhealthy=True)
        shares.append(share)
        if switches.steps is not None:
            for switch, taken in share.each():
                switches.say(f"fall-back: {taken} pods to {switches.describe(switch)}, now unhealthy")
    if left:
        if switches.steps is not None:
            switches.say(f"fall-back: {left} pods find no node")
        return NoPlan("not-enough-switches", "not enough node for normal job to schedule", left)
    return Plan(tuple(shares))
