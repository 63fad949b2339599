"""Annotations on the pods of a placed job, and the states of the leaf switches that follow from them.

Source: docs/reference/switch-affinity.md, section 1.4 (the plugin's code; names of the fields from the documents).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from workbench.model.switches import EXCLUSIVE, IDLE, IS_HEALTHY, IS_SHARED, SHARED, SHARED_ADDRESS, SwitchStates
from workbench.policies.switch_affinity.table import Plan

__all__ = ["annotations_of", "job_summary", "marks_of", "states_by_definition"]

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


def states_by_definition(before: SwitchStates, switches: Sequence[int], max_shared: int) -> dict[int, tuple[int, bool]]:
    """State and health of the given switches once a job has pods under them, whichever policy placed the job.

    Returns a mapping of the switch to (state, unhealthy). By the document's definitions: a job under one switch
    changes nothing; a switch with one cross-switch job is exclusive, with several shared; unhealthy where the job
    uses more shared switches than allowed.

    Parameters
    ----------
    before : SwitchStates
        States without the job.
    switches : sequence of int
        Switches under which the job has pods.
    max_shared : int
        Most shared switches that a job may use.
    """
    under = sorted(set(switches))
    if len(under) < 2:
        return dict.fromkeys(under, (IDLE, False))
    state = {switch: EXCLUSIVE if before.state[switch] == IDLE else SHARED for switch in under}
    over = sum(found == SHARED for found in state.values()) > max_shared
    return {s: (found, found == SHARED and (over or bool(before.unhealthy[s]))) for s, found in state.items()}


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


def job_summary(pods: Iterable[Mapping[str, str]]) -> str:
    """Value of the field sharedTorIp of job-summary-<job>: distinct addresses of the job's shared switches.

    Parameters
    ----------
    pods : iterable of mapping
        Annotations of the job's pods.

    Returns
    -------
    str
        A JSON list in the order of the pods; empty where no pod is under a shared switch.
    """
    addresses = dict.fromkeys(
        pod[SHARED_ADDRESS] for pod in pods if pod.get(IS_SHARED) == str(SHARED) and pod.get(SHARED_ADDRESS)
    )
    return json.dumps(list(addresses), separators=(",", ":")) if addresses else ""
