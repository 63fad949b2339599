"""What `explain` says of HyperNodes and nodes, counted once more from the snapshot: checks yield what is untrue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.evaluate.compare import Comparison
from workbench.evaluate.differences import JobDifference
from workbench.evaluate.lost_places import LostPlace
from workbench.model.explanation import Candidate, Explanation
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang
from workbench.model.kueue_request import KueueRequest
from workbench.model.labels import CORDON_TAINT
from workbench.model.placement import Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import Policy


@dataclass(frozen=True)
class Explained:
    """One gang that a policy explained by itself; a check counts on the snapshot alone."""

    policy: Policy
    snapshot: ClusterSnapshot
    explanation: Explanation

    @property
    def gang(self) -> Gang:
        return self.explanation.decision.gang

    @cached_property
    def accepts(self) -> npt.NDArray[np.bool_]:
        """Nodes whose labels, taints and cordon let pods of the only role in."""
        snapshot, wanted = self.snapshot, self.gang.roles[0].filter
        found = ~snapshot.unschedulable & ~snapshot.not_ready
        for requirement in wanted.required:
            found = found & snapshot.labels.mask(requirement)
        return found & ~self.tainted

    @cached_property
    def tainted(self) -> npt.NDArray[np.bool_]:
        """Nodes with a taint that the only role does not tolerate."""
        taints, tolerated = self.snapshot.taints, self.gang.roles[0].filter.tolerations
        bad = [
            any(
                taint.effect != "PreferNoSchedule"
                and taint.key != CORDON_TAINT
                and not any(one.covers(taint) for one in tolerated)
                for taint in some
            )
            for some in taints.sets
        ]
        return np.array(bad, dtype=np.bool_)[taints.codes]

    @cached_property
    def fits(self) -> npt.NDArray[np.int64]:
        """Pods of the only role that each node has room for."""
        row = self.gang.rows_for(self.snapshot.resources)[0][0]
        asked = row > 0
        each: npt.NDArray[np.int64] = (np.maximum(self.snapshot.idle[:, asked], 0) // row[asked]).min(axis=1)
        return np.where(self.accepts, each, 0)

    def inside(self, name: str) -> npt.NDArray[np.bool_]:
        topology = self.snapshot.topology
        found = np.ones(topology.n_nodes, dtype=np.bool_)
        if topology.has_domain(name):
            found[:] = False
            found[topology.nodes_of(topology.domain(name))] = True
        return found

    def idle(self, resource: str, inside: npt.NDArray[np.bool_]) -> int:
        column = self.snapshot.resources.index(resource)
        return int(np.maximum(self.snapshot.idle[inside, column], 0).sum())


def untrue(asked: Explained) -> Iterator[str]:
    """Every statement of an explanation that does not hold, for a gang of one role by itself."""
    for candidate in asked.explanation.candidates:
        check = _node if candidate.kind == "node" else _domain
        for said in check(asked, candidate):
            yield f"{candidate.kind} {candidate.name}: {candidate.why}: {said}"
    for note in asked.explanation.notes:
        for said in _note(asked, note):
            yield f"{note}: {said}"
    result = asked.explanation.decision.result
    for miss in result.nearest_misses if isinstance(result, Refusal) else ():
        room = int(asked.fits[asked.inside(miss.domain)].sum())
        if miss.holds != min(room, miss.needs) or miss.needs not in (asked.gang.n_pods, asked.gang.min_available):
            yield f"{miss}: room for {room}"


_FITS = ("fits a pod", "fits the pod", "passes all filters", "the only node that passes")


def _node(asked: Explained, one: Candidate) -> Iterator[str]:
    at = asked.snapshot.topology.node(one.name)
    row = dict(zip(asked.snapshot.resources, asked.gang.rows_for(asked.snapshot.resources)[0][0].tolist(), strict=True))
    idle = dict(zip(asked.snapshot.resources, asked.snapshot.idle[at].tolist(), strict=True))
    if one.why.startswith(_FITS) and not asked.fits[at]:
        yield f"it has {idle}, a pod asks for {row}, accepted: {asked.accepts[at]}"
    if one.kept is False and asked.fits[at] and _one_node_decides(asked, one):
        yield f"it has room for {asked.fits[at]} pods"
    for name in re.findall(r"Insufficient (\S+)", one.why):
        if idle[name] >= row[name]:
            yield f"{idle[name]} idle, {row[name]} asked"
    for name, wanted, left in re.findall(r"(\S+): (\d+) asked, (\d+) idle", one.why):
        if (row[name], max(idle[name], 0)) != (int(wanted), int(left)):
            yield f"{row[name]} asked, {idle[name]} idle"
    if "untolerated taint" in one.why and not asked.tainted[at]:
        yield "it has none"
    if "were unschedulable" in one.why and not asked.snapshot.unschedulable[at]:
        yield "it is not cordoned"
    if "node affinity/selector" in one.why:
        required = asked.gang.roles[0].filter.required
        if all(asked.snapshot.labels.mask(each)[at] for each in required):
            yield "it matches"


def _one_node_decides(asked: Explained, one: Candidate) -> bool:
    """Whether a node is dropped for itself, not because others were chosen or pods keep apart."""
    other = ("outside", "not needed", "not in", "anti-affinity", "affinity rules", "spread", "GPUs", "enough")
    return not any(word in one.why for word in other)


def _domain(asked: Explained, one: Candidate) -> Iterator[str]:
    topology, gang, why = asked.snapshot.topology, asked.gang, one.why
    inside = asked.inside(one.name)
    if topology.has_domain(one.name) and one.tier != int(topology.tier[topology.domain(one.name)]):
        yield f"its tier is not {one.tier}"
    room = int(asked.fits[inside].sum())
    for tier, highest in re.findall(r"tier (\d+) above the highest allowed (\d+)", why):
        limit = gang.constraint.highest_tier if gang.constraint is not None else None
        if int(tier) != one.tier or int(highest) != limit or int(tier) <= int(highest):
            yield f"tier {one.tier}, allowed {limit}"
    for held, of in re.findall(r"(?:holds|room for) (\d+) of (\d+) pods?", why):
        if not _counts_slices(gang) and int(held) != min(room, int(of)):
            yield f"room for {room}"
        if int(of) not in (gang.n_pods, gang.min_available):
            yield f"{gang.n_pods} pods, {gang.min_available} needed"
    for held, needed in re.findall(r"holds (\d+) pods?, (\d+) needed", why):
        if not _counts_slices(gang) and int(held) != room:
            yield f"room for {room}"
        if int(needed) not in (gang.n_pods, gang.min_available):
            yield f"{gang.n_pods} pods, {gang.min_available} needed"
    for slots, of in re.findall(r"(\d+) slots? of (\d+)", why):
        if (int(slots), int(of)) != (room, gang.min_available) and int(of) != gang.n_pods:
            yield f"room for {room}, {gang.min_available} needed"
    for name, wanted, left in re.findall(r"([\w./-]+): (\d+) asked, (\d+) idle", why):
        yield from _asked_and_idle(asked, one, name, int(wanted), int(left))
    for bad, total in re.findall(r"(\d+) of (\d+) nodes do not accept", why):
        if (int((~asked.accepts[inside]).sum()), int(inside.sum())) != (int(bad), int(total)):
            yield f"{int((~asked.accepts[inside]).sum())} of {int(inside.sum())}"
    for pods in re.findall(r"^takes (\d+) pods?", why):
        if int(pods) > room:
            yield f"room for {room}"


def _counts_slices(gang: Gang) -> bool:
    """Whether Kueue counts whole slices instead of pods."""
    return any(role.topology is not None and role.topology.slices for role in gang.extra(KueueRequest).roles)


def _asked_and_idle(asked: Explained, one: Candidate, name: str, wanted: int, left: int) -> Iterator[str]:
    """A sum that a HyperNode lacks: what the pods, or minResources, ask for, and what is idle on its nodes."""
    gang = asked.gang
    row = int(gang.rows_for(asked.snapshot.resources)[0][0][asked.snapshot.resources.index(name)])
    minimum = (gang.extra(VolcanoMemory).min_resources or {}).get(name)
    if wanted not in (row * gang.n_pods, row * gang.min_available, minimum):
        yield f"{row} for each of {gang.n_pods} pods"
    if "no HyperNode of tier" in one.why:
        return
    inside = asked.inside(one.name)
    if left not in (asked.idle(name, inside), asked.idle(name, inside & asked.accepts)):
        yield f"{asked.idle(name, inside)} idle"
    if left >= wanted:
        yield "it has enough"


def _note(asked: Explained, note: str) -> Iterator[str]:
    result = asked.explanation.decision.result
    placed = result.n_placed if isinstance(result, Placement) else 0
    for held, of, few in re.findall(r"on all nodes: (\d+) of (\d+) pods? finds? a node(: too few)?", note):
        if bool(few) == bool(placed) or (placed and int(held) != placed) or int(of) > asked.gang.n_pods:
            yield f"{placed} pods of {asked.gang.n_pods} are placed"
        if few and int(held) != min(int(asked.fits.sum()), int(of)):
            yield f"room for {asked.fits.sum()}"
    for names in re.findall(r"^equal scores for the first pod: (.*)$", note):
        scores = {one.name: one.score for one in asked.explanation.nodes if one.score is not None}
        best = max(scores.values(), default=None)
        if set(names.split(", ")) != {name for name, score in scores.items() if score == best}:
            yield f"scores {scores}"
    for total, parts in re.findall(r"^0/(\d+) nodes are available: (.*)\.$", note):
        counts = [int(n) for n in re.findall(r"(?:^|, )(\d+) ", parts)]
        topology = asked.snapshot.topology
        sizes = {asked.snapshot.n_nodes, *(len(topology.nodes_of(j)) for j in range(topology.n_domains))}
        if int(total) not in sizes or (parts.count("Insufficient") < 2 and sum(counts) != int(total)):
            yield f"of {sorted(sizes)} nodes {counts}"


def untrue_differences(comparison: Comparison, found: Mapping[str, JobDifference]) -> Iterator[str]:
    """Jobs that policies place differently, and the pods that move, counted from the nodes of the placements."""
    for gang in comparison.gangs:
        nodes = [_nodes_by_role(comparison, row.policy, gang) for row in comparison.rows]
        if (gang.key in found) != any(one != nodes[0] for one in nodes):
            yield f"{gang.key}: said to differ is {gang.key in found}: {nodes}"
        if gang.key not in found:
            continue
        difference = found[gang.key]
        for row, mine, said, moves in zip(comparison.rows, nodes, difference.outcomes, difference.moves, strict=True):
            moved = {key: dict(counts) for key, counts in nodes[0].items()}
            for move in moves:
                held = moved[move.role]
                held[move.source] = held.get(move.source, 0) - move.pods
                held[move.target] = held.get(move.target, 0) + move.pods
            after = {role: {node: n for node, n in counts.items() if n} for role, counts in moved.items()}
            if after != mine:
                yield f"{gang.key}, {row.policy}: after {[move.text for move in moves]} pods are {after}, not {mine}"
            yield from _outcome(comparison, row.policy, gang, said)


def _nodes_by_role(comparison: Comparison, policy: str, gang: Gang) -> dict[str, dict[str, int]]:
    """Number of pods by role and node; the empty name stands for no node."""
    decision = comparison[policy].decision(gang.key)
    assert decision is not None
    found: dict[str, dict[str, int]] = {role.name: {} for role in gang.roles if role.count}
    for pod in range(gang.n_pods):
        role = gang.roles[int(gang.role_of_pod[pod])].name
        node = decision.result.node[pod] if isinstance(decision.result, Placement) else -1
        name = comparison.snapshot.topology.node_names[node] if node >= 0 else ""
        found[role][name] = found[role].get(name, 0) + 1
    return found


def _outcome(comparison: Comparison, policy: str, gang: Gang, said: str) -> Iterator[str]:
    decision = comparison[policy].decision(gang.key)
    assert decision is not None
    result = decision.result
    if (said == "pending") == decision.placed:
        yield f"{gang.key}, {policy}: said {said}, placed is {decision.placed}"
    for count in re.findall(r"(\d+) nodes?", said):
        if not isinstance(result, Placement) or len(set(result.node[result.node >= 0].tolist())) != int(count):
            yield f"{gang.key}, {policy}: said {said}"


def untrue_loss(comparison: Comparison, policy: Policy, lost: LostPlace) -> Iterator[str]:
    """A place that went to another job: without that job the policy gives the same nodes as the other policy does."""
    gangs = [gang for gang in comparison.gangs if gang.key != lost.to]
    decisions = policy.schedule(gangs, comparison.snapshot)
    (mine,) = [one for one in decisions if one.gang.key == lost.job]
    other = comparison[lost.place_by].decision(lost.job)
    assert other is not None and isinstance(other.result, Placement)
    wanted = sorted(other.result.node.tolist())
    got = sorted(mine.result.node.tolist()) if isinstance(mine.result, Placement) else None
    if got != wanted:
        yield f"{lost.text}: {got} instead of {wanted}"
