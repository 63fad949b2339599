"""Room for a gang: how many of the pods that it needs a HyperNode can hold, and which HyperNode comes nearest.

Every policy that names a HyperNode in a refusal counts here, so that two policies say the same of one HyperNode in the
same state. Only what is idle and accepts the pods counts: neither queues nor what a search left out beforehand.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import pods_per_node
from workbench.model.arrays import Ints, Longs, distinct
from workbench.model.notice import Notice
from workbench.model.placement import NearestMiss
from workbench.policies.progress import Progress
from workbench.policies.reasons import gang_incomplete
from workbench.policies.request import Request

__all__ = ["cluster_short", "held_pods", "nearest_misses"]

Bools = npt.NDArray[np.bool_]


def held_pods(
    request: Request, domains: npt.ArrayLike, start: Progress | None = None, usable: Bools | None = None
) -> Longs:
    """Number of the pods that a gang needs to start which each of some HyperNodes can hold by itself.

    Returns ndarray of shape (k,), int64: at most the number of pods needed (`Progress.missing`, at least 1).

    Parameters
    ----------
    request : Request
        The gang, and the nodes before one of its pods is placed.
    domains : array_like of int, shape (k,)
        Indices of the HyperNodes; -1: the virtual top, which holds every node.
    start : Progress, optional
        Counts of the gang's pods before one is placed; None: those of the request.
    usable : ndarray of shape (n,), bool, optional
        Nodes that the policy uses; None: all.

    Notes
    -----
    The roles are placed one after another, in the order in which they are tried, into the same room, as many pods of
    each as fit; a role that finds no node does not keep the next one from being tried. A pod goes to a node where as
    few pods of its role fit as possible (ties: the smallest name), which leaves room for larger ones. Pods beyond the
    minimum of their role do not bring the gang nearer to its start while another role is short. Sub-groups and queues
    are not looked at.
    """
    start = request.start if start is None else start
    needs = max(start.missing, 1)
    chosen = np.asarray(domains, dtype=np.int64)
    roles = [role for role in request.demand.order if start.left[role]]
    if len(roles) == 1:
        placed = _placed_alike(request, chosen, roles[0], start, usable)
    else:
        placed = _placed(request, chosen, roles, start, usable)
    counts = np.zeros((len(chosen), len(start.left)), dtype=np.int64)
    counts[:, roles] = placed
    return needs - np.minimum(_missing(start, counts), needs)


def nearest_misses(
    request: Request, allowed: Bools | None = None, start: Progress | None = None, usable: Bools | None = None
) -> tuple[NearestMiss, ...]:
    """HyperNode with room for most of the pods that a gang needs, for each tier that the gang may use, closest first.

    Returns one for each tier with a HyperNode that is allowed; ties: the smallest name. One that has room for all pods
    needed says that room there is not what the gang lacks.

    `request`: the gang, and the nodes before one of its pods is placed. `allowed`: ndarray of shape (d + 1,), bool;
    whether the gang may use each HyperNode, the virtual top last; None: it may use all. `start`, `usable`: as in
    `held_pods`.
    """
    topology = request.snapshot.topology
    tier_of = np.append(topology.tier, topology.top_tier)
    domains = np.arange(len(tier_of)) if allowed is None else np.flatnonzero(allowed)
    if not len(domains):
        return ()
    tiers = tier_of[domains]
    domains = np.where(domains == topology.n_domains, -1, domains)
    held = held_pods(request, domains, start, usable)
    needs = max((request.start if start is None else start).missing, 1)
    found = []
    for tier in distinct(tiers).tolist():
        mine = np.flatnonzero(tiers == tier)
        best = mine[int(np.argmax(held[mine]))]
        found.append(NearestMiss(tier, topology.domain_name(int(domains[best])), int(held[best]), needs))
    return tuple(found)


def cluster_short(request: Request, reached: Progress) -> Notice:
    """Notice that the whole cluster has room for too few of the pods that a gang needs, with their number.

    `request`: the gang, and the nodes before one of its pods is placed. `reached`: counts of the gang's pods where the
    policy stopped; they are told if there is room for all pods needed, which the policy does not find because it
    chooses other nodes.
    """
    needs, held = max(request.start.missing, 1), int(held_pods(request, [-1])[0])
    return gang_incomplete(held if held < needs else needs - max(reached.missing, 1), needs)


def _missing(start: Progress, placed: Longs) -> Longs:
    """Number of pods that a gang still needs in each HyperNode, int64 (k,); ``placed`` has its new pods by role."""
    missing = start.min_available - start.counted - placed.sum(axis=1)
    if start.min_available >= sum(start.minimums):
        short = np.array(start.minimums) - np.array(start.present) - placed
        missing = np.maximum(missing, np.maximum(short, 0).sum(axis=1))
    needed: Longs = np.maximum(missing, 0)
    return needed


def _capacity(
    request: Request, role: int, idle: Longs, nodes: Ints | None, cap: int | None, usable: Bools | None
) -> Longs:
    """Pods of a role, at most `cap`, that fit into each row of `idle`: int64 (m,); `nodes`: nodes of the rows."""
    accepts = request.demand.feasible(role)
    if usable is not None:
        accepts = accepts & usable.view(np.uint8)
    accepts = accepts if nodes is None else accepts[nodes]
    return pods_per_node(idle, request.demand.rows[role], feasible=accepts, cap=cap)


def _placed_alike(request: Request, domains: Longs, role: int, start: Progress, usable: Bools | None) -> Longs:
    """Pods of the gang's only role that each HyperNode holds: int64 (k, 1). Pods that are alike need no trial."""
    left = start.left[role]
    room = _capacity(request, role, request.demand.idle, None, left, usable)
    return np.minimum(request.snapshot.topology.domain_sums(room[:, None])[domains], left)


def _placed(request: Request, domains: Longs, roles: list[int], start: Progress, usable: Bools | None) -> Longs:
    """Pods of each role that each HyperNode holds when they are placed one role after another: int64 (k, roles)."""
    placed = np.zeros((len(domains), len(roles)), dtype=np.int64)
    if not roles or not len(domains):
        return placed
    topology, demand = request.snapshot.topology, request.demand
    takes_one = np.zeros(request.snapshot.n_nodes, dtype=np.bool_)
    for role in roles:
        takes_one |= _capacity(request, role, demand.idle, None, 1, usable) > 0
    # One row for each node in each HyperNode: in every one the pods are placed anew.
    inside = [nodes[takes_one[nodes]] for nodes in map(topology.nodes_of, domains.tolist())]
    nodes = np.concatenate(inside)
    of = np.repeat(np.arange(len(domains)), [len(part) for part in inside])
    idle, rank = demand.idle[nodes], topology.node_rank[nodes]
    for column, role in enumerate(roles):
        left = start.left[role]
        room = _capacity(request, role, idle, nodes, None, usable)
        if role != roles[-1]:
            taken = _dealt(of, room, rank, left)
            idle -= taken[:, None] * demand.rows[role]
            room = taken
        placed[:, column] = np.minimum(np.bincount(of, room, len(domains)).astype(np.int64), left)
    return placed


def _dealt(of: Longs, room: Longs, rank: Ints, left: int) -> Longs:
    """Pods that each row gets of `left` pods per HyperNode (`of`, ascending), least room first: int64 (m,)."""
    order = np.lexsort((rank, room, of))
    upto = np.cumsum(room[order])
    first = np.searchsorted(of, of)
    before = upto - room[order] - np.append(0, upto)[first]
    taken = np.empty_like(room)
    taken[order] = np.clip(left - before, 0, room[order])
    return taken
