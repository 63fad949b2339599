"""Explanations of the switch-affinity policies: which rules were tried, and each switch with the pods it gets."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from workbench.model.counted import counted
from workbench.model.explanation import Recorder
from workbench.policies.switch_affinity.table import Switches

__all__ = ["tell", "tell_closest", "tell_whole"]


def tell(recorder: Recorder, switches: Switches, node: npt.NDArray[np.int32] | None) -> None:
    """Record for the explanation every switch, in configuration order, and the rules in the order they were tried.

    Parameters
    ----------
    switches : Switches
        The switches as the rules found them.
    node : ndarray of shape (p,), int32, optional
        Node of each pod of the job; None: the job stays pending.
    """
    table = switches.table
    taken = np.zeros(table.n_switches, dtype=np.int64)
    if node is not None:
        switch = table.node_switch[node]
        taken = np.bincount(switch[switch >= 0], minlength=table.n_switches)
    for i in range(table.n_switches):
        said = switches.describe(i).removeprefix(f"{table.names[i]} (").removesuffix(")")
        kept = bool(taken[i])
        takes = f"takes {counted(int(taken[i]), 'pod')}" if kept else "not used"
        recorder.domain(table.names[i], 1, kept, f"{said}: {takes}")
    for step in switches.steps or ():
        recorder.note(step)


def tell_whole(switches: Switches, shares: Iterable[tuple[int, int]], following: int) -> None:
    """Add a text for the explanation: the idle switches that a job fills completely, and where the rule stops.

    Parameters
    ----------
    switches : Switches
        Receives the notes.
    shares : iterable of (int, int)
        Switch and number of pods, one pair for each filled switch.
    following : int
        The next switch, which the remaining pods would not fill; -1: there is none.
    """
    for switch, taken in shares:
        switches.say(
            f"idle rule: {counted(taken, 'pod fills', 'pods fill')} {switches.describe(switch)}, now exclusive"
        )
    if following >= 0:
        switches.say(f"idle rule: stop at {switches.describe(following)}, which would not be full")


def tell_closest(switches: Switches, shares: Iterable[tuple[int, int]], n_pods: int) -> None:
    """Add a text for the explanation: the one or two switches to which the shared-switch rule gives pods.

    Parameters
    ----------
    switches : Switches
        Receives the notes.
    shares : iterable of (int, int)
        Switch and number of pods.
    n_pods : int
        Number of pods that the rule had to place; the text compares it with the free nodes of the switches.
    """
    for switch, taken in shares:
        switches.say(f"shared rule: {counted(taken, 'pod')} to {switches.describe(switch)}, closest to {n_pods}")
