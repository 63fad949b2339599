"""Placement in networks with a single layer of switches: all pods of a job go under one switch.

Switches have no states there (docs/reference/switch-affinity.md, section 5.6).
"""

from __future__ import annotations

import numpy as np

from workbench.model.counted import counted
from workbench.model.switches import IDLE
from workbench.policies.switch_affinity.table import NoPlan, Plan, Switches

__all__ = ["place_single_layer"]


def place_single_layer(switches: Switches, n_pods: int) -> Plan | NoPlan:
    """Choose the switch with the fewest free nodes that can hold all pods of the job.

    The kind of job makes no difference. Of equal switches the first in configuration order is chosen.
    """
    if n_pods > switches.table.nodes_per_switch:
        return NoPlan("larger-than-switch", "job's task number is bigger than torCount", n_pods)
    switch = switches.smallest(np.ones(len(switches.free), dtype=np.bool_), n_pods)
    if switch < 0:
        return NoPlan("no-single-switch", "tor check failed not enough resource for job", n_pods)
    if switches.steps is not None:
        switches.say(f"one switch: {counted(n_pods, 'pod')} to {switches.name(switch)}")
    return Plan.of([(switch, n_pods, IDLE)])
