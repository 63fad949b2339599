"""Sentences about a pending job: its cause with the numbers, and what a fix does to it and to others."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from workbench.evaluate.whatif.cluster_edits import AwaitTermination, MakeReady, RemoveTaint, Uncordon
from workbench.evaluate.whatif.edit import Edit, EditedSession, Effect
from workbench.evaluate.whatif.families import families_of_nodes, held_by, tightest_limit
from workbench.evaluate.whatif.job_edits import ChangeSelector, RaisePriority, Tolerate, requirement_text, taint_text
from workbench.evaluate.whatif.queue_edits import QueueAmounts, QueueWeight, Withdraw
from workbench.evaluate.whatif.trials import EditOutcome
from workbench.model.counted import counted, name_list
from workbench.model.extras import KoordinatorWish, VolcanoMemory
from workbench.model.gang import Gang
from workbench.model.labels import Requirement, Taint
from workbench.model.notice import Notice
from workbench.model.placement import NearestMiss, Placement, Refusal
from workbench.model.resources import amount_text
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import within_tiers
from workbench.policies import Policy

__all__ = ["ROOM_KINDS", "Rest", "cause_text", "fix_text", "idle_text"]

#: The other jobs of a session after a fix.
Rest = Literal["none", "placed", "pending"]

#: Kinds of edits that make room for the job, so that the cause is a lack of room.
ROOM_KINDS = frozenset({"tier", "min-available", "replicas", "finish", "add-nodes"})
#: Codes of reasons that speak of a queue.
_QUEUE_CODES = ("queue-limit", "queue-share", "queue-guarantees", "queue-overused", "not-admitted", "queue-waits")


def fix_text(edits: Sequence[Edit], others: Sequence[Effect], rest: Rest = "placed") -> str:
    """What to do, and its effect on other jobs: ``allow tier 2 (no other job waits)``.

    Where other jobs wait with and without the fix, none of them ``is affected``; without other jobs nothing is said.

    `rest` ({"none", "placed", "pending"}): the other jobs of the session after the fix: there are none, all are placed,
    or some wait.
    """
    done = " and ".join(edit.text for edit in edits)
    said = []
    for effect, text in (("restarts", "restarts"), ("waits", "waits"), ("starts", "starts, too")):
        jobs = [one.job for one in others if one.effect == effect and f"job {one.job}" not in _withdrawn(edits)]
        if jobs:
            verb = text if len(jobs) == 1 else text.replace("waits", "wait").replace("starts", "start")
            said.append(f"then {name_list(jobs)} {verb}")
    if said:
        return f"{done} ({'; '.join(said)})"
    if others or rest == "none":
        return done
    return f"{done} (no other job {'waits' if rest == 'placed' else 'is affected'})"


def _withdrawn(edits: Sequence[Edit]) -> set[str]:
    return {edit.subject for edit in edits if isinstance(edit, Withdraw)}


def idle_text(policy: Policy, case: EditedSession) -> str | Notice | None:
    """Why the job would stay pending even if it had the cluster to itself; empty if it would then be placed.

    None where nobody knows, because the policy failed on that cluster.

    The trial has no pods of other jobs, no cordoned or unready node, and no other job in the session but those of the
    same gang group.
    """
    # Gangs of one gang group are decided together.
    together = {case.job, *case.gang.extra(KoordinatorWish).gang_groups}
    alone = dataclasses.replace(case, gangs=tuple(gang for gang in case.gangs if gang.key in together))
    alone = alone.with_snapshot(case.snapshot.without_pods(lambda pod: pod.gang not in case.own_keys))
    others = dict.fromkeys(pod.gang for pod in case.snapshot.running if pod.gang and pod.gang not in case.own_keys)
    snapshot = alone.snapshot
    for gang in others:
        snapshot = snapshot.without_record(gang)
    snapshot = dataclasses.replace(snapshot, exclusive=_own_exclusive(snapshot, case))
    alone = alone.with_snapshot(snapshot)
    for edit in families_of_nodes(alone):
        alone = edit.apply(alone)
    try:
        decision = policy.schedule(alone.gangs, alone.snapshot)[alone.position]
    except Exception:  # as in `EditTrials`: a policy from a notebook may fail on a cluster that only might be
        return None
    if not isinstance(decision.result, Refusal):
        return ""
    misses = [miss for miss in decision.result.nearest_misses if miss.holds < miss.needs]
    if misses and not case.gang.jobs:
        best = max(misses, key=lambda miss: (miss.holds, -miss.tier))
        return f"{_place(best)} has room for {best.holds} of its {counted(best.needs, 'pod')}"
    return _first_reason(decision.result)


def _first_reason(refusal: Refusal) -> str | Notice:
    return refusal.reasons[0] if refusal.reasons else "the policy gives no reason"


def _own_exclusive(snapshot: ClusterSnapshot, case: EditedSession) -> dict[str, str]:
    return {key: at for key, at in snapshot.exclusive.items() if key.startswith(f"{case.job}/")}


def _place(miss: NearestMiss) -> str:
    return f"{miss.domain} (tier {miss.tier})" if not miss.domain.startswith("<") else "the cluster"


def cause_text(
    edits: Sequence[Edit],
    refusal: Refusal,
    nearest: NearestMiss | None,
    base: EditOutcome,
    *,
    rivals: Sequence[str] = (),
    rivals_alone: bool = True,
    possible: bool,
    proved: bool,
    idle: str | Notice | None,
) -> tuple[str, tuple[Notice, ...]]:
    """The cause of a refusal in words (what the edits of a fix take away), and the reasons that the words quote.

    Parameters
    ----------
    edits : sequence of Edit
        The first fix; empty: none was found.
    nearest : NearestMiss or None
        HyperNode that comes closest to holding the job, with less room than it needs.
    base : EditOutcome
        The session without edits.
    rivals : sequence of str
        Jobs that wait if this one comes first, by the fixes in question.
    rivals_alone : bool
        Whether the job would be placed without them; else further jobs take what they leave.
    possible : bool
        Some set of edits without new nodes places the job, or some classes of edits were not to be used.
    proved : bool
        Every smaller set of edits was tried.
    idle : str, Notice or None
        What `idle_text` says.
    """
    found: dict[str, str | Notice] = {}
    if rivals and any(isinstance(edit, RaisePriority) for edit in edits):
        # The jobs that are withdrawn beside a higher priority are among those that come first.
        edits = [edit for edit in edits if not isinstance(edit, Withdraw)]
    for edit in edits:
        if edit.kind in ROOM_KINDS:
            said = _room(refusal, nearest, base.case)
        elif isinstance(edit, Withdraw):
            said = _reserved_text(edit, base, only=len(edits) == 1)
        else:
            said = _of_edit(edit, refusal, base, rivals, rivals_alone)
        found.setdefault(str(said), said)
    if not found:
        said = _room(refusal, nearest, base.case)
        found = {str(said): said}
    room = any(edit.kind in ROOM_KINDS for edit in edits) or not edits
    if not possible and idle and proved:
        return f"never on this cluster: {idle}", _notices([idle])
    if not possible and not idle:
        # An empty cluster takes the job, or nobody knows: the refusal is no more than what the policy says today.
        first = next(iter(found.values()))
        then = "" if idle is None else "; with the cluster to itself it would be placed"
        return f"none of the changes that were tried helps: {first}{then}", _notices([first])
    if idle and room:
        ignored = "".join(f"; {gap.message}" for gap in base.case.snapshot.gaps if gap.code == "ignored-member")
        # Room is told for the idle cluster; what else is in the way is named beside it.
        others = [_of_edit(edit, refusal, base, rivals, rivals_alone) for edit in edits if edit.kind not in ROOM_KINDS]
        said = ", and ".join(dict.fromkeys(str(one) for one in (idle, *others)))
        return f"never as it is written, even with the cluster to itself: {said}{ignored}", _notices([idle, *others])
    return ", and ".join(found), _notices(found.values())


def _notices(said: Iterable[str | Notice]) -> tuple[Notice, ...]:
    return tuple(one for one in said if isinstance(one, Notice))


def _room(refusal: Refusal, nearest: NearestMiss | None, case: EditedSession) -> str | Notice:
    """A sentence that says how much room there is, and where there is most."""
    gang, topology = refusal.gang, case.snapshot.topology
    limit = tightest_limit(gang, topology)
    by_code = {reason.code: reason for reason in reversed(refusal.reasons)}
    for code in ("topology-not-ready", "depends-on", "gang-group-waits", "no-hypernode-per-job"):
        if code in by_code:
            return by_code[code]
    if nearest is None:
        for code in ("no-domain", "no-candidate", "gang-incomplete"):
            if code in by_code:
                return by_code[code]
        return _first_reason(refusal)
    pods = counted(nearest.needs, "pod")
    if limit is None:
        most = f"; most room: {_place(nearest)}" if not nearest.domain.startswith("<") else ""
        return f"room for {nearest.holds} of its {pods}{most}"
    where = within_tiers(topology, limit) if limit else " that its constraint allows"
    ignored = "".join(f"; {gap.message}" for gap in case.snapshot.gaps if gap.code == "ignored-member")
    return f"no HyperNode{where} has room for its {pods}; nearest: {_place(nearest)} holds {nearest.holds}{ignored}"


def _of_edit(
    edit: Edit, refusal: Refusal, base: EditOutcome, rivals: Sequence[str], rivals_alone: bool
) -> str | Notice:
    snapshot, gang = base.case.snapshot, refusal.gang
    match edit:
        case QueueAmounts(field="capability"):
            return _queue_text(edit, gang, base)
        case QueueAmounts() | QueueWeight():
            said = [reason for reason in refusal.reasons if reason.code in _QUEUE_CODES]
            return said[0] if said else f"the share of queue {edit.queue} is too small"
        case Withdraw():
            return _reserved_text(edit, base, only=False)
        case Tolerate() | RemoveTaint():
            n_nodes = _n_tainted(snapshot, edit.taint)
            nodes = counted(n_nodes, "node has", "nodes have")
            return f"{nodes} the taint {taint_text(edit.taint)}, which it does not tolerate"
        case Uncordon():
            return f"{name_list(edit.nodes)} {'is' if len(edit.nodes) == 1 else 'are'} cordoned"
        case MakeReady():
            state = "not ready or under pressure" if _under_pressure(edit, snapshot) else "not ready"
            return f"{name_list(edit.nodes)} {'is' if len(edit.nodes) == 1 else 'are'} {state}"
        case ChangeSelector():
            return _selector_text(edit.requirement, snapshot)
        case AwaitTermination():
            return (
                counted(len(edit.pods), "terminating pod still holds", "terminating pods still hold") + " what it needs"
            )
        case RaisePriority():
            return _rivals_text(refusal, rivals, rivals_alone)
    by_code = {reason.code: reason for reason in reversed(refusal.reasons)}
    if edit.kind == "dependency" and "depends-on" in by_code:
        return by_code["depends-on"]
    if edit.kind == "affinity":
        return "too few nodes match its required node affinity"
    return _first_reason(refusal)


def _rivals_text(refusal: Refusal, rivals: Sequence[str], alone: bool) -> str | Notice:
    """Which jobs come first and take what the job needs: those that wait if it comes before them."""
    if not rivals:
        return _first_reason(refusal)
    if not alone:
        return f"other jobs come first and take what it needs; if it came first, {name_list(rivals)} would wait"
    come = "comes first and takes" if len(rivals) == 1 else "come first and take"
    return f"{name_list(rivals)} {come} what it needs"


def _under_pressure(edit: MakeReady, snapshot: ClusterSnapshot) -> bool:
    """Whether some node of an edit is ready, but under pressure of memory, disk or processes."""
    codes, sets = snapshot.taints.codes, snapshot.taints.sets
    nodes = [snapshot.topology.node(name) for name in edit.nodes]
    keys = ({taint.key for taint in sets[codes[i]]} for i in nodes if not snapshot.not_ready[i])
    return any(not some & {f"node.kubernetes.io/{word}" for word in ("not-ready", "unreachable")} for some in keys)


def _n_tainted(snapshot: ClusterSnapshot, taint: Taint) -> int:
    has = np.array([taint in some for some in snapshot.taints.sets], dtype=np.bool_)
    return int(has[snapshot.taints.codes].sum()) if len(has) else 0


def _queue_text(edit: QueueAmounts, gang: Gang, base: EditOutcome) -> str:
    held = held_by(edit.queue, base)
    parts = []
    for name, limit in edit.old:
        asked = sum(role.count * role.requests.get(name, 0) for role in gang.roles)
        used = amount_text(name, held.get(name, 0))
        most = "no limit" if limit is None else amount_text(name, limit)
        parts.append(
            f"{used} of its capability of {most} {name} are taken, the job asks for {amount_text(name, asked)}"
        )
    return f"queue {edit.queue}: {'; '.join(parts)}"


def _reserved_text(edit: Withdraw, base: EditOutcome, *, only: bool) -> str:
    """The words about another job that comes first; `only`: it alone takes what the pending job needs."""
    other = next(decision for decision in base.decisions if decision.gang.key == edit.job)
    if isinstance(other.result, Placement):
        return f"{edit.job} comes first{' and takes what it needs' if only else ''}"
    resources = other.gang.extra(VolcanoMemory).min_resources or {}
    amounts = [
        f"{amount_text(name, resources[name])} {name}"
        for name in base.case.snapshot.resources
        if resources.get(name) and any(role.requests.get(name) for role in base.case.gang.roles)
    ]
    reserves = f"reserves {', '.join(amounts)}" if amounts else "comes first"
    return f"{edit.job}, which is pending itself, {reserves}"


def _selector_text(requirement: Requirement, snapshot: ClusterSnapshot) -> str:
    count = int(snapshot.labels.mask(requirement).sum())
    nodes = "no node has" if not count else f"only {counted(count, 'node has', 'nodes have')}"
    codes, values = snapshot.labels.columns.get(requirement.key, (None, ()))
    if codes is None:
        return f"{nodes} {requirement_text(requirement)}: no node has the label {requirement.key}"
    others = [
        f"{int((codes == i).sum()):,} have {value or 'an empty value'}"
        for i, value in enumerate(values)
        if value not in requirement.values
    ]
    more = f" ({', '.join(others[:3])}{', …' if len(others) > 3 else ''})" if others else ""
    return f"{nodes} {requirement_text(requirement)}{more}"
