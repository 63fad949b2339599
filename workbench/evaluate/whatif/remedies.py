"""`advise`: what a pending job lacks, the HyperNode that nearly holds it, and changes that would let it run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.evaluate.switch_changes import after_session
from workbench.evaluate.whatif.edits import AllowTier, Edit, FreeResources, LowerMinimum, Together, Uncordon
from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.placement import Decision, NearestMiss, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import Policy

__all__ = ["MOST_ADVISED", "Advice", "advise", "advise_session", "nearest_first"]

#: Pending jobs of a session for which changes are tried where nobody says how many; a table shows no more.
MOST_ADVISED = 40

#: A job that lacks room for more pods than this is not helped by naming nodes.
_MOST_PODS = 64

#: Reasons that no change to this job or these nodes removes: they are about queues, configuration, or the input.
_BEYOND_EDITS = frozenset(
    {
        "fractional-gpus",
        "invalid-label",
        "no-switch-table",
        "not-admitted",
        "not-configured",
        "not-enough-pods",
        "queue-limit",
        "queue-overused",
        "queue-waits",
        "refused-by-admission",
        "topology-not-ready",
    }
)

#: Codes whose message is replaced in the headline, because the rest of the headline says the numbers.
_HEADLINES = {
    "no-domain": "no HyperNode that its constraint allows holds {pods}",
    "no-candidate": "no domain of the layer to gather in holds {pods}",
}


@dataclass(frozen=True, eq=False)
class Advice:
    """What a pending job lacks, which HyperNode came nearest to holding it, and changes that would help.

    Attributes
    ----------
    missing : str
        What is missing, in one phrase.
    nearest : NearestMiss, optional
        The HyperNode that can hold most of the pods (ties: the smallest tier); None if the policy names none.
    remedies : tuple of Edit
        Changes each of which is enough for the policy to place the job, the best one to try first; empty if no change
        that was tried helps.
    """

    missing: str
    nearest: NearestMiss | None
    remedies: tuple[Edit, ...]

    @property
    def headline(self) -> str:
        """The advice in one line: what is missing, the nearest HyperNode, and up to two remedies.

        The nearest HyperNode is left out if it has room for all pods needed; `missing` then says why it was refused.
        """
        parts = [self.missing]
        if self.nearest is not None and self.nearest.holds < self.nearest.needs:
            near = self.nearest
            parts.append(f"nearest: {near.domain} (tier {near.tier}) holds {near.holds} of {near.needs}")
        if self.remedies:
            parts.append(f"would help: {', or '.join(edit.text for edit in self.remedies[:2])}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """The advice as a JSON-ready dict with headline, missing and remedies."""
        return {
            "headline": self.headline,
            "missing": self.missing,
            "remedies": [edit.to_dict() for edit in self.remedies],
        }


def advise(policy: Policy, refusal: Refusal, snapshot: ClusterSnapshot) -> Advice:
    """Say what a pending job lacks, and find changes to the job or the cluster with which the policy places it.

    Four kinds of change are tried, each by itself: freeing resources in the nearest HyperNode if possible, allowing the
    smallest higher tier, uncordoning nodes of the nearest HyperNode, and lowering the minimum to what the nearest
    HyperNode can hold. If none helps, a higher tier is tried together with freeing resources there.

    Parameters
    ----------
    policy : Policy
        The policy that refused.
    refusal : Refusal
    snapshot : ClusterSnapshot
        The cluster in which the changes are tried: as a rule after the jobs that the policy did place have started
        (`workbench.evaluate.switch_changes.after_session`).

    Returns
    -------
    Advice
        Has no remedies if the reason for the refusal is a queue, the configuration or the input.
    """
    codes = {reason.code for reason in refusal.reasons}
    if codes & _BEYOND_EDITS:
        return Advice(_missing(refusal, None), None, ())
    # Jobs that came later in the session may have taken what was free when this one was refused.
    again = policy.place(refusal.gang, snapshot.ledger())
    now = again if isinstance(again, Refusal) else refusal
    misses = nearest_first(now)
    found = tuple(_helpful(policy, refusal.gang, misses, snapshot))
    if not found:
        found = tuple(islice(_helpful_together(policy, refusal.gang, snapshot), 1))
    nearest = misses[0] if misses else None
    return Advice(_missing(now, nearest), nearest, found)


def advise_session(
    policy: Policy, decisions: Sequence[Decision], snapshot: ClusterSnapshot, most: int = MOST_ADVISED
) -> dict[str, Advice]:
    """Advice for the pending jobs of a scheduling session: what each lacks, and which changes would help.

    Parameters
    ----------
    policy : Policy
        The policy of the session.
    decisions : sequence of Decision
        All decisions of the session; changes are tried after the jobs that it placed have started.
    snapshot : ClusterSnapshot
        The cluster when the session began.
    most : int
        Pending jobs to advise at most, the first ones in the order of the decisions.

    Returns
    -------
    dict of str to Advice
        Advice by the job's ``namespace/name``.
    """
    refused = [d.result for d in decisions if isinstance(d.result, Refusal)][:most]
    if not refused:
        return {}
    after = after_session(snapshot, decisions)
    return {refusal.gang.key: advise(policy, refusal, after) for refusal in refused}


def nearest_first(refusal: Refusal) -> list[NearestMiss]:
    """A refusal's nearest HyperNodes, sorted: first the one that holds the largest part of the pods.

    Ties: smaller tier.
    """
    return sorted(refusal.nearest_misses, key=lambda miss: (-miss.holds / max(miss.needs, 1), miss.tier))


def _missing(refusal: Refusal, nearest: NearestMiss | None) -> str:
    by_code = {reason.code: reason for reason in reversed(refusal.reasons)}
    for code, text in _HEADLINES.items():
        if code in by_code and nearest is not None:
            if nearest.holds >= nearest.needs:
                return by_code[code].message  # room is not what is missing
            return text.format(pods=counted(nearest.needs, "pod"))
    if "gang-incomplete" in by_code:
        return by_code["gang-incomplete"].message
    return refusal.reasons[0].message if refusal.reasons else "the policy gives no reason"


def _helpful(policy: Policy, gang: Gang, misses: Sequence[NearestMiss], snapshot: ClusterSnapshot) -> Iterator[Edit]:
    """The first change of each kind with which the policy places the gang.

    `misses` begins with the nearest HyperNode.
    """
    nearest = misses[0] if misses else None
    to_free = (edit for miss in misses or (None,) for edit in _to_free(gang, miss, snapshot))
    for edits in (to_free, _tiers(gang, snapshot), _cordoned(nearest, snapshot)):
        for edit in edits:
            if _helps(policy, edit, gang, snapshot):
                yield edit
                break
    if nearest is not None and 0 < nearest.holds < nearest.needs:
        fewer = LowerMinimum(gang.min_available - (nearest.needs - nearest.holds))
        if fewer.min_available > 0 and _helps(policy, fewer, gang, snapshot):
            yield fewer


def _helpful_together(policy: Policy, gang: Gang, snapshot: ClusterSnapshot) -> Iterator[Edit]:
    """Changes that allow a higher tier and free resources there, smallest tier first."""
    for tier in _tiers(gang, snapshot):
        wider, _ = tier.apply(gang, snapshot)
        refused = policy.place(wider, snapshot.ledger())
        for miss in nearest_first(refused) if isinstance(refused, Refusal) else ():
            for to_free in _to_free(wider, miss, snapshot):
                both = Together((tier, to_free))
                if _helps(policy, both, gang, snapshot):
                    yield both


def _helps(policy: Policy, edit: Edit, gang: Gang, snapshot: ClusterSnapshot) -> bool:
    check()
    changed, cluster = edit.apply(gang, snapshot)
    return isinstance(policy.place(changed, cluster.ledger()), Placement)


def _tiers(gang: Gang, snapshot: ClusterSnapshot) -> Iterator[Edit]:
    """Changes that allow each tier above the limit of the job or of a sub-group, the virtual top's last."""
    constraints = [gang.constraint, *(group.constraint for group in gang.sub_groups)]
    limits = [c.highest_tier for c in constraints if c is not None and c.mode != "soft" and c.highest_tier is not None]
    if limits:
        tiers = (*snapshot.topology.tiers, snapshot.topology.top_tier)
        yield from (AllowTier(tier) for tier in sorted(set(tiers)) if tier > min(limits))


def _nodes_near(nearest: NearestMiss | None, snapshot: ClusterSnapshot) -> npt.NDArray[np.int32]:
    """Indices of the nodes of the nearest HyperNode; all nodes if the policy names none, or for the virtual top."""
    topology = snapshot.topology
    if nearest is None or not topology.has_domain(nearest.domain):
        return np.arange(snapshot.n_nodes, dtype=np.int32)
    return topology.nodes_of(topology.domain(nearest.domain))


def _cordoned(nearest: NearestMiss | None, snapshot: ClusterSnapshot) -> Iterator[Edit]:
    nodes = _nodes_near(nearest, snapshot)
    names = [snapshot.topology.node_names[i] for i in nodes[snapshot.unschedulable[nodes]].tolist()]
    if names:
        yield Uncordon(tuple(sorted(names)))


def _to_free(gang: Gang, nearest: NearestMiss | None, snapshot: ClusterSnapshot) -> Iterator[Edit]:
    """Changes that free resources in the nearest HyperNode for the pods of the largest role that find no node there.

    Nodes are taken one by one, each time the one that lacks least for one more pod: GPUs count first, then the other
    resources in the order of the snapshot's columns, then the name.
    """
    rows, missing = gang.rows_for(snapshot.resources)
    roles = [role for role in gang.tried_roles if not missing[role]]
    if not roles:
        return
    gpu_columns = list(snapshot.gpu_columns)
    role = max(roles, key=lambda i: (rows[i, gpu_columns].sum(), tuple(rows[i]), -i))
    row, asked = rows[role], rows[role] > 0
    nodes = _nodes_near(nearest, snapshot)
    nodes = nodes[snapshot.filters.mask(gang.roles[role].filter)[nodes]]
    if not len(nodes):
        return
    idle, used = snapshot.idle_by_gpus[nodes], snapshot.used[nodes]
    fit = (np.maximum(idle[:, asked], 0) // row[asked]).min(axis=1)
    needs = nearest.needs if nearest is not None else gang.min_available - gang.ready
    short = needs - int(fit.sum())
    if not 0 < short <= _MOST_PODS:
        return
    order = snapshot.topology.node_rank[nodes]
    extra = np.zeros(len(nodes), dtype=np.int64)
    for _ in range(short):
        lacking = np.maximum((fit + extra + 1)[:, None] * row - idle, 0)
        cost = lacking - np.maximum((fit + extra)[:, None] * row - idle, 0)
        possible = (lacking <= used).all(axis=1)
        if not possible.any():
            return
        keys = (order, *(cost[:, c] for c in reversed(range(len(row)))), cost[:, gpu_columns].sum(axis=1), ~possible)
        extra[np.lexsort(keys)[0]] += 1
    freed = np.maximum((fit + extra)[:, None] * row - idle, 0)
    yield FreeResources(
        {
            snapshot.topology.node_names[int(nodes[i])]: {
                snapshot.resources[c]: int(freed[i, c]) for c in np.flatnonzero(freed[i])
            }
            for i in sorted(np.flatnonzero(extra), key=lambda i: order[i])
        }
    )
