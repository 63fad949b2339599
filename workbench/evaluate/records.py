"""A session as JSON-ready dictionaries: the shape of ``place -o json`` (DESIGN section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.evaluate.metrics import RunMetrics
from workbench.model.placement import Decision, Placement, Reason

__all__ = ["decision_record", "session_record"]


def session_record(
    policy: str, parameters: Mapping[str, Any], decisions: Sequence[Decision], metrics: RunMetrics | None
) -> dict[str, Any]:
    """Policy, jobs in the order of the gangs, metrics (None where the policy raised)."""
    return {
        "policy": policy,
        "parameters": dict(parameters),
        "jobs": [decision_record(decision) for decision in decisions],
        "metrics": None if metrics is None else metrics.to_dict(),
    }


def decision_record(decision: Decision) -> dict[str, Any]:
    """One job: ``placed`` means that min_available is met, ``turn`` is its place in the order of the decisions."""
    result = decision.result
    record: dict[str, Any] = {
        "namespace": decision.gang.namespace,
        "name": decision.gang.name,
        "outcome": "placed" if decision.placed else "pending",
        "turn": decision.turn,
        "hypernode": None,
        "tier": None,
        "pods": [],
        "unplaced": [],
        "reasons": [],
        "warnings": list(result.warnings),
    }
    if isinstance(result, Placement):
        record["hypernode"] = result.hypernode or None
        record["tier"] = result.tier
        record["pods"] = [
            {
                "name": pod.name,
                "node": pod.node,
                "gpus": list(pod.gpus),
                "rank": pod.rank,
                "annotations": dict(pod.annotations),
            }
            for pod in result.pods()
        ]
        record["unplaced"] = [
            {"name": decision.gang.pod(u.position).name, "reasons": [_reason(r) for r in u.reasons]}
            for u in result.unplaced
        ]
    else:
        record["reasons"] = [_reason(reason) for reason in result.reasons]
        record["nearest_misses"] = [
            {"tier": int(miss.tier), "domain": miss.domain, "holds": int(miss.holds), "needs": int(miss.needs)}
            for miss in result.nearest_misses
        ]
    return record


def _reason(reason: Reason) -> dict[str, Any]:
    return {"code": reason.code, "message": reason.message, "count": int(reason.count)}
