"""`audit`: one gang, as a cluster placed it and as a policy would have placed it; `audit_waiting`: those that wait.

`by_loss` and `loss_sentence` sort running gangs by how much farther apart they sit than necessary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.evaluate.audit.loss import MeetingPlace, meeting_place, node_indices, pairs_beyond
from workbench.evaluate.whatif.advice import advise_session
from workbench.evaluate.whatif.fix import FixReport
from workbench.model.counted import counted, name_list
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang
from workbench.model.kube_group import KubeGroup
from workbench.model.kueue_request import KueueRequest
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology, place_name
from workbench.policies.contract import Policy

__all__ = ["NOT_TRIED", "Audit", "Observed", "audit", "audit_session", "audit_waiting", "by_loss", "loss_sentence"]

#: Node of each pod of a gang, by the pod's name; None: the cluster gave it none.
Observed = Mapping[str, str | None]
#: `Audit.observed_verdict` of a gang of which the cluster does not say that a scheduler has tried it.
NOT_TRIED = "not tried"


@dataclass(frozen=True, eq=False)
class Audit:
    """A gang, as a cluster placed it and as a policy would have placed it at the same moment.

    Attributes
    ----------
    verdict, observed_verdict : {"placed", "pending", "not tried"}
        What the policy says, and what the cluster did; only the latter may be "not tried".
    pods, observed_pods : int
        Number of pods with a node.
    domain : str, optional
        HyperNode that the policy chose; None if it chose none.
    observed_domain : str, optional
        HyperNode that the cluster chose, as its placement tells: the one of `tied_hypernodes` that holds the gang's
        minimum, otherwise the smallest that holds all placed pods. None: nothing was placed.
    tied_hypernodes : tuple of str
        HyperNodes among which only chance or the name decided, by the policy; empty for a gang without a topology
        constraint and for a policy that scores no HyperNodes.
    difference : str
        What differs, in words; empty: the cluster did what the policy would have done, or chose another of those tied,
        or has not tried the gang.
    is_in : MeetingPlace, optional
        The closest HyperNode that holds all pods of the gang as the cluster placed them; None: nothing was placed.
    could_be_in : MeetingPlace, optional
        The same for these pods as the policy places them; None if it places fewer of them.
    pairs, pairs_beyond : int
        Number of pairs of pods that the cluster placed, and of those whose nodes meet only above the tier of
        `could_be_in`.
    loses : tuple of str
        Other gangs of a session, ``namespace/name``, of which the policy places fewer pods than the cluster did.
    reasons : tuple of Notice
        Of a gang that waits in the cluster: why the policy leaves it pending, too.
    advice : FixReport, optional
        Of such a gang: the cause and what would help; None for the gangs beyond those that are reported on.
    """

    gang: Gang
    policy: str
    verdict: str
    observed_verdict: str
    pods: int
    observed_pods: int
    domain: str | None
    observed_domain: str | None
    tied_hypernodes: tuple[str, ...]
    difference: str
    is_in: MeetingPlace | None = None
    could_be_in: MeetingPlace | None = None
    pairs_beyond: int = 0
    loses: tuple[str, ...] = ()
    reasons: tuple[Notice, ...] = ()
    advice: FixReport | None = None

    @property
    def pairs(self) -> int:
        return self.observed_pods * (self.observed_pods - 1) // 2

    @property
    def could_be_closer(self) -> bool:
        """Whether the policy places the gang in a HyperNode of a closer tier than the cluster did; see `loses`."""
        return self.is_in is not None and self.could_be_in is not None and self.could_be_in.tier < self.is_in.tier

    @property
    def agrees(self) -> bool:
        """Whether the cluster could have decided as it did by the rules of the policy."""
        return not self.difference

    def to_dict(self) -> dict[str, Any]:
        return {
            "job": self.gang.key,
            "policy": self.policy,
            "verdict": self.verdict,
            "observed_verdict": self.observed_verdict,
            "pods": self.pods,
            "observed_pods": self.observed_pods,
            "domain": self.domain,
            "observed_domain": self.observed_domain,
            "equals": list(self.tied_hypernodes),
            "agrees": self.agrees,
            "difference": self.difference,
            "is_in": None if self.is_in is None else self.is_in.to_dict(),
            "could_be_in": None if self.could_be_in is None else self.could_be_in.to_dict(),
            "could_be_closer": self.could_be_closer,
            "loses": list(self.loses),
            "pairs": self.pairs,
            "pairs_beyond": self.pairs_beyond,
        }


def audit(
    gangs: Sequence[Gang],
    snapshot: ClusterSnapshot,
    at: int,
    observed: Observed,
    policy: Policy,
    *,
    equal_places: bool = False,
) -> Audit:
    """Ask a policy what it would have done with a gang, and compare with what a cluster did.

    Parameters
    ----------
    gangs : sequence of Gang
        All gangs that waited at that moment.
    snapshot : ClusterSnapshot
        The cluster at that moment, without the gang.
    at : int
        Position of the gang in `gangs`.
    observed : mapping of str to str or None
        Node of each of its pods; a node that the snapshot does not have counts as one outside all HyperNodes.
    equal_places : bool
        Count another HyperNode of the tier that the policy reaches as agreement, even if its rules exclude it now; they
        may have allowed it when the decision was made.

    Notes
    -----
    A real scheduler takes one of several equal HyperNodes at random. The placements agree if the verdict and the number
    of pods are the same and, for a gang with a topology constraint, one of those tied holds the gang's minimum.
    """
    recorders = _recorders({at: gangs[at]})
    decision = policy.schedule(gangs, snapshot, recorders)[at]
    return _told(decision, recorders.get(at), snapshot.topology, observed, policy, equal_places)


def audit_session(
    gangs: Sequence[Gang], snapshot: ClusterSnapshot, observed: Mapping[int, Observed], policy: Policy
) -> list[Audit]:
    """Ask a policy in one session what it would have done with gangs that waited together, and compare each.

    `gangs`: all gangs that waited at that moment. `snapshot`: the cluster at that moment, without them. `observed`: by
    the position in `gangs` of each gang that is compared: the node of each of its pods. One audit for each of
    `observed`, in its order, made as by `audit`.
    """
    recorders = _recorders({at: gangs[at] for at in observed})
    decisions = policy.schedule(gangs, snapshot, recorders)
    fewer = [
        at for at in observed if _n_placed(decisions[at]) < sum(node is not None for node in observed[at].values())
    ]
    found = []
    for at in observed:
        loses = tuple(sorted((gangs[other].key for other in fewer if other != at), key=str.encode))
        found.append(_told(decisions[at], recorders.get(at), snapshot.topology, observed[at], policy, loses=loses))
    return found


def _n_placed(decision: Decision) -> int:
    return decision.result.n_placed if isinstance(decision.result, Placement) else 0


def audit_waiting(
    gangs: Sequence[Gang],
    snapshot: ClusterSnapshot,
    tried: Sequence[bool],
    policy: Policy,
    advise: Callable[[Policy, Sequence[Decision], ClusterSnapshot], Mapping[str, FixReport]] = advise_session,
) -> list[Audit]:
    """Ask a policy what it would do, in one session, with the gangs that wait in a cluster.

    One audit for each gang, in the order of the gangs, with `Audit.reasons` and `Audit.advice`.

    Parameters
    ----------
    gangs : sequence of Gang
        All gangs that wait.
    tried : sequence of bool
        Whether the cluster says of each gang that a scheduler found no place for it; otherwise no scheduler may have
        come to it yet, and nothing differs.
    advise : callable
        Called with the policy, its decisions and the snapshot; answers with reports on pending gangs, by
        ``namespace/name``.
    """
    recorders = _recorders(dict(enumerate(gangs)))
    found = []
    decisions = policy.schedule(gangs, snapshot, recorders)
    advice = advise(policy, decisions, snapshot)
    for i, decision in enumerate(decisions):
        told = _told(decision, recorders.get(i), snapshot.topology, {}, policy)
        if isinstance(decision.result, Refusal):
            told = replace(told, reasons=decision.result.reasons, advice=advice.get(decision.gang.key))
        found.append(told if tried[i] else replace(told, observed_verdict=NOT_TRIED, difference=""))
    return found


def _recorders(gangs: Mapping[int, Gang]) -> dict[int, Recorder]:
    """Recorders of the equal HyperNodes; without a topology constraint none are equal."""
    return {
        i: Recorder(ties_only=True)
        for i, gang in gangs.items()
        if gang.constraint is not None or any(group.constraint is not None for group in gang.sub_groups)
    }


def _told(
    decision: Decision,
    recorder: Recorder | None,
    topology: Topology,
    observed: Observed,
    policy: Policy,
    equal_places: bool = False,
    loses: tuple[str, ...] = (),
) -> Audit:
    """A decision beside what the cluster did with the gang; `loses` are gangs of which the policy places fewer pods."""
    gang = decision.gang
    placement = decision.result if isinstance(decision.result, Placement) else None
    chosen_nodes = placement.node[placement.node >= 0] if placement is not None else np.zeros(0, dtype=np.int32)
    pods = len(chosen_nodes)
    nodes = [node for node in observed.values() if node is not None]
    places = node_indices(topology, nodes)
    is_in = meeting_place(topology, places)
    there = _nodes_of_placed(placement, observed)
    could_be_in = None if there is None else meeting_place(topology, there)
    beyond = 0
    if is_in is not None and could_be_in is not None and is_in.tier > could_be_in.tier:
        beyond = pairs_beyond(topology, places, could_be_in.tier)
    tied = recorder.explanation(decision).tied_hypernodes if recorder is not None else ()
    chosen = _chosen(tied, gang, topology, places)
    told = Audit(
        gang=gang,
        policy=policy.name,
        verdict="placed" if pods else "pending",
        observed_verdict="placed" if nodes else "pending",
        pods=pods,
        observed_pods=len(nodes),
        domain=placement.hypernode or None if placement is not None else None,
        observed_domain=chosen or (is_in.hypernode if is_in is not None else None),
        tied_hypernodes=tied,
        difference="",
        is_in=is_in,
        could_be_in=could_be_in,
        pairs_beyond=beyond,
    )
    told = replace(told, loses=loses if told.could_be_closer else ())
    return replace(told, difference=_difference(told, chosen, equal_places))


def _nodes_of_placed(placement: Placement | None, observed: Observed) -> npt.NDArray[np.int32] | None:
    """Nodes that the policy gives to the pods that have one in the cluster, int32 (p,); None if it places fewer."""
    if placement is None:
        return None
    names = {name for name, node in observed.items() if node is not None}
    known = placement.gang.pod_names(np.arange(placement.gang.n_pods))
    mine = np.array([name in names for name in known], dtype=np.bool_)
    nodes = placement.node[mine] if int(mine.sum()) == len(names) else placement.node
    nodes = nodes[nodes >= 0]
    return nodes if len(nodes) >= len(names) > 0 else None


def _difference(told: Audit, chosen: str | None, equal_places: bool) -> str:
    pods, observed = told.pods, told.observed_pods
    if not observed and not pods:
        return ""
    if not pods:
        return f"pending, but the cluster placed {counted(observed, 'pod')}"
    if not observed:
        return f"{counted(pods, 'pod')} placed, but the cluster placed none"
    if pods != observed:
        return f"{counted(pods, 'pod')} placed, but the cluster placed {observed}"
    here, there = told.is_in, told.could_be_in
    if here is None or there is None or chosen is not None:
        return ""
    if not told.tied_hypernodes and not (equal_places and _wants_to_be_close(told.gang) and told.could_be_closer):
        return ""
    others = [place_name(name) for name in told.tied_hypernodes if name != there.hypernode]
    equals = f" or its equal{'s' if len(others) > 1 else ''} {name_list(others)}" if others else ""
    where = f"{here} instead of {there}{equals}"
    if here.tier > there.tier:
        price = f"by the policy, which places fewer pods of {name_list(told.loses)}" if told.loses else "necessary"
        return f"farther apart than {price}: {where}"
    if here.tier < there.tier:
        return f"closer than by the policy: {where}"
    return "" if equal_places else f"as close, but not by the policy's rules: {where}"


def _wants_to_be_close(gang: Gang) -> bool:
    """Whether a gang asks Volcano, Kueue or kube-scheduler for a topology."""
    asks_kueue = any(role.topology is not None for role in gang.extra(KueueRequest).roles)
    return gang.constraint is not None or asks_kueue or bool(gang.extra(KubeGroup).topology_key)


def _chosen(tied: tuple[str, ...], gang: Gang, topology: Topology, places: npt.NDArray[np.int32]) -> str | None:
    """The first of some HyperNodes that holds as many of the pods as the gang needs; None: none does."""
    needed = min(max(gang.min_available, 1), len(places))
    for name in tied if len(places) else ():
        if int(np.isin(places, topology.nodes_of(topology.domain(name))).sum()) >= needed:
            return name
    return None


#: Gangs that a sentence names; the rest is counted.
_NAMED = 5


def by_loss(audits: Collection[Audit]) -> list[Audit]:
    """Gangs with the largest loss first: by pairs beyond, then by tiers lost, then by ``namespace/name``."""

    def loss(told: Audit) -> tuple[bool, int, int, bytes]:
        tiers = told.is_in.tier - told.could_be_in.tier if told.is_in and told.could_be_in else 0
        return not told.could_be_closer, -told.pairs_beyond, -max(tiers, 0), told.gang.key.encode()

    return sorted(audits, key=loss)


def loss_sentence(audits: Collection[Audit], *, recorded: bool = False) -> str:
    """How many placed gangs could be closer by one policy, and which, the largest loss first.

    Gangs that a policy places closer only where it places fewer pods of others are counted by themselves.

    `audits`: of gangs that have nodes, all by one policy. `recorded`: whether the gangs were placed in recorded
    sessions; otherwise they run now.
    """
    closer = [told for told in by_loss(audits) if told.could_be_closer and not told.loses]
    dear = [told for told in by_loss(audits) if told.could_be_closer and told.loses]
    of = counted(len(audits), "recorded placement" if recorded else "running gang")
    could = "could have been closer" if recorded else "could be closer"
    said = f"{len(closer)} of {of} {could}: {_moves(closer)}" if closer else f"none of {of} {could}"
    if dear:
        lost = list(dict.fromkeys(key for told in dear for key in told.loses))
        which = name_list(lost[:_NAMED]) if len(lost) <= _NAMED else counted(len(lost), "other gang")
        alone = "" if closer else " without a loss"
        said += f"{alone}; the policy places {len(dear)} closer, but fewer pods of {which}: {_moves(dear)}"
    return said


def _moves(closer: Sequence[Audit]) -> str:
    moves = [f"{told.gang.key} {_name(told.is_in)} → {_name(told.could_be_in)}" for told in closer[:_NAMED]]
    more = f" and {len(closer) - _NAMED:,} more" if len(closer) > _NAMED else ""
    return f"{', '.join(moves)}{more}"


def _name(place: MeetingPlace | None) -> str:
    return "" if place is None else place.name
