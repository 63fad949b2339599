"""What is told to whoever wants to know why: the steps of the rules, and every switch with its part in the answer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.model.explanation import Recorder
from workbench.policies.switch_affinity.table import Switches

__all__ = ["tell"]


def tell(recorder: Recorder, switches: Switches, node: npt.NDArray[np.int32] | None) -> None:
    """Record the switches in configuration order and the steps in theirs.

    Parameters
    ----------
    recorder : Recorder
    switches : Switches
        As the rules found them.
    node : ndarray of int32, optional
        Nodes of the job's pods; None: it stays pending.
    """
    table = switches.table
    taken = np.zeros(table.n_switches, dtype=np.int64)
    if node is not None:
        switch = table.node_switch[node]
        taken = np.bincount(switch[switch >= 0], minlength=table.n_switches)
    for i in range(table.n_switches):
        said = switches.describe(i).removeprefix(f"{table.names[i]} (").removesuffix(")")
        kept = bool(taken[i])
        recorder.domain(table.names[i], 1, kept, f"{said}: {f'takes {taken[i]} pods' if kept else 'not used'}")
    for step in switches.steps or ():
        recorder.note(step)
