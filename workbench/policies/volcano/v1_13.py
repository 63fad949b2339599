"""`volcano-1.13`: what the design document and the article on 1.13 describe, as the release does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.model.placement import Reason
from workbench.model.topology import Topology
from workbench.policies.base import Assignment, Declined, NodePolicy, Request
from workbench.policies.demand import node_reasons
from workbench.policies.reasons import fit_reason, gang_text, topology_not_ready
from workbench.policies.volcano.allocate import Pass, Workplace, allocate_flat, record_nodes
from workbench.policies.volcano.record import NO_RECORD, UNKNOWN_RECORD, read_record, widen
from workbench.policies.volcano.scores import TopologyParameters, score_weights, topology_scores_1_13
from workbench.policies.volcano.search import HardSearch, Turn

__all__ = ["Volcano113"]

Longs = npt.NDArray[np.int64]

#: highestTierAllowed of a hard job that gives none: the default of 1.13's schema (DESIGN decision 10).
DEFAULT_HIGHEST_TIER = 1


class Volcano113(NodePolicy):
    """Hard jobs by `HardSearch`, soft jobs by scores and record, plain jobs as `allocate`.

    Within one call of `place` a gang gets its minimum first and then its other pods, one per turn. In Volcano turns of
    different jobs may alternate.

    Notes
    -----
    Source: volcano-topology.md 4, 5.1 to 5.3, 7.1 for 1.13. Ties: the smallest name (DESIGN decision 5).
    """

    name = "volcano-1.13"
    monotone = True

    def __init__(self, parameters: TopologyParameters) -> None:
        self._parameters = parameters

    @property
    def parameters(self) -> Mapping[str, Any]:
        return asdict(self._parameters)

    def assign(self, request: Request) -> Assignment | Declined:
        constraint = request.gang.constraint
        if constraint is None:
            return self._plain(request)
        if constraint.mode == "soft":
            return self._soft(request)
        if constraint.mode == "hard":
            return self._hard(request)
        answer = self._plain(request)
        answer.warnings = (*answer.warnings, "networkTopology has no mode: volcano-1.13 takes the job as a plain one")
        return answer

    def _workplace(self, request: Request, *, topology: bool) -> Workplace:
        return Workplace(
            request,
            score_weights(self._parameters, request.snapshot.resources),
            self._parameters.gpu_weight,
            request.demand.idle,
            request.ledger.used,
            request.snapshot.topology.leaf_of_node if topology else None,
        )

    def _plain(self, request: Request) -> Assignment | Declined:
        workplace = self._workplace(request, topology=False)
        return allocate_flat(workplace, *workplace.fill(_all_nodes(request)))

    def _soft(self, request: Request) -> Assignment | Declined:
        topology = request.snapshot.topology
        workplace = self._workplace(request, topology=True)
        fill, shapes = workplace.fill(_all_nodes(request))
        leaves = fill.groups
        record = read_record(request.gang.record, topology)
        fill.set_topology(
            topology_scores_1_13(topology, self._parameters.weight),
            record=record,
            tasks_in_group=np.where(leaves >= 0, _running_on_leaf(request)[leaves], 0),
            total_tasks=request.progress().total,
            update_record=True,
        )
        answer = allocate_flat(workplace, fill, shapes)
        answer.warnings = (*answer.warnings, *_record_warnings(request, record))
        if isinstance(answer, Assignment) and fill.record >= 0:
            answer.record, answer.has_record = fill.record, True
        return answer

    def _hard(self, request: Request) -> Assignment | Declined:
        gang, topology = request.gang, request.snapshot.topology
        if not topology.ready:
            return Declined((topology_not_ready(topology),))
        highest, warnings = _highest_tier(request)
        workplace = self._workplace(request, topology=True)
        record = read_record(gang.record, topology)
        warnings += _record_warnings(request, record)
        on_leaf = _running_on_leaf(request)
        scores = topology_scores_1_13(topology, self._parameters.weight)
        progress = request.progress()
        search = HardSearch(workplace, scores, highest, on_leaf, progress.total)
        node = np.full(gang.n_pods, -1, dtype=np.int32)
        score = 0.0
        recorder = request.recorder
        turns = 0
        while sum(progress.left):
            turns += 1
            # Later turns ask the same domains for one pod more: a note each says enough.
            turn = search.turn(progress, record, recorder if turns == 1 else None)
            if recorder is not None:
                recorder.note(_turn_note(turns, turn, topology))
                if turns == 1 and turn is not None:
                    record_nodes(workplace, *workplace.fill(topology.nodes_of(turn.domain)))
            if turn is None:
                break
            if workplace.idle is request.demand.idle:
                workplace.idle, workplace.used = workplace.idle.copy(), workplace.used.copy()
            _write(turn.done, request, node, workplace, on_leaf)
            progress = turn.done.progress
            record = widen(record, turn.domain, topology)
            score += float(sum(float(s.sum()) for s in turn.done.scores))
        if not progress.ready:
            return _declined(request, search, highest, record, warnings)
        everywhere = _all_nodes(request)
        reasons = {}
        for role in request.demand.order:
            first = int(gang.role_start[role])
            if (node[first : first + gang.roles[role].count] < 0).any():
                causes = node_reasons(request.demand, role, workplace.idle, everywhere)
                inside = Reason("no-domain", f"no HyperNode of tier <= {highest} near the record holds one more pod")
                reasons[role] = (inside, *causes)
        return Assignment(
            node,
            reasons,
            record=record if record >= 0 else -1,
            has_record=record >= 0,
            score=score,
            warnings=warnings,
        )


def _all_nodes(request: Request) -> npt.NDArray[np.int32]:
    return np.arange(request.snapshot.n_nodes, dtype=np.int32)


def _turn_note(number: int, turn: Turn | None, topology: Topology) -> str:
    if turn is None:
        return f"turn {number}: no HyperNode chosen"
    pods = "1 pod" if turn.done.n_placed == 1 else f"{turn.done.n_placed} pods"
    return f"turn {number}: {pods} in {topology.domain_names[turn.domain]}"


def _running_on_leaf(request: Request) -> Longs:
    """Running pods of the gang by leaf: int64 of shape (d,); one entry more when there is no domain."""
    topology = request.snapshot.topology
    counts = np.zeros(max(topology.n_domains, 1), dtype=np.int64)
    if request.gang.ready or request.gang.record:
        for pod in request.snapshot.running:
            if pod.gang == request.gang.key and pod.node >= 0:
                leaf = int(topology.leaf_of_node[pod.node])
                if leaf >= 0:
                    counts[leaf] += 1
    return counts


def _write(done: Pass, request: Request, node: npt.NDArray[np.int32], workplace: Workplace, on_leaf: Longs) -> None:
    """Enter the pods of a turn: their nodes, what they take, and that their leaves hold them."""
    leaf_of = request.snapshot.topology.leaf_of_node
    for role, nodes in done.placed:
        first = int(request.gang.role_start[role])
        count = request.gang.roles[role].count
        first += int((node[first : first + count] >= 0).sum())
        node[first : first + len(nodes)] = nodes
        np.subtract.at(workplace.idle, nodes, request.demand.rows[role])
        np.add.at(workplace.used, nodes, request.demand.rows[role])
        leaves = leaf_of[nodes]
        np.add.at(on_leaf, leaves[leaves >= 0], 1)


def _highest_tier(request: Request) -> tuple[int, tuple[str, ...]]:
    constraint = request.gang.constraint
    assert constraint is not None
    if constraint.highest_tier is not None:
        return constraint.highest_tier, ()
    name = constraint.highest_tier_name
    cause = f"highestTierName '{name}' is not known to volcano-1.13" if name else "hard without highestTierAllowed"
    return DEFAULT_HIGHEST_TIER, (f"{cause}: its default {DEFAULT_HIGHEST_TIER} applies",)


def _record_warnings(request: Request, record: int) -> tuple[str, ...]:
    if record != UNKNOWN_RECORD:
        return ()
    return (f"the recorded HyperNode '{request.gang.record}' does not exist",)


def _declined(request: Request, search: HardSearch, highest: int, record: int, warnings: tuple[str, ...]) -> Declined:
    """Why no domain will do: which came closest, and the texts that Volcano would write."""
    topology, demand = request.snapshot.topology, request.demand
    progress = request.progress()
    needs = max(progress.missing, 1)
    misses = tuple(search.misses[tier] for tier in sorted(search.misses))
    pods = "1 pod" if needs == 1 else f"{needs} pods"
    # A pod that fits on no node at all is the plainest reason there is.
    reasons = [
        fit_reason(request, role, demand.idle)
        for role in demand.order
        if not demand.capacity(role, demand.idle, 1).any()
    ]
    if misses:
        best = max(misses, key=lambda miss: (miss.holds, -miss.tier))
        text = f"no HyperNode of tier <= {highest} holds {pods}: "
        text += f"best {best.domain} (tier {best.tier}) holds {best.holds} of {needs}"
        if record != NO_RECORD:
            text += f"; the job is recorded in {request.gang.record}"
        reasons.append(Reason("no-domain", text, int((topology.tier <= highest).sum())))
    elif record != NO_RECORD:
        text = f"no HyperNode of tier <= {highest} meets the recorded {request.gang.record} at an allowed tier"
        reasons.append(Reason("record-too-far", text, int((topology.tier <= highest).sum())))
    else:
        text = f"there is no HyperNode of tier <= {highest}"
        reasons.append(Reason("no-domain", text, 0))
    if search.last_tried >= 0:
        # Upstream's text describes the domain tried last.
        nodes = topology.nodes_of(search.last_tried)
        fill, shapes = search.workplace.fill(nodes)
        done = Pass.run(fill, shapes, nodes, progress, stop_when_ready=True)
        idle = demand.idle.copy()
        idle[nodes] = fill.idle
        role = done.failed[0] if done.failed else demand.order[0]
        reasons.append(gang_text(request, needs, role, idle, nodes))
    return Declined(tuple(reasons), misses, warnings)
