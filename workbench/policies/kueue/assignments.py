"""Assignments: made of leaves, merged, cut short, and changed when a node failed.

Source: Kueue 0.19, pkg/cache/scheduler, tas_flavor_snapshot.go and tas_elastic_workloads.go.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.model.labels import HOSTNAME_LABEL
from workbench.policies.kueue.leaves import Leaves, leaf_id
from workbench.policies.kueue.level_tree import Path
from workbench.policies.kueue.query import PlacementQuery
from workbench.policies.kueue.values import Assignment, PodSet, TopologyRequest

__all__ = [
    "bound_of_replacement",
    "cut",
    "from_leaves",
    "merge",
    "node_of",
    "remaining_request",
    "stale_value",
    "without_node",
]

Longs = npt.NDArray[np.int64]


def from_leaves(leaves: Leaves, chosen: Longs, count: Longs) -> Assignment:
    """The assignment of pods to leaves, sorted by path.

    `chosen`: ndarray of shape (m,), int64; leaves, in any order; one may stand more than once. `count`: ndarray of
    shape (n,), int64; pods of every leaf of the tree; chosen leaves without pods are left out.
    """
    rank = leaves.tree.rank[-1]
    used = np.unique(chosen[count[chosen] > 0])
    ordered = used[np.argsort(rank[used])].tolist()
    return Assignment(leaves.assignment_levels, tuple([(leaves.values(leaf), int(count[leaf])) for leaf in ordered]))


def merge(leaves: Leaves, first: Assignment, second: Assignment) -> Assignment:
    """Both assignments in one, sorted by path; pods of the same domain are added.

    `first`, `second`: all of their domains exist.
    """
    total: dict[Path, int] = {}
    for values, count in (*first.domains, *second.domains):
        total[values] = total.get(values, 0) + count
    rank = leaves.tree.rank[-1]
    leaf = {values: leaves.leaf_of[leaf_id(values)] for values in total}
    return replace(first, domains=tuple(sorted(total.items(), key=lambda item: rank[leaf[item[0]]])))


def cut(assignment: Assignment, count: int) -> Assignment:
    """The first `count` pods of an assignment."""
    kept = []
    for values, pods in assignment.domains:
        if count <= 0:
            break
        kept.append((values, min(pods, count)))
        count -= pods
    return replace(assignment, domains=tuple(kept))


def without_node(assignment: Assignment, node: str) -> tuple[Assignment, int]:
    """An assignment without its pods on a node (the last of a domain's values), and how many pods these are."""
    kept = tuple([(values, count) for values, count in assignment.domains if values[-1] != node])
    rest = replace(assignment, domains=kept)
    return rest, assignment.count - rest.count


def stale_value(leaves: Leaves, assignment: Assignment) -> str | None:
    """First value of the first domain that no node is in any more; None: every domain has a node."""
    for values, _ in assignment.domains:
        if leaf_id(values) not in leaves.leaf_of:
            return values[0]
    return None


def node_of(levels: tuple[str, ...], values: Path) -> str | None:
    """Hostname of the one node that a domain of an assignment is; None: the domain is no single node."""
    return values[-1] if levels and levels[-1] == HOSTNAME_LABEL else None


def bound_of_replacement(leaves: Leaves, query: PlacementQuery, rest: Assignment, lost: int) -> Path:
    """Path of the domain inside which lost pods must be placed again; empty: anywhere.

    An incomplete slice is completed in its own domain, the one with the smallest path if several could be meant
    (upstream takes any of them). Otherwise pods of a required level stay in its domain. A top domain whose label value
    is empty binds nothing: upstream cannot tell it from none.

    `query`: the pod set's request as a whole. `rest`: what is left of its assignment; all domains exist. `lost`: number
    of pods to place.
    """
    paths = leaves.tree.paths[-1]
    held = [(paths[leaves.leaf_of[leaf_id(values)]], count) for values, count in rest.domains]
    if not held:
        return ()
    if query.layers and lost % query.slice_size:
        broken = [layer for layer in query.layers if lost % layer.size][-1]
        depth = leaves.levels.index(broken.level) + 1
        total: Counter[Path] = Counter()
        for path, count in held:
            total[path[:depth]] += count
        bound = min((path for path, count in total.items() if (count + lost) % broken.size == 0), default=())
    else:
        bound = held[0][0][: query.level + 1] if query.required else ()
    return () if bound == ("",) else bound


def remaining_request(pods: PodSet, lost: int) -> PodSet:
    """The request for lost pods that complete a slice: slices of the innermost layer whose size divides their number.

    Without such a layer they are single pods; if slices were all that was requested, no level is left to place them at,
    and they are refused, as upstream does.
    """
    request = pods.topology or TopologyRequest()
    whole = [layer for layer in request.slices if lost % layer.size == 0]
    unconstrained = False if request.unconstrained is None else request.unconstrained
    return replace(pods, topology=replace(request, slices=tuple(whole[-1:]), unconstrained=unconstrained))
