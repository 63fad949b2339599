"""The two-level search of one job by the kernel: a gang and its sub-jobs as columns of numbers, and the way back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import ScoreWeights, TopologyScores
from workbench.kernels.two_level import Job, Nodes, Shape, SubJobs, TwoLevel
from workbench.policies.base import Request
from workbench.policies.volcano.job_parts import JobProgress, SubJob, cache_names

__all__ = ["compiled_search", "last_fit", "nodes_of_pods"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def compiled_search(
    request: Request,
    subs: Sequence[SubJob],
    records: Sequence[int],
    record: int,
    limit: int | None,
    *,
    weights: ScoreWeights,
    scores: TopologyScores,
    packing: Floats,
    scale: float,
    gpu_weight: float,
) -> TwoLevel:
    """The search before its first turn; role i of the kernel is the i-th of the demand's order."""
    gang, snapshot, demand = request.gang, request.snapshot, request.demand
    topology = snapshot.topology
    roles = np.array([*demand.order, *demand.best_effort], dtype=np.int64)
    place = np.empty(len(gang.roles), dtype=np.int32)
    place[roles] = np.arange(len(roles), dtype=np.int32)
    progress = JobProgress.start(gang, snapshot)
    numbers = {name: i for i, name in enumerate(dict.fromkeys(cache_names(gang)))}
    minimum = None
    if gang.min_resources is not None:
        minimum = np.array([gang.min_resources.get(name, 0) for name in snapshot.resources], dtype=np.int64)
    policies = list(gang.min_subgroups)
    all_needed = progress.min_available == progress.total
    job = Job(
        left=np.array(progress.left, dtype=np.int64)[roles],
        present=np.array(progress.present, dtype=np.int64)[roles],
        minimums=np.array(progress.minimums, dtype=np.int64)[roles],
        names=np.array([numbers[name] for name in cache_names(gang)], dtype=np.int32)[roles],
        min_available=progress.min_available,
        counted=progress.counted,
        after_failure="stop" if all_needed else "by-minimums",
        grouped=gang.sub_grouped,
        limit=limit,
        minimum=minimum,
        record=record,
        wanted=np.array([gang.min_subgroups[name] for name in policies], dtype=np.int64),
    )
    order = sorted(range(len(subs)), key=lambda i: _order(gang.key, subs[i]))
    rank = np.empty(len(subs), dtype=np.int32)
    rank[order] = np.arange(len(subs), dtype=np.int32)
    by_sub = [sub.pods for sub in subs]
    columns = SubJobs(
        start=_starts([len(pods) for pods in by_sub]),
        shapes=place[[role for pods in by_sub for role in pods]],
        left=np.array([len(mine) for pods in by_sub for mine in pods.values()], dtype=np.int64),
        min_available=np.array([sub.min_available for sub in subs], dtype=np.int64),
        counted=np.array([sub.counted for sub in subs], dtype=np.int64),
        total=np.array([max(sub.total, 1) for sub in subs], dtype=np.int64),
        stop_after_failure=np.array([all_needed or sub.min_available >= sub.total for sub in subs]),
        limit=np.array([-1 if sub.limit is None else sub.limit for sub in subs], dtype=np.int64),
        limited=np.array([sub.limit is not None for sub in subs]),
        scored=np.array([sub.topology for sub in subs]),
        policy=np.array([policies.index(s.policy) if s.policy in policies else -1 for s in subs], dtype=np.int32),
        rank=rank,
        record=np.array(records, dtype=np.int32),
        request=np.array([sub.request for sub in subs], dtype=np.int64),
        pending=np.array([sub.pending for sub in subs], dtype=np.int64),
        running_start=_starts([len(sub.running_nodes) for sub in subs]),
        running=np.concatenate([sub.running_nodes for sub in subs]).astype(np.int32),
    )
    shapes = []
    for role in demand.order:
        extra = None
        if gpu_weight and (given := request.gpus.scores(gang.roles[role].n_gpus)) is not None:
            extra = given * gpu_weight
        shapes.append(Shape(demand.rows[role], demand.feasible(role), extra))
    nodes = Nodes(
        demand.idle,
        request.ledger.used,
        snapshot.allocatable,
        _domain_used(request),
        snapshot.domain_allocatable,
        snapshot.domain_allocatable - snapshot.domain_used,
    )
    return TwoLevel(
        topology.domain_tree, nodes, shapes, job, columns, weights=weights, scores=scores, packing=packing, scale=scale
    )


def _domain_used(request: Request) -> Longs:
    """Sums over the nodes of each HyperNode: those of the snapshot with what the session changed."""
    snapshot, used = request.snapshot, request.ledger.used
    changed = np.flatnonzero((used != snapshot.used).any(axis=1))
    if len(changed) == 0:
        return snapshot.domain_used
    if len(changed) * 64 > len(used):
        return snapshot.topology.domain_sums(used)
    totals = snapshot.domain_used.copy()
    start, domains = snapshot.topology.node_domains
    for node, more in zip(changed.tolist(), used[changed] - snapshot.used[changed], strict=True):
        # A node is in a domain once, so that no sum is addressed twice.
        totals[domains[start[node] : start[node + 1]]] += more
        totals[-1] += more
    return totals


def last_fit(request: Request, search: TwoLevel, last_tried: int | None) -> tuple[int, Longs, Ints]:
    """What Volcano's fit error is about, as `TwoLevelSearch.last_fit` tells it."""
    demand = request.demand
    domain = -1 if last_tried is None else last_tried
    failed, shapes, nodes = search.fit_in(domain)
    idle = demand.idle.copy()
    np.subtract.at(idle, nodes, demand.rows[np.array(demand.order, dtype=np.int64)[shapes]])
    return demand.order[max(failed, 0)], idle, request.snapshot.topology.nodes_of(domain)


def nodes_of_pods(request: Request, subs: Sequence[SubJob], search: TwoLevel) -> Ints:
    """Node of each pod of the gang, -1 for none; the pods of a role in a sub-job are taken in their order."""
    node = np.full(request.gang.n_pods, -1, dtype=np.int32)
    owner, shape, nodes = search.placed()
    n_roles = max(len(request.demand.order), 1)
    key = owner.astype(np.int64) * n_roles + shape
    by_key = np.argsort(key, kind="stable")
    bounds = np.flatnonzero(np.diff(key[by_key], prepend=-1))
    ends = np.append(bounds, len(key))[1:]
    for first, end in zip(bounds.tolist(), ends.tolist(), strict=False):
        mine = by_key[first:end]
        role = request.demand.order[int(shape[mine[0]])]
        node[subs[int(owner[mine[0]])].pods[role][: end - first]] = nodes[mine]
    return node


def _order(key: str, sub: SubJob) -> tuple[int, int, bytes]:
    return (-sub.priority, sub.match_index, (f"{key}/{sub.name}" if sub.name else key).encode())


def _starts(lengths: Sequence[int]) -> Longs:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
