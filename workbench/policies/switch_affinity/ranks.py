"""From shares of switches to a node for each rank.

Source: reference/switch-affinity.md 3 (the plugin's code; the document is silent, ambiguity A9).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.kernels.switches import first_free
from workbench.policies.switch_affinity.table import Plan, Switches

__all__ = ["nodes_by_rank"]

Ints = npt.NDArray[np.int32]


def nodes_by_rank(switches: Switches, plan: Plan, number: list[int]) -> tuple[Ints, Ints]:
    """Nodes of a plan in the order of the ranks.

    Of each switch the first free nodes in configuration order; switches in selection order, their nodes by position.

    Parameters
    ----------
    switches : Switches
    plan : Plan
        With at least one share.
    number : list of int
        Of the marks that the pods under each switch of the plan get.

    Returns
    -------
    node : ndarray of shape (pods,), int32
    group : ndarray of shape (pods,), int32
        The number for each of them.
    """
    table, numbers = switches.table, np.array(number, dtype=np.int32)
    return first_free(
        np.concatenate([share.switch for share in plan.shares]),
        np.concatenate([share.n_pods for share in plan.shares]),
        numbers,
        switches.free_node,
        table.start,
        table.nodes,
        table.by_position,
    )
