"""From shares of switches to a node for each rank.

Source: reference/switch-affinity.md 3 (the plugin's code; the document is silent, ambiguity A9).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.policies.switch_affinity.table import Plan, Switches

__all__ = ["nodes_by_rank"]


def nodes_by_rank(switches: Switches, plan: Plan) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Nodes of a plan in the order of the ranks.

    Of each switch the first free nodes in configuration order; switches in selection order, their nodes by position.

    Returns
    -------
    node : ndarray of shape (pods,), int32
    share : ndarray of shape (pods,), int32
        Which share each of them belongs to.
    """
    table = switches.table
    s = table.n_switches
    wanted, turn = np.zeros((2, s), dtype=np.int64)
    for number, share in enumerate(plan.shares):
        wanted[share.switch] = share.n_pods
        turn[share.switch] = number
    free = np.flatnonzero(switches.free_node[table.nodes])
    owner = table.entry_switch[free]
    before = np.concatenate([[0], np.cumsum(switches.free)[:-1]])
    taken = np.arange(len(free)) - before[owner] < wanted[owner]
    entries, share_of = free[taken], turn[owner[taken]]
    order = np.lexsort((table.position[entries], share_of))
    return table.nodes[entries[order]], share_of[order].astype(np.int32)
