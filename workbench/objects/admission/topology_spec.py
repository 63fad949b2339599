"""Admission rules for the field networkTopology of every kind that has it, and for the partitions of a task.

Source: docs/reference/volcano-topology.md, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.model.gang import TopologyConstraint
from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.objects.admission import schema
from workbench.objects.fields import child, get_int, get_map, get_text
from workbench.objects.job import Task
from workbench.objects.topology_spec import DEFAULT_MODE

__all__ = [
    "BOTH_TIERS",
    "both_tiers",
    "constraint_defaults",
    "constraint_errors",
    "constraint_warnings",
    "partition_error",
]

BOTH_TIERS = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"


def both_tiers(constraint: TopologyConstraint | None) -> bool:
    """Whether a topology constraint names its highest tier both by number and by name."""
    return constraint is not None and constraint.highest_tier is not None and bool(constraint.highest_tier_name)


def partition_error(task: Task, job: str) -> str:
    """Text of the first of Volcano's checks that a task's partitionPolicy fails; empty if it passes all.

    `job` is the name of the task's Job.
    """
    policy = task.partition
    if policy is None:
        return ""
    if policy.total_partitions <= 0:
        text = "'TotalPartitions' must be greater than 0"
    elif policy.partition_size <= 0:
        text = "'PartitionSize' must be greater than 0"
    elif task.replicas != policy.total_partitions * policy.partition_size:
        text = "'Replicas' are not equal to TotalPartitions*PartitionSize"
    elif task.min_available is not None and policy.min_partitions > 0 and policy.min_pods != task.min_available:
        text = "'MinAvailable' is not equal to MinPartitions*PartitionSize"
    else:
        return ""
    return f" {text} in task: {task.name}, job: {job};"


def constraint_errors(data: Mapping[str, Any], where: str, release: Release) -> list[str]:
    """Texts of the API server's schema for violations in the field networkTopology of a spec; empty if there are none.

    `data`: the spec that may have the field. `where`: path of the spec.
    """
    topology, where = get_map(data, "networkTopology", where), child(where, "networkTopology")
    errors = []
    mode = topology.get("mode")
    if mode is not None and get_text(topology, "mode", where) not in ("hard", "soft"):
        errors.append(schema.unsupported(f"{where}.mode", mode, ("hard", "soft")))
    tier = get_int(topology, "highestTierAllowed", where)
    if release is Release.V1_15 and tier is not None and tier < 0:
        errors.append(schema.below(f"{where}.highestTierAllowed", tier, 0))
    return errors


def constraint_defaults(data: Mapping[str, Any], where: str, release: Release) -> dict[str, Any]:
    """The defaults that the CRD schema writes into the field networkTopology of a spec, by field path.

    `data`, `where`: as in `constraint_errors`.
    """
    if data.get("networkTopology") is None:
        return {}
    topology, where = get_map(data, "networkTopology", where), child(where, "networkTopology")
    defaults: dict[str, Any] = {}
    if topology.get("mode") is None:
        defaults[f"{where}.mode"] = DEFAULT_MODE
    if release is Release.V1_13 and topology.get("highestTierAllowed") is None:
        defaults[f"{where}.highestTierAllowed"] = 1
    return defaults


def constraint_warnings(data: Mapping[str, Any], where: str, release: Release) -> list[Notice]:
    """Warnings about a networkTopology that is accepted but does not take effect as written (docs/decisions.md,
    decision 10).

    `data`: the object that holds ``networkTopology``. `where`: path of the field within the manifest. `release`: the
    release whose rules apply.
    """
    if data.get("networkTopology") is None:
        return []
    topology, where = get_map(data, "networkTopology", where), child(where, "networkTopology")
    if release is Release.V1_13:
        return []
    name = get_text(topology, "highestTierName", where)
    if topology.get("mode") in (None, "hard") and topology.get("highestTierAllowed") is None and not name:
        text = f"{where} is hard without a highest tier: it restricts nothing"
        return [Notice("constraint-without-effect", text, where)]
    return []
