"""A scheduling session as JSON-ready dicts, in the form of ``place -o json`` (docs/commands.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.evaluate.member_jobs import placed_jobs
from workbench.evaluate.metrics import RunMetrics
from workbench.model.gang import Gang, PodRef
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.placement import Decision, PlacedPod, Placement

if TYPE_CHECKING:
    from workbench.evaluate.whatif.fix import FixReport

__all__ = ["VISIBLE_DEVICES", "decision_record", "session_record", "visible_devices", "visible_text"]

#: Environment variables that tell a container its GPUs (docs/decisions.md, decision 8).
VISIBLE_DEVICES = ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


_NO_ADVICE: Mapping[str, FixReport] = {}


def session_record(
    policy: str,
    parameters: Mapping[str, Any],
    decisions: Sequence[Decision],
    metrics: RunMetrics | None,
    advice: Mapping[str, FixReport] = _NO_ADVICE,
    *,
    group_annotation: str = "",
    advice_note: str = "",
) -> dict[str, Any]:
    """A scheduling session as a JSON-ready dict with policy, parameters, jobs in the order of the gangs, and metrics.

    Parameters
    ----------
    metrics : RunMetrics or None
        None if the policy raised.
    advice : mapping of str to FixReport
        Why pending jobs wait and what would help, by ``namespace/name``.
    group_annotation : str
        Annotation with which the policy's scheduler writes the HyperNode of a job on its PodGroup: each placed job then
        has the key ``group_annotations``. Empty: it writes none.
    advice_note : str
        About pending jobs without advice, for the key ``advice_note``; empty: there are none, and no such key.
    """
    return {
        "policy": policy,
        "parameters": dict(parameters),
        "jobs": [
            {
                **decision_record(decision),
                **_on_the_group(decision, group_annotation),
                **({"advice": advice[decision.gang.key].to_dict()} if decision.gang.key in advice else {}),
            }
            for decision in decisions
        ],
        "metrics": None if metrics is None else metrics.to_dict(),
        **({"advice_note": advice_note} if advice_note else {}),
    }


def _on_the_group(decision: Decision, annotation: str) -> dict[str, dict[str, str]]:
    """``group_annotations`` of a placed job; empty if the scheduler writes nothing on its PodGroup."""
    result = decision.result
    if not annotation or not isinstance(result, Placement) or not result.n_placed or not result.records:
        return {}
    return {"group_annotations": {annotation: result.records.get(decision.gang.key, "")}}


def decision_record(decision: Decision) -> dict[str, Any]:
    """The decision on one job as a JSON-ready dict.

    ``placed`` means that min_available is met, ``turn`` is the job's place in the order of the decisions.

    A job and a pod that came from a cluster have their ``uid`` and ``resource_version``, so that a program that acts on
    the answer can make its action conditional; others have neither key. A pod that shares its GPU has ``gpu_milli``,
    its share in thousandths of the GPU. A placed HyperJob has ``jobs``, the HyperNode of each Job. ``environment`` has
    the variables of `VISIBLE_DEVICES` of each container of a pod; empty for a container without GPUs.
    """
    result, gang = decision.result, decision.gang
    record: dict[str, Any] = {
        "namespace": gang.namespace,
        "name": gang.name,
        **_identity(gang),
        "outcome": "placed" if decision.placed else "pending",
        "turn": decision.turn,
        "hypernode": None,
        "tier": None,
        "pods": [],
        "unplaced": [],
        "reasons": [],
        "warnings": [warning.to_dict() for warning in result.warnings],
    }
    if isinstance(result, Placement):
        record["hypernode"] = result.hypernode or None
        record["tier"] = result.tier
        known = any(role.pod_uids or role.pod_resource_versions for role in gang.roles)
        record["pods"] = [
            {
                "name": pod.name,
                **(_identity(gang.pod(int(position))) if known else {}),
                "node": pod.node,
                "gpus": list(pod.gpus),
                **({"gpu_milli": pod.gpu_milli} if pod.gpu_milli < WHOLE_GPU else {}),
                "rank": pod.rank,
                "annotations": dict(pod.annotations),
                "environment": visible_devices(pod),
            }
            for position, pod in zip(np.flatnonzero(result.node >= 0), result.pods(), strict=True)
        ]
        if gang.jobs:
            record["jobs"] = [job.to_dict() for job in placed_jobs(result)]
        record["unplaced"] = [
            {"name": gang.pod(u.position).name, "reasons": [r.to_dict() for r in u.reasons]} for u in result.unplaced
        ]
    else:
        record["reasons"] = [reason.to_dict() for reason in result.reasons]
        record["nearest_misses"] = [
            {"tier": int(miss.tier), "domain": miss.domain, "holds": int(miss.holds), "needs": int(miss.needs)}
            for miss in result.nearest_misses
        ]
    return record


def visible_devices(pod: PlacedPod) -> list[dict[str, str]]:
    """The variables of `VISIBLE_DEVICES` for each container of a pod; an empty list if the pod has no GPUs.

    The dict of a container without GPUs is empty.
    """
    return [pod.environment(container) for container in range(len(pod.container_gpus))]


def _identity(of: Gang | PodRef) -> dict[str, str]:
    """``uid`` and ``resource_version`` of a gang or pod, without those that are empty."""
    return {key: value for key in ("uid", "resource_version") if (value := getattr(of, key))}


def visible_text(environment: Sequence[dict[str, str]], name: str) -> str:
    """Values of an environment variable in a pod's containers, joined by a semicolon and a space.

    `environment` has the variables of each container; containers without the variable are left out.
    """
    return "; ".join(one[name] for one in environment if name in one)
