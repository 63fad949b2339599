"""Conversion of a gang to the arrays of the two-level search (HyperNodes for job and sub-jobs), and of results back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import NO_RECORD, TopologyScores
from workbench.kernels.fading import Fading
from workbench.kernels.two_level import JobColumns, Nodes, Shape, SubJobColumns, TwoLevel
from workbench.model.arrays import Floats, Ints, Longs
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.policies.progress import Progress
from workbench.policies.request import Assignment, Request
from workbench.policies.volcano.parts.job_parts import cache_names
from workbench.policies.volcano.parts.scored_nodes import FillContext, ScoredNodes, domain_used
from workbench.policies.volcano.session.policy import min_resources
from workbench.policies.volcano.session.rounds import causes_by_role
from workbench.policies.volcano.v1_15.search_query import SearchQuery, records_to_keep
from workbench.policies.volcano.v1_15.splitting import SubJobs

__all__ = [
    "assignment_by_search",
    "before_ready",
    "compiled_search",
    "enter_records",
    "last_fit",
    "nodes_of_pods",
    "ranks",
    "reasons_of",
    "shapes_of",
]


_NO_POLICIES = np.zeros(0, dtype=np.int64)
_NO_POLICIES.flags.writeable = False


def compiled_search(
    asked: SearchQuery,
    context: FillContext,
    seen: ScoredNodes,
    *,
    scores: TopologyScores,
    packing: Floats,
    scale: float,
    order: Sequence[str],
    fading: Fading | None,
) -> TwoLevel:
    """Make the two-level search of a gang before its first round.

    Role i of the kernel is the i-th of the demand's order.

    Parameters
    ----------
    context : FillContext
        The nodes and the weights of the node scores.
    seen : ScoredNodes
        The context's nodes and requests; weights and packing are over its columns.
    scores : TopologyScores
        Scores of leaf HyperNodes by closeness to the HyperNode of the job so far.
    packing : ndarray of shape (c,), float64
        Weight of each column in the packing of HyperNodes; negative: not counted.
    scale : float
        Weight of the scores of HyperNodes.
    order : sequence of str
        Plugins that order sub-jobs (`workbench.policies.volcano.parts.plugins.sub_job_order`).
    fading : Fading, optional
        Score by which pods without a topology constraint prefer full HyperNodes; None: it is off.
    """
    snapshot, progress = asked.request.snapshot, asked.request.start
    pad = _as_it_is if seen.columns is snapshot.resources else seen.pad
    untouched = seen.idle is snapshot.idle and seen.used is snapshot.used
    nodes = Nodes(
        seen.idle,
        seen.used,
        seen.allocatable,
        pad(domain_used(asked.request)),
        pad(snapshot.domain_allocatable),
        pad(snapshot.domain_idle),
        snapshot.node_states if untouched else None,
    )
    return TwoLevel(
        snapshot.topology.domain_tree,
        nodes,
        shapes_of(context, seen.rows),
        _job_columns(asked, progress, pad),
        _sub_job_columns(asked, progress, pad, order),
        weights=context.weights,
        scores=scores,
        packing=packing,
        scale=scale,
        fading=fading,
    )


def _job_columns(asked: SearchQuery, progress: Progress, pad: Callable[[Longs], Longs]) -> JobColumns:
    gang, roles = asked.request.gang, asked.request.demand.roles
    minimum = min_resources(gang, asked.request.snapshot.resources)
    return JobColumns(
        left=_of_roles(progress.left, roles),
        present=_of_roles(progress.present, roles) if any(progress.present) else None,
        minimums=_of_roles(progress.minimums, roles) if any(progress.minimums) else None,
        names=_names(gang, roles),
        min_available=progress.min_available,
        counted=progress.counted,
        after_failure="stop" if progress.min_available == progress.total else "by-minimums",
        grouped=gang.sub_grouped,
        limit=asked.limits.job,
        minimum=None if minimum is None else pad(minimum),
        record=asked.record,
        wanted=np.array([*gang.min_subgroups.values()], dtype=np.int64) if gang.min_subgroups else _NO_POLICIES,
    )


def _sub_job_columns(
    asked: SearchQuery, progress: Progress, pad: Callable[[Longs], Longs], order: Sequence[str]
) -> SubJobColumns:
    gang, subs, demand = asked.request.gang, asked.subs, asked.request.demand
    s = len(subs.names)
    rank = None if s == 1 else ranks(gang.key, subs, "priority" in order)
    limit_of, limited = _limits(subs.limits)
    numbers_of_policies = {name: i for i, name in enumerate(gang.min_subgroups)}
    all_needed = progress.min_available == progress.total
    stop = subs.total >= 0 if all_needed else subs.min_available >= subs.total
    return SubJobColumns(
        start=subs.start,
        shapes=subs.shapes,
        left=subs.left,
        min_available=subs.min_available,
        counted=subs.counted,
        total=np.maximum(subs.total, 1),
        stop_after_failure=stop,
        limit=limit_of,
        limited=limited,
        scored=subs.topology,
        policy=np.array([numbers_of_policies.get(name, -1) for name in subs.policies], dtype=np.int32),
        rank=rank,
        record=None if asked.records.count(NO_RECORD) == s else np.array(asked.records, dtype=np.int32),
        request=pad(subs.request),
        pending=pad(subs.pending),
        running_start=_starts(subs.running_nodes) if gang.ready else None,
        running=np.concatenate(subs.running_nodes).astype(np.int32) if gang.ready else None,
        grade=None if s == 1 else before_ready(subs, rank, order),
        runs=None if subs.runs is None else (subs.runs[0], demand.position_of_role[subs.runs[1]], subs.runs[2]),
    )


def shapes_of(context: FillContext, rows: Longs) -> list[Shape]:
    """Pod shapes (request, allowed nodes, extra scores) of the roles with a request, as the roles are tried.

    `rows`, int64 (roles, c), has the request of one pod of each role.
    """
    demand = context.request.demand
    return [Shape(rows[role], demand.restriction(role), context.extra(role)) for role in demand.order]


def last_fit(request: Request, search: TwoLevel, last_tried: int) -> tuple[int, Longs, Ints]:
    """Role and nodes that Volcano's fit error describes after a failed search: those of the HyperNode tried last.

    `request`: the request before the search. `search`: the search after it found no HyperNode for the job.
    `last_tried`: the HyperNode; -1: the virtual top.

    Returns
    -------
    role : int
        The role whose pod fitted on no node.
    idle : ndarray of shape (n, r), int64
        Idle resources when that HyperNode was tried.
    nodes : ndarray of shape (m,), int32
        Nodes of the HyperNode.
    """
    demand = request.demand
    failed, shapes, nodes = search.fit_in(last_tried)
    idle = demand.idle.copy()
    np.subtract.at(idle, nodes, demand.rows[np.array(demand.order, dtype=np.int64)[shapes]])
    return demand.order[max(failed, 0)], idle, request.snapshot.topology.nodes_of(last_tried)


def nodes_of_pods(asked: SearchQuery, search: TwoLevel) -> Ints:
    """Node of each pod of the gang by a finished search, int32 (n_pods,), -1 for none.

    The pods of one role in a sub-job get their nodes in their order.

    `search` has taken its last round.
    """
    subs = asked.subs
    node = np.empty(asked.request.gang.n_pods, dtype=np.int32)
    node.fill(-1)
    search.enter_nodes(subs.start, subs.shapes, subs.first, subs.positions, node)
    return node


def assignment_by_search(asked: SearchQuery, search: TwoLevel, score: float) -> Assignment:
    """Make the answer to a gang that a search placed in one call, with the HyperNodes to remember.

    `search`: the search after its last round. `score`: sum of the scores of all rounds.
    """
    node = nodes_of_pods(asked, search)
    reasons = {} if search.n_placed == len(node) else reasons_of(asked.request, node, None)
    answer = Assignment(node, reasons, score=score, warnings=asked.limits.warnings)
    if asked.recorded and (record := search.record) != NO_RECORD:
        enter_records(asked, answer, search.records().tolist(), record)
    return answer


def enter_records(asked: SearchQuery, answer: Assignment, records: list[int], record: int) -> None:
    """Write the HyperNodes in which a job and its sub-jobs are allocated into the answer.

    `records`: HyperNode of each sub-job, or `NO_RECORD`. `record`: HyperNode of the job.
    """
    answer.record, answer.has_record = record, True
    answer.records = records_to_keep(asked.request.gang.key, asked.subs.names, records, record, asked.topology)


def reasons_of(request: Request, node: Ints, idle: Longs | None) -> dict[int, tuple[Notice, ...]]:
    """Reasons, by role, why the pods without a node have none.

    `node`: ndarray of shape (n_pods,), int32; node of each pod, -1 for none. `idle`: ndarray of shape (n, r), int64;
    idle resources after the placed pods; None: not computed yet.
    """
    found = causes_by_role(request, node, idle)
    nowhere = (Notice("no-domain", "no HyperNode near the record holds one more pod"),)
    return {role: causes or nowhere for role, causes in found.items()}


def before_ready(subs: SubJobs, rank: Ints | None, order: Sequence[str]) -> Ints | None:
    """Sort key of sub-jobs by the plugins that come before gang, which puts sub-jobs that are not ready first.

    `rank`: ndarray of shape (s,), int32, or None; rank of each sub-job by the plugins but gang; None: the order of the
    sub-jobs. `order`: plugins that order sub-jobs. Returns ndarray of shape (s,), int32, or None: smaller first; the
    key of all other plugins if gang orders no sub-jobs. None if gang is the first plugin, or the plugins before it tell
    no sub-jobs apart.
    """
    if "gang" not in order:
        return np.arange(len(subs.names), dtype=np.int32) if rank is None else rank
    if order[0] == "gang" or not subs.priority.any():
        return None
    return np.unique(-subs.priority, return_inverse=True)[1].astype(np.int32)


def _as_it_is(amounts: Longs) -> Longs:
    return amounts


def _of_roles(counts: Sequence[int], roles: Sequence[int]) -> Longs:
    """Counts by role, in the order of `roles`."""
    return np.array([counts[role] for role in roles], dtype=np.int64)


def _names(gang: Gang, roles: Sequence[int]) -> Ints | None:
    """A number for the name of each role, in the order of `roles`; None if no two roles have one name."""
    if len(roles) == 1:
        return None
    numbers: dict[str, int] = {}
    names = [numbers.setdefault(name, len(numbers)) for name in cache_names(gang)]
    return None if len(numbers) == len(names) else np.array(names, dtype=np.int32)[[*roles]]


def _limits(highest: Sequence[int | None]) -> tuple[Longs, npt.NDArray[np.bool_] | None]:
    """Highest tier of each sub-job, -1 for none, and whether it has a limit; None if every one has."""
    if None not in highest:
        return np.array(highest, dtype=np.int64), None
    tiers = [-1 if tier is None else tier for tier in highest]
    return np.array(tiers, dtype=np.int64), np.array([tier is not None for tier in highest], dtype=np.bool_)


def ranks(key: str, subs: SubJobs, by_priority: bool) -> Ints | None:
    """Rank of each sub-job, from 0: by higher priority if `by_priority`, then MatchIndex, then id.

    `key`: ``namespace/name`` of the gang, with which ids begin. `by_priority`: whether the plugin priority orders
    sub-jobs. Returns ndarray of shape (s,), int32, or None: None if the sub-jobs already stand in the order of their
    ranks.
    """
    if len(subs) == 1:
        return None
    index, priority = subs.match_index, subs.priority
    if (index[1:] > index[:-1]).all() and not (by_priority and (priority[1:] != priority[:-1]).any()):
        return None
    keys = [index, -priority if by_priority else np.zeros_like(priority)]
    order = np.lexsort(keys)
    # Most often MatchIndex alone tells them apart.
    if bool(np.logical_and(*(column[order[1:]] == column[order[:-1]] for column in keys)).any()):
        ids = [(f"{key}/{name}" if name else key).encode() for name in subs.names]
        by_id = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)
        order = by_id[np.lexsort([column[by_id] for column in keys])]
    rank = np.empty(len(subs), dtype=np.int32)
    rank[order] = np.arange(len(subs), dtype=np.int32)
    return rank


def _starts(arrays: Sequence[Ints]) -> Longs:
    start = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(array) for array in arrays], out=start[1:])
    return start
