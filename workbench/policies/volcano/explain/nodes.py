"""Texts about nodes and HyperNodes for explanations of the Volcano policies; nothing here takes part in a decision.

The functions are called only when an explanation is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import NO_RECORD
from workbench.model.resources import amount_text
from workbench.policies.demand import Demand, node_causes
from workbench.policies.request import Request
from workbench.policies.volcano.filling import Filling

if TYPE_CHECKING:
    from workbench.policies.volcano.fill_context import FillContext

__all__ = ["NODES_IN_TURN", "above_text", "lacking", "pods_text", "record_nodes", "room_for_text", "room_text"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Why a HyperNode with room for all pods is refused: the policy fills its nodes in another way.
NODES_IN_TURN = ", but not on the nodes that they get one after another"

#: Parts of the node score: the name shown, and the field of `ScoreWeights`.
_PARTS = (
    ("binpack", "binpack"),
    ("least", "least_requested"),
    ("most", "most_requested"),
    ("balanced", "balanced"),
)


def lacking(resources: Sequence[str], asked: Longs, idle: Longs) -> str:
    """Text that lists each resource of which less is idle than asked: ``nvidia.com/gpu: 24 asked, 16 idle``.

    Empty if enough of every resource is idle.

    Parameters
    ----------
    resources : sequence of str
        Names of the resources.
    asked, idle : ndarray of shape (r,), int64
        Amounts in the order of `resources`.
    """
    return ", ".join(
        f"{name}: {amount_text(name, int(wants))} asked, {amount_text(name, int(has))} idle"
        for name, wants, has in zip(resources, asked, idle, strict=True)
        if wants > has
    )


def above_text(tier: int, highest: int) -> str:
    """The reason that a HyperNode is not tried because its tier is above the highest one allowed."""
    return f"tier {tier} above the highest allowed {highest}"


def pods_text(count: int) -> str:
    """A number of pods in words: ``1 pod``, ``2 pods``."""
    return "1 pod" if count == 1 else f"{count} pods"


def room_for_text(held: int, needs: int) -> str:
    """Text with the number of pods, of the ``needs`` that a job needs, that a HyperNode could hold if it were tried."""
    return f"room for {held} of {pods_text(needs)}"


def room_text(demand: Demand, nodes: Ints, idle: Longs, left: Sequence[int], needs: int) -> str:
    """Text that says why some nodes do not hold the needed pods.

    Parameters
    ----------
    demand : Demand
    nodes : ndarray of int32
        Indices of the nodes.
    idle : ndarray of shape (n, r), int64
        Idle resources of all nodes of the cluster.
    left : sequence of int
        Pods of each role that are still to be placed.
    needs : int
        Pods that are needed; they are taken role by role in the order in which pods are tried.
    """
    asked = np.zeros(idle.shape[1], dtype=np.int64)
    accepted = np.zeros(len(nodes), dtype=np.bool_)
    for role in demand.order:
        count = min(left[role], needs)
        needs -= count
        if count:
            asked += demand.rows[role] * count
            accepted |= demand.feasible(role)[nodes].view(np.bool_)
    texts = []
    if not accepted.all():
        verb = "does" if len(nodes) == 1 else "do"
        texts.append(f"{int((~accepted).sum())} of {len(nodes)} nodes {verb} not accept them")
    if len(nodes) and not accepted.any():
        return texts[0]
    short = lacking(demand.ledger.snapshot.resources, asked, idle[nodes[accepted]].sum(axis=0))
    if short:
        texts.append(short)
    elif not texts:
        texts.append("enough is idle in sum, but not on single nodes")
    return "; ".join(texts)


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

    Parameters
    ----------
    filling : Filling
        The cluster's nodes before a pod of the job is placed.
    role : int
        Role of that pod.
    domain : int
        The HyperNode whose nodes are recorded; -1: every node.
    record : int
        HyperNode in which the job is allocated so far, by whose closeness nodes are scored; `NO_RECORD`: none.
    tasks_on_leaf : ndarray of shape (d,), int64, optional
        Pods of the job that each leaf holds already; None: none.
    total_tasks : int
        All tasks of the job; 0: the pod has no topology constraint.

    Notes
    -----
    The parts are: ``binpack``, ``least``, ``most``, ``balanced`` and ``gpu`` if they have a weight; ``taints`` if nodes
    differ in it; for a pod with a topology constraint ``tier`` (by the LCA with the record) and ``tasks`` (by the job's
    tasks on the leaf), for any other pod ``hypernodes`` if it prefers full HyperNodes. Their sum is the score, apart
    from rounding.
    """
    context = filling.context
    request = context.request
    recorder, topology = request.recorder, request.snapshot.topology
    if recorder is None or recorder.equals_only:
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
