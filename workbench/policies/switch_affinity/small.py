"""Jobs under one switch: padding jobs always, other jobs where they are smaller than a switch.

Source: document, "Switch Affinity for Padding Jobs"; for other small jobs the plugin's shortcut
(reference/switch-affinity.md 5.1 and 5.5, ambiguities A4, A6, B1). Such a job changes no state.
"""

from __future__ import annotations

import numpy as np

from workbench.policies.switch_affinity.table import Plan, Share, Switches

__all__ = ["place_on_one"]

#: Place of each state's class, by its code: exclusive, shared, idle; of shared switches the unhealthy ones come first.
_CLASS = np.array([3, 2, 0])


def place_on_one(switches: Switches, n_pods: int, unhealthy_too: bool) -> Plan | None:
    """The first class of switches with one that holds the job: exclusive, unhealthy shared, healthy shared, idle.

    In a class the switch with the fewest free nodes that are enough; ties in configuration order.

    Parameters
    ----------
    unhealthy_too : bool
        False for foundation-model jobs: they never enter an unhealthy shared switch.

    Returns
    -------
    Plan or None
        None where no single switch holds the job.
    """
    fitting = switches.free >= max(n_pods, 1)
    if not unhealthy_too:
        fitting &= ~switches.unhealthy
    found = fitting.nonzero()[0]
    if len(found):
        # Class before free nodes: no switch has more of them than the table.
        rank = _CLASS[switches.state[found]] - switches.unhealthy[found]
        switch = int(found[(rank * (len(switches.table.nodes) + 1) + switches.free[found]).argmin()])
        if switches.steps is not None:
            switches.say(f"one switch: {n_pods} pods to {switches.describe(switch)}, its state stays")
        share = Share.of_one(switch, n_pods, int(switches.state[switch]), bool(switches.unhealthy[switch]))
        return Plan((share,))
    if switches.steps is not None:
        switches.say(f"one switch: none that is open to the job has {n_pods} free nodes")
    return None
