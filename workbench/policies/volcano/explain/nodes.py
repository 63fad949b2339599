"""Scores of nodes, part by part, for explanations of the Volcano policies; nothing here takes part in a decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from workbench.kernels.domains import NO_RECORD
from workbench.model.arrays import Floats, Ints, Longs
from workbench.policies.demand import node_causes
from workbench.policies.request import Request
from workbench.policies.volcano.filling import Filling
from workbench.policies.volcano.parts.scored_nodes import FillContext
from workbench.policies.volcano.parts.texts import lacking

__all__ = ["record_nodes"]


#: Parts of the node score: the name shown, and the field of `ScoreWeights`.
_PARTS = (
    ("binpack", "binpack"),
    ("least", "least_requested"),
    ("most", "most_requested"),
    ("balanced", "balanced"),
)


def record_nodes(
    filling: Filling,
    role: int,
    domain: int = -1,
    *,
    record: int = NO_RECORD,
    tasks_on_leaf: Longs | None = None,
    total_tasks: int = 0,
) -> None:
    """Record for each node of a HyperNode the parts of its score for a role's first pod, or why the pod does not fit.

    The parts are: ``binpack``, ``least``, ``most``, ``balanced`` and ``gpu`` if they have a weight; ``taints`` if nodes
    differ in it; for a pod with a topology constraint ``tier`` (by the LCA with the record) and ``tasks`` (by the job's
    tasks on the leaf), for any other pod ``hypernodes`` if it prefers full HyperNodes. Their sum is the score, apart
    from rounding.

    Parameters
    ----------
    filling : Filling
        The cluster's nodes before a pod of the job is placed.
    domain : int
        The HyperNode whose nodes are recorded; -1: every node.
    record : int
        HyperNode in which the job is allocated so far, by whose closeness nodes are scored; `NO_RECORD`: none.
    tasks_on_leaf : ndarray of shape (d,), int64, optional
        Pods of the job that each leaf holds already; None: none.
    total_tasks : int
        All tasks of the job; 0: the pod has no topology constraint.
    """
    context = filling.context
    request = context.request
    recorder, topology = request.recorder, request.snapshot.topology
    if recorder is None or recorder.ties_only:
        return
    parts = _node_parts(context, role)
    if total_tasks:
        base, totals = filling.node_scores(
            role, domain, record=record, tasks_on_leaf=tasks_on_leaf, total_tasks=total_tasks
        )
        closeness = filling.node_scores(role, domain, record=record, total_tasks=total_tasks)[1]
        parts["tier"], parts["tasks"] = _minus(closeness, base), _minus(totals, closeness)
    else:
        base, totals = filling.node_scores(role, domain)
        if filling.fades:
            parts["hypernodes"] = _minus(totals, base)
    nodes = topology.nodes_of(domain)
    for node in nodes[np.argsort(topology.node_rank[nodes])].tolist():
        name = topology.node_names[node]
        if totals[node] == -np.inf:
            recorder.node(name, False, _node_text(request, role, context.idle, np.array([node], dtype=np.int32)))
            continue
        shown = {part: float(scores[node]) for part, scores in parts.items()}
        recorder.node(name, True, f"fits a pod of {request.gang.roles[role].name}", float(totals[node]), **shown)


def _minus(left: Floats, right: Floats) -> Floats:
    """Difference ``left - right`` of two arrays of node scores; 0 where a score is -inf (the pod does not fit)."""
    found: Floats = np.where(np.isfinite(left), left, 0.0) - np.where(np.isfinite(left), right, 0.0)
    return found


def _node_parts(context: FillContext, role: int) -> dict[str, Floats]:
    """Every part of the node scores that has a weight, for a pod of a role: float64 (n,) by name."""
    parts = {}
    for name, weight in _PARTS:
        if getattr(context.weights, weight):
            alone = replace(context, weights=replace(context.weights, **_only(weight)), fixed=None)
            parts[name] = Filling(alone).node_scores(role)[0]
    if context.fixed is not None:
        parts |= context.fixed.parts(role)
    return parts


def _only(weight: str) -> dict[str, Any]:
    return {other: 0.0 for _, other in _PARTS if other != weight}


def _node_text(request: Request, role: int, idle: Longs, node: Ints) -> str:
    """Text that says why one node does not take a pod of a role, with numbers if a resource is short."""
    causes = node_causes(request.demand, role, idle, node)
    if all(cause.code == "insufficient" for cause in causes):
        short = lacking(request.snapshot.resources, request.demand.rows[role], idle[int(node[0])])
        if short:
            return short
    return "; ".join(cause.text for cause in causes)
