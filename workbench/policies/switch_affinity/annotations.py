"""Annotations on the pods of a placed job, and the states of the leaf switches that follow from them.

Source: docs/reference/switch-affinity.md, section 1.4 (the plugin's code; names of the fields from the documents).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.model.switches import IS_HEALTHY, IS_SHARED, SHARED, SHARED_ADDRESS
from workbench.policies.switch_affinity.table import Plan

__all__ = ["annotations_of", "marks_of"]

Bytes = npt.NDArray[np.int8]


def marks_of(plan: Plan, marked: bool = False) -> Bytes:
    """Votes of a placed job's pods for the state of each switch of its plan (annotations isSharedTor and isHealthy).

    A job under one switch is no cross-switch job: its pods vote for idle, so that the state of the switch stays. The
    exception is a job that took a whole idle switch by the exclusive rule (document: the attribute of a fully occupied
    idle switch is changed to exclusive).

    Parameters
    ----------
    plan : Plan
    marked : bool
        Whether the job already crossed switches, or had a switch to itself, before this plan.

    Returns
    -------
    ndarray of shape (c,), int8
        One vote per switch of the plan, in the codes of `Plan.says`; the pods under a switch vote alike.
    """
    if len(plan.switch) == 1 and not (marked or plan.whole):
        return np.zeros_like(plan.says)
    return plan.says


def annotations_of(state: int, unhealthy: bool, address: str) -> dict[str, str]:
    """Annotations of a pod that is placed under a switch, given the state of the switch.

    Parameters
    ----------
    state : int
        State of the switch: idle, shared or exclusive.
    unhealthy : bool
        Whether the pod marks the switch as unhealthy; written under a shared switch only.
    address : str
        Address of the switch; written under a shared switch only.
    """
    written = {IS_SHARED: str(int(state)), IS_HEALTHY: "1" if unhealthy and state == SHARED else "0"}
    if state == SHARED:
        written[SHARED_ADDRESS] = address
    return written
