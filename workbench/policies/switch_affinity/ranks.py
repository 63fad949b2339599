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
    chosen = np.array([share.switch for share in plan.shares], dtype=np.int64)
    wanted = np.array([share.n_pods for share in plan.shares], dtype=np.int64)
    # Every node of the chosen switches, switch by switch; few of the cluster's where the job is small.
    sizes = table.start[chosen + 1] - table.start[chosen]
    ends = sizes.cumsum()
    share = np.repeat(np.arange(len(chosen)), sizes)
    entries = np.arange(len(share)) + (table.start[chosen] - ends + sizes)[share]
    free = switches.free_node.take(table.nodes[entries]).nonzero()[0]
    entries, share = entries[free], share[free]
    first = share.searchsorted(np.arange(len(chosen)))
    taken = (np.arange(len(share)) - first[share] < wanted[share]).nonzero()[0]
    entries, share = entries[taken], share[taken]
    order = np.lexsort((table.position[entries], share))
    return table.nodes[entries[order]], share[order].astype(np.int32)
