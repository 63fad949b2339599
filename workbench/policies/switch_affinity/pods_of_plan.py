"""The pods of a plan: a node for each rank, annotations, and the states of the leaf switches that follow from them.

Source: docs/reference/switch-affinity.md, section 1.4 (the plugin's code; names of the fields from the documents) and
section 3 (the document is silent, ambiguity A9).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.kernels.switches import first_free
from workbench.model.arrays import Ints, Longs
from workbench.model.switches import IS_HEALTHY, IS_SHARED, SHARED, SHARED_ADDRESS
from workbench.policies.switch_affinity.table import Plan, Switches

__all__ = ["annotations_of", "marks_of", "nodes_by_rank"]

Bytes = npt.NDArray[np.int8]


def marks_of(plan: Plan, marked: bool = False) -> Bytes:
    """Votes of a placed job's pods for the state of each switch of its plan (annotations isSharedTor and isHealthy).

    A job under one switch is no cross-switch job: its pods vote for idle, so that the state of the switch stays. The
    exception is a job that took a whole idle switch by the exclusive rule (document: the attribute of a fully occupied
    idle switch is changed to exclusive).

    `marked`: whether the job already crossed switches, or had a switch to itself, before this plan.

    Returns ndarray of shape (c,), int8: one vote per switch of the plan, in the codes of `Plan.vote`; the pods under a
    switch vote alike.
    """
    if len(plan.switch) == 1 and not (marked or plan.whole):
        return np.zeros_like(plan.vote)
    return plan.vote


def annotations_of(state: int, unhealthy: bool, address: str) -> dict[str, str]:
    """Annotations of a pod that is placed under a switch, given the state of the switch.

    `state`: state of the switch: idle, shared or exclusive. `unhealthy`: whether the pod marks the switch as unhealthy;
    written under a shared switch only. `address`: address of the switch; written under a shared switch only.
    """
    written = {IS_SHARED: str(int(state)), IS_HEALTHY: "1" if unhealthy and state == SHARED else "0"}
    if state == SHARED:
        written[SHARED_ADDRESS] = address
    return written


def nodes_by_rank(switches: Switches, plan: Plan, marks: Bytes) -> tuple[Ints, Ints, Longs]:
    """Nodes for the pods of a plan (number of pods per switch), in the order of the pods' ranks.

    Switches come in selection order. Of each switch the first free nodes in configuration order are taken, sorted by
    position.

    `plan`: the chosen switches and the number of pods under each. `marks`: ndarray of shape (c,), int8; state that the
    pods under each switch of the plan vote for (`marks_of`).

    Returns
    -------
    node : ndarray of shape (pods,), int32
        Node of the pod of each rank.
    group : ndarray of shape (pods,), int32
        Group of pods with equal annotations: those under one shared switch, or under all other switches of one state.
    head : ndarray of shape (groups,), int64
        Index in the plan of the first switch of each group.
    """
    table = switches.table
    return first_free(plan.switch, plan.n_pods, marks, switches.free_node, table.start, table.nodes, table.by_position)
