"""Switch affinity 1.0: a leaf switch serves at most one job that has pods under several switches; no states are kept.

A job gets full switches or *logical* ones, made of one node at each position from several switches.

Source: MindCluster documents and code (docs/reference/switch-affinity.md, section 4); the seed document has nothing of
it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.model.arrays import Ints, Mask
from workbench.model.counted import counted
from workbench.policies.switch_affinity.job_kind import JobKind
from workbench.policies.switch_affinity.table import NoPlan, Switches

__all__ = ["OpenSwitches", "place_1_0", "replace_1_0"]


@dataclass(frozen=True)
class OpenSwitches:
    """How other running jobs use each leaf switch: the two properties that switch affinity 1.0 asks for.

    `crossed`: ndarray of shape (s,), bool; whether a running job other than this one has pods both under the switch and
    elsewhere. `common_only`: ndarray of shape (s,), bool; whether every running job under the switch is a common job.
    """

    crossed: Mask
    common_only: Mask


def place_1_0(switches: Switches, kind: JobKind, n_pods: int, others: OpenSwitches) -> Ints | NoPlan:
    """Choose the nodes of a new job by switch affinity 1.0, in the order of the job's ranks.

    `switches`: the switches; only free nodes and positions are read. `kind`: {"foundation", "padding", "common"}.
    `n_pods`: pods of the job; each takes a node for itself. `others`: how other running jobs use each switch.
    """
    open_to_job = ~others.crossed | (switches.free >= n_pods)
    if kind == "common":
        open_to_job |= others.common_only
    open_to_job &= switches.free > 0
    per_switch = switches.table.nodes_per_switch
    if n_pods < per_switch or kind == "padding":
        switch = switches.smallest(open_to_job, n_pods)
        if switch >= 0:
            if switches.steps is not None:
                switches.say(f"one switch: {counted(n_pods, 'pod')} to {switches.name(switch)}")
            return _first(switches, switch, n_pods)
        if kind == "padding":
            return NoPlan("no-single-switch", "tor check failed not enough resource for job", n_pods)
    order = switches.descending(open_to_job)
    rows, last = (n_pods - 1) // per_switch, (n_pods - 1) % per_switch + 1
    # A switch that is larger than M counts with its first M nodes, as any full one.
    full = order[switches.free[order] >= per_switch]
    if rows + 1 <= len(full):
        if switches.steps is not None:
            switches.say(
                f"full switches: {rows} of {counted(per_switch, 'node')} and {counted(last, 'node')} of the next"
            )
        parts = [_first(switches, int(full[i]), per_switch if i < rows else last) for i in range(rows + 1)]
        return np.concatenate(parts)
    nodes = _logical(switches, order.tolist(), rows, last)
    if nodes is not None:
        return nodes
    if kind == "foundation":
        return NoPlan("no-logical-switch", "logicTor is illegal", n_pods)
    free = np.concatenate([_by_position(switches, i) for i in order.tolist()] or [np.zeros(0, dtype=np.int32)])
    if len(free) < n_pods:
        return NoPlan("not-enough-switches", "not enough node for normal job to schedule", n_pods - len(free))
    switches.say("any nodes: switch by switch, many free nodes first")
    taken: Ints = free[:n_pods]
    return taken


def _free_of(switches: Switches, switch: int) -> Ints:
    nodes = switches.table.nodes_of(switch)
    free: Ints = nodes[switches.free_node[nodes]]
    return free


def _by_position(switches: Switches, switch: int) -> Ints:
    free = _free_of(switches, switch)
    ordered: Ints = free[np.argsort(switches.table.node_position[free], kind="stable")]
    return ordered


def _first(switches: Switches, switch: int, count: int) -> Ints:
    """First ``count`` free nodes under a switch in configuration order, sorted by their position under it."""
    free = _free_of(switches, switch)[:count]
    ordered: Ints = free[np.argsort(switches.table.node_position[free], kind="stable")]
    return ordered


def _logical(switches: Switches, order: list[int], rows: int, last: int) -> Ints | None:
    """Nodes of ``rows`` full logical switches and one of ``last`` nodes.

    Logical switch i has the i-th free node of each position. Free nodes are counted over the switches in ``order``.
    None if too few are free.
    """
    per_switch = switches.table.nodes_per_switch
    columns: list[list[int]] = [[] for _ in range(per_switch)]
    for switch in order:
        for node in _by_position(switches, switch).tolist():
            position = int(switches.table.node_position[node])
            if position < per_switch:
                columns[position].append(node)
    by_count = sorted(range(per_switch), key=lambda p: -len(columns[p]))
    if len(columns[by_count[last - 1]]) < rows + 1 or (rows and len(columns[by_count[-1]]) < rows):
        switches.say("logical switches: some position has too few free nodes")
        return None
    if rows == 0:
        # Best fit: of the logical switches that hold the job the smallest, the first of several.
        sizes = [sum(len(column) > i for column in columns) for i in range(len(order))]
        chosen = min((size, i) for i, size in enumerate(sizes) if size >= last)[1]
        nodes = [columns[p][chosen] for p in by_count[:last]]
        positions = sorted(nodes, key=lambda node: int(switches.table.node_position[node]))
        return np.array(positions, dtype=np.int32)
    if switches.steps is not None:
        switches.say(f"logical switches: {rows} full ones and {counted(last, 'node')} of the next")
    found = []
    for i in range(rows + 1):
        of_row = sorted(by_count if i < rows else by_count[:last])
        found += [columns[p][i] for p in of_row]
    return np.array(found, dtype=np.int32)


def replace_1_0(switches: Switches, kind: JobKind, n_pods: int, survivors: Ints, others: OpenSwitches) -> Ints | NoPlan:
    """Choose new nodes for pods of a job whose nodes failed, by switch affinity 1.0.

    A node's position is its place among the nodes of its switch. New nodes are taken at the positions that the job's
    pods use least. Nodes under a switch are not taken if another job has pods both there and under other switches.

    Returns ndarray of shape (n_pods,), int32, or NoPlan: the new nodes. Each is taken at the position used least after
    the nodes before it; ties go to the node that comes first in the configuration. `NoPlan` for a padding job, or if no
    usable node is free at such a position.

    `kind`: {"foundation", "padding", "common"}; kind of the job; a padding job gets no replacement. `n_pods`: number of
    pods that need a new node. `survivors`: ndarray of shape (s,), int32; nodes of the pods that stay. `others`: how
    other running jobs use each switch.
    """
    if kind == "padding":
        return NoPlan("padding-restart", "large model job can not over tor", n_pods)
    table = switches.table
    uses = np.bincount(
        np.clip(table.node_position[survivors[table.node_switch[survivors] >= 0]], 0, table.nodes_per_switch - 1),
        minlength=table.nodes_per_switch,
    )
    usable = switches.free_node[table.nodes] & ~others.crossed[table.entry_switch]
    usable &= table.position < table.nodes_per_switch
    candidates = table.nodes[usable].tolist()
    found: list[int] = []
    for _ in range(n_pods):
        least = int(uses.min())
        node = next((node for node in candidates if uses[table.node_position[node]] == least), None)
        if node is None:
            return NoPlan("no-position", "node sliceId is not meet task require", n_pods - len(found))
        candidates.remove(node)
        found.append(node)
        uses[table.node_position[node]] += 1
        if switches.steps is not None:
            switches.say(f"position {int(table.node_position[node])} is used by {least} remaining pods: node {node}")
    return np.array(found, dtype=np.int32)
