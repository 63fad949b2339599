"""`new_nodes`: the fewest new nodes with which a policy places a job that nothing else helps."""

from __future__ import annotations

import numpy as np

from workbench.evaluate.whatif.cluster_edits import AddNodes
from workbench.evaluate.whatif.edit import EditedSession
from workbench.evaluate.whatif.families import tightest_limit
from workbench.evaluate.whatif.trials import EditTrials
from workbench.model.placement import Refusal

__all__ = ["new_nodes"]

#: HyperNodes to which nodes are added by way of trial.
_PLACES = 4


def new_nodes(trials: EditTrials, refusal: Refusal) -> list[AddNodes]:
    """The smallest addition of nodes that places the job, for the first HyperNode where one does; empty if none does.

    The new nodes are copies of the existing node with most of what the largest pod asks for. They become members of
    the nearest HyperNodes without HyperNodes below them, or of none if the job has no constraint.
    """
    case = trials.base.case
    snapshot, topology, gang = case.snapshot, case.snapshot.topology, case.gang
    if not snapshot.n_nodes or not topology.laminar:
        return []
    like = _model(case)
    needed = max(gang.min_available - gang.ready, 1)
    wanted = max(needed, gang.n_pods)
    for hypernode in _places(case, refusal):
        present = len(topology.nodes_of(topology.domain(hypernode))) if hypernode else snapshot.n_nodes
        names = _names(case, like, wanted)

        def edit(count: int, at: str = hypernode, now: int = present, new: tuple[str, ...] = names) -> AddNodes:
            return AddNodes(at, like, now, new[:count])

        if not trials.works((edit(wanted),)):
            continue
        low, high = 1, wanted
        while low < high:
            middle = (low + high) // 2
            if trials.works((edit(middle),)):
                high = middle
            else:
                low = middle + 1
        return [edit(high)]
    return []


def _model(case: EditedSession) -> str:
    """Name of the node that new nodes copy: it accepts the largest pod and offers most of what that asks for."""
    snapshot, gang = case.snapshot, case.gang
    rows, _ = gang.rows_for(snapshot.resources)
    role = max(range(len(gang.roles)), key=lambda i: (tuple(rows[i][::-1]), -i))
    asked = rows[role] > 0
    fits = (snapshot.allocatable[:, asked] // rows[role][asked]).min(axis=1) if asked.any() else np.zeros(1, int)
    labels = np.ones(snapshot.n_nodes, dtype=np.bool_)
    for requirement in gang.roles[role].filter.required:
        labels &= snapshot.labels.mask(requirement)
    keys = (snapshot.topology.node_rank, -np.broadcast_to(fits, labels.shape), ~labels)
    return snapshot.topology.node_names[int(np.lexsort(keys)[0])]


def _places(case: EditedSession, refusal: Refusal) -> list[str]:
    """Names of HyperNodes to which nodes are added by way of trial, nearest first; an empty name stands for none."""
    topology = case.snapshot.topology
    if tightest_limit(case.gang, topology) is None:
        return [""]
    misses = sorted(refusal.nearest_misses, key=lambda miss: (-miss.holds, miss.tier, miss.domain.encode()))
    near = [topology.domain(miss.domain) for miss in misses if topology.has_domain(miss.domain)]
    near += sorted(range(topology.n_domains), key=lambda j: (int(topology.tier[j]), j))
    leaves = dict.fromkeys(_leaf(case, domain) for domain in near)
    return [topology.domain_names[j] for j in leaves][:_PLACES]


def _leaf(case: EditedSession, domain: int) -> int:
    """The first HyperNode below a HyperNode, or itself, that has no HyperNodes as members."""
    below = case.snapshot.topology.children
    while len(below[domain]):
        domain = int(below[domain][0])
    return domain


def _names(case: EditedSession, like: str, count: int) -> tuple[str, ...]:
    taken = set(case.snapshot.topology.node_names)
    names: list[str] = []
    number = 0
    while len(names) < count:
        number += 1
        name = f"{like}-new-{number}"
        if name not in taken:
            names.append(name)
    return tuple(names)
