"""Runner of constraints and sub-groups: `topology-spec`, `sub-job`, `job-to-podgroup` and `pod-annotations`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.registry import Runners, assert_pinned
from tests.reference.sub_group_ready import is_pipelined, is_ready
from workbench.jobs.sub_groups import (
    PARTITION_LABEL,
    match_index,
    match_values,
    partition_id,
    sub_group_policy,
    sub_job_id,
)
from workbench.model.gang import TopologyConstraint
from workbench.objects.job import read_job
from workbench.objects.partition import SubGroupPolicy, read_sub_group_policies
from workbench.objects.topology_spec import constraint_from_annotations, read_constraint
from workbench.policies.volcano.v1_15.constraints import (
    adjust_constraints,
    hard_tier,
    is_soft,
    soft_to_hard,
    translate_tier_name,
)


def register(runners: Runners) -> None:
    """Add the operations of these files to the area's runners."""
    spec = "topology-spec"
    runners.op(spec, "translate-tier-names", ("job", "tier_names"), ("job_network_topology", "sub_jobs"))(translate)
    runners.op(spec, "session-open-adjust", ("job", "tier_names", "cluster_top_tier"), ("job_mode", "job_tier"))(adjust)
    runners.op(
        spec,
        "soft-to-hard",
        ("job_network_topology", "sub_group_policies", "cluster_top_tier"),
        ("contains_hard_topology", "job_mode", "job_tier", "policy_modes", "policy_tiers"),
    )(job_soft_to_hard)
    runners.op(spec, "sub-job-soft-to-hard", ("network_topology", "max_tier"), ("changed", "mode", "tier"))(sub_job)
    runners.op(spec, "is-hard", ("network_topology",), ("hard", "tier"))(is_hard)
    runners.op(spec, "job-is-hard", ("network_topology", "has_podgroup"), ("hard", "tier"))(is_hard)
    runners.op(spec, "is-soft", ("network_topology",), ("soft",))(soft)
    runners.op("sub-job", "match-values", ("policy", "pod_labels"), ("match_values",))(values_of_pod)
    runners.op(
        "sub-job",
        "new-sub-job",
        ("gid", "uid", "job", "policy", "match_values"),
        ("min_available", "match_index", "network_topology"),
    )(new_sub_job)
    counts = ("min_available", "tasks_by_status")
    runners.op("sub-job", "sub-job-ready", counts, ("result",))(ready)
    runners.op("sub-job", "sub-job-pipelined", counts, ("result",))(pipelined)
    runners.op("sub-job", "sub-job-id", ("job", "policy", "match_values"), ("id",))(identifier)
    runners.op("job-to-podgroup", "sub-group-policy", ("task",), ("subGroupPolicy",))(policy_of_task)
    runners.op("job-to-podgroup", "partition-ids", ("partitionSize", "pod_indexes"), ("label", "partition_ids"))(
        partition_ids
    )
    runners.op("pod-annotations", "topology-from-annotations", ("pod_annotations",), ("networkTopology",))(annotations)


def translate(given: dict[str, Any], want: dict[str, Any]) -> None:
    job, names = given["job"], given["tier_names"]
    found = written(translate_tier_name(constraint(job["network_topology"]), names))
    assert found == plain(want["job_network_topology"])
    subs = {name: written(translate_tier_name(constraint(one), names)) for name, one in job["sub_jobs"].items()}
    assert subs == {name: plain(topology) for name, topology in want["sub_jobs"].items()}


def adjust(given: dict[str, Any], want: dict[str, Any]) -> None:
    job = given["job"]
    sub_groups = [constraint(one) for one in job["sub_group_topologies"] or ()]
    found, _ = adjust_constraints(
        constraint(job["network_topology"]), sub_groups, given["tier_names"], given["cluster_top_tier"]
    )
    assert (mode_of(found), tier_of(found)) == (want["job_mode"], want["job_tier"])


def job_soft_to_hard(given: dict[str, Any], want: dict[str, Any]) -> None:
    policies = [constraint(policy["networkTopology"]) for policy in given["sub_group_policies"]]
    job, found = adjust_constraints(constraint(given["job_network_topology"]), policies, {}, given["cluster_top_tier"])
    assert (mode_of(job), tier_of(job)) == (want["job_mode"], want["job_tier"])
    assert [mode_of(one) for one in found] == want["policy_modes"]
    assert [tier_of(one) for one in found] == want["policy_tiers"]
    assert any(hard_tier(one) is not None for one in (job, *found)) == want["contains_hard_topology"]


def sub_job(given: dict[str, Any], want: dict[str, Any]) -> None:
    before = constraint(given["network_topology"])
    after = soft_to_hard(before, given["max_tier"])
    assert (after != before, mode_of(after), tier_of(after)) == (want["changed"], want["mode"], want["tier"])


def is_hard(given: dict[str, Any], want: dict[str, Any]) -> None:
    """A job without a PodGroup has no constraint."""
    found = constraint(given["network_topology"]) if given.get("has_podgroup", True) else None
    assert (hard_tier(found) is not None, tier_of(found) or 0) == (want["hard"], want["tier"])


def soft(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert is_soft(constraint(given["network_topology"])) == want["soft"]


def values_of_pod(given: dict[str, Any], want: dict[str, Any]) -> None:
    found = match_values(policy_of(given["policy"]), given["pod_labels"] or {})
    assert found == (None if want["match_values"] is None else tuple(want["match_values"]))


def new_sub_job(given: dict[str, Any], want: dict[str, Any]) -> None:
    policy = policy_of(given["policy"] or {})
    assert policy.size == want["min_available"]
    assert match_index(given["match_values"]) == want["match_index"]
    assert written(policy.constraint) == plain(want["network_topology"])


def identifier(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert sub_job_id(given["job"], given["policy"], given["match_values"]) == want["id"]


def ready(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert is_ready(given["min_available"], *tasks_of(given["tasks_by_status"])) == want["result"]


def pipelined(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert is_pipelined(given["min_available"], *tasks_of(given["tasks_by_status"])) == want["result"]


def tasks_of(by_status: Mapping[str, Mapping[str, int]]) -> tuple[dict[str, int], int]:
    """Tasks by status, and how many of the pending ones are best-effort."""
    totals = {status: tasks["total"] for status, tasks in by_status.items()}
    return totals, by_status.get("Pending", {}).get("best_effort", 0)


def policy_of_task(given: dict[str, Any], want: dict[str, Any]) -> None:
    job = read_job({"metadata": {"name": "job"}, "spec": {"tasks": [given["task"]]}})
    assert sub_group_policy(job.tasks[0]) == policy_of(want["subGroupPolicy"])


def partition_ids(given: dict[str, Any], want: dict[str, Any]) -> None:
    found = [partition_id(i, given["partitionSize"]) for i in given["pod_indexes"]]
    assert_pinned({"label": PARTITION_LABEL, "partition_ids": found}, want)


def annotations(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert written(constraint_from_annotations(given["pod_annotations"])) == plain(want["networkTopology"])


def constraint(topology: Mapping[str, Any] | None) -> TopologyConstraint | None:
    return read_constraint({"networkTopology": topology}, "")


def policy_of(policy: Mapping[str, Any] | None) -> SubGroupPolicy | None:
    return None if policy is None else read_sub_group_policies({"subGroupPolicy": [policy]}, "")[0]


def written(found: TopologyConstraint | None) -> dict[str, Any] | None:
    """A constraint as the cases write it: without keys that say nothing."""
    if found is None:
        return None
    return plain(
        {"mode": found.mode, "highestTierAllowed": found.highest_tier, "highestTierName": found.highest_tier_name}
    )


def plain(topology: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A case's constraint without keys that say nothing."""
    return None if topology is None else {key: value for key, value in topology.items() if value not in ("", None)}


def mode_of(found: TopologyConstraint | None) -> str | None:
    return found.mode if found else None


def tier_of(found: TopologyConstraint | None) -> int | None:
    return found.highest_tier if found else None
