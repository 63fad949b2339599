"""Names of sub-groups; upstream's own rows are in the conformance cases."""

from __future__ import annotations

import pytest

from workbench.jobs.sub_groups import match_index, match_values, partition_id, sub_group_policy, sub_job_id
from workbench.objects.job import read_job
from workbench.objects.partition import read_sub_group_policies


def test_a_task_without_partitions_has_no_policy() -> None:
    job = read_job({"metadata": {"name": "j"}, "spec": {"tasks": [{"name": "t"}]}})
    assert sub_group_policy(job.tasks[0]) is None


def test_the_policy_of_a_task_captures_its_pods_by_partition() -> None:
    task = {"name": "t", "replicas": 6, "partitionPolicy": {"totalPartitions": 2, "partitionSize": 3}}
    job = read_job({"metadata": {"name": "j"}, "spec": {"tasks": [task]}})
    policy = sub_group_policy(job.tasks[0])
    assert policy is not None
    labels = {"volcano.sh/task-spec": "t", "volcano.sh/partition-id": partition_id(4, 3)}
    assert match_values(policy, labels) == ("1",)
    assert match_values(policy, {**labels, "volcano.sh/task-spec": "other"}) is None
    assert partition_id(4, 0) == "0"


@pytest.mark.parametrize(
    ("selector", "want"),
    [(None, ("a",)), ({}, ("a",)), ({"matchExpressions": [{"key": "k", "operator": "Near", "values": ["a"]}]}, None)],
    ids=["no selector", "an empty selector", "a selector that cannot be read"],
)
def test_selectors_that_say_nothing(selector: object, want: object) -> None:
    (policy,) = read_sub_group_policies({"subGroupPolicy": [{"labelSelector": selector, "matchLabelKeys": ["k"]}]}, "")
    assert match_values(policy, {"k": "a"}) == want


def test_long_values_become_a_short_code() -> None:
    at_most, longer = "v" * 128, "v" * 129
    assert sub_job_id("j", "p", [at_most]) == f"j/p-{at_most}"
    code = sub_job_id("j", "p", [longer]).removeprefix("j/p-")
    assert 0 < len(code) <= 10
    assert code != sub_job_id("j", "p", [longer, ""]).removeprefix("j/p-")


@pytest.mark.parametrize(
    ("values", "want"), [(["3", "x"], 3), (["x"], 0), ([], 0), (["1.5"], 0), (["-2"], -2), (["9" * 19], 0)]
)
def test_the_order_of_sub_groups(values: list[str], want: int) -> None:
    assert match_index(values) == want
