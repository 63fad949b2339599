"""Turns a plan (number of pods per switch) into a node for each rank of a job.

Source: docs/reference/switch-affinity.md, section 3 (the plugin's code; the document is silent, ambiguity A9).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.kernels.switches import first_free
from workbench.policies.switch_affinity.table import Plan, Switches

__all__ = ["nodes_by_rank"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]


def nodes_by_rank(switches: Switches, plan: Plan, marks: Bytes) -> tuple[Ints, Ints, Longs]:
    """Nodes for the pods of a plan (number of pods per switch), in the order of the pods' ranks.

    Switches come in selection order. Of each switch the first free nodes in configuration order are taken, sorted by
    position.

    Parameters
    ----------
    switches : Switches
        Free nodes under each switch.
    plan : Plan
        The chosen switches and the number of pods under each.
    marks : ndarray of shape (c,), int8
        State that the pods under each switch of the plan vote for (`marks_of`).

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
