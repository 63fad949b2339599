"""From shares of switches to a node for each rank.

Source: reference/switch-affinity.md 3 (the plugin's code; the document is silent, ambiguity A9).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.kernels.switches import first_free
from workbench.policies.switch_affinity.table import Plan, Switches

__all__ = ["nodes_by_rank"]


def nodes_by_rank(switches: Switches, plan: Plan) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Nodes of a plan in the order of the ranks.

    Of each switch the first free nodes in configuration order; switches in selection order, their nodes by position.

    Parameters
    ----------
    switches : Switches
    plan : Plan
        With at least one share.

    Returns
    -------
    node : ndarray of shape (pods,), int32
    share : ndarray of shape (pods,), int64
        Which share each of them belongs to.
    """
    table = switches.table
    chosen, wanted, *_ = zip(*plan.shares, strict=True)
    return first_free(
        np.array(chosen), np.array(wanted), switches.free_node, table.start, table.nodes, table.by_position
    )
