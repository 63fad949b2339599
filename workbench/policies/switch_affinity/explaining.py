"""Explanations of the switch-affinity policies: rules that were tried, pods of each switch, and what is lacking."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from workbench.model.counted import counted
from workbench.model.explanation import Recorder
from workbench.model.notice import Notice
from workbench.model.placement import NearestMiss
from workbench.model.switch_book import SwitchBook
from workbench.model.topology import VIRTUAL_TOP
from workbench.policies.demand import node_reasons
from workbench.policies.request import Request
from workbench.policies.switch_affinity.table import NoPlan, Switches

__all__ = ["framework_warnings", "lacking_nodes", "nearest_misses", "tell", "tell_closest", "tell_whole"]


def tell(recorder: Recorder, switches: Switches, node: npt.NDArray[np.int32] | None) -> None:
    """Record for the explanation every switch, in configuration order, and the rules in the order they were tried.

    `switches`: the switches as the rules found them. `node`: ndarray of shape (p,), int32; node of each pod of the job;
    None: the job stays pending.
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

    `switches`: receives the notes. `shares`: iterable of (int, int); switch and number of pods, one pair for each
    filled switch. `following`: the next switch, which the remaining pods would not fill; -1: there is none.
    """
    for switch, taken in shares:
        switches.say(
            f"idle rule: {counted(taken, 'pod fills', 'pods fill')} {switches.describe(switch)}, now exclusive"
        )
    if following >= 0:
        switches.say(f"idle rule: stop at {switches.describe(following)}, which would not be full")


def tell_closest(switches: Switches, shares: Iterable[tuple[int, int]], n_pods: int) -> None:
    """Add a text for the explanation: the one or two switches to which the shared-switch rule gives pods.

    `switches`: receives the notes. `shares`: iterable of (int, int); switch and number of pods. `n_pods`: number of
    pods that the rule had to place; the text compares it with the free nodes of the switches.
    """
    for switch, taken in shares:
        switches.say(f"shared rule: {counted(taken, 'pod')} to {switches.describe(switch)}, closest to {n_pods}")


def lacking_nodes(request: Request, switches: Switches, book: SwitchBook) -> tuple[Notice, ...]:
    """Notices why nodes under switches do not take the job's pods, if too few do.

    The plugin's own texts do not mention them.
    """
    demand = request.demand
    n_pods = sum(request.gang.roles[role].count for role in demand.order)
    if int(switches.free.sum()) >= n_pods:
        return ()
    refused = (switches.table.node_switch >= 0) & (book.holders == 0) & ~switches.free_node
    nodes = np.flatnonzero(refused).astype(np.int32)
    found = (node_reasons(demand, role, demand.idle, nodes) for role in demand.order)
    return next((reasons for reasons in found if reasons), ())


def nearest_misses(switches: Switches, n_pods: int, found: NoPlan) -> tuple[NearestMiss, ...]:
    """The nearest misses of a job of ``n_pods`` pods: the switch with the most free nodes, whatever its state.

    Ties: the smallest name. A job that may cross switches has a second one, the cluster with all switches that are open
    to the job; it holds more pods than one switch does.
    """
    free = switches.free
    switch = min(np.flatnonzero(free == free.max()).tolist(), key=lambda one: switches.name(one).encode())
    one = NearestMiss(1, switches.name(switch), min(int(switches.free[switch]), n_pods), n_pods)
    across = NearestMiss(2, VIRTUAL_TOP, n_pods - found.missing, n_pods)
    return (one, across) if found.code == "not-enough-switches" and across.holds > one.holds else (one,)


def framework_warnings(framework: str) -> tuple[Notice, ...]:
    """A warning if the framework of a job is one that switch affinity does not support."""
    if framework in ("", "pytorch"):
        return ()
    text = f"switch affinity supports PyTorch only, the job's framework is {framework}"
    return (Notice("unsupported-framework", text),)
