from __future__ import annotations

from typing import Any

import pytest

from workbench.model.release import Release
from workbench.objects.admission.job import refuse_job
from workbench.objects.admission.job_update import refuse_job_update
from workbench.objects.job import read_job


def refusal(*tasks: dict[str, Any], **spec: Any) -> str:
    return refuse_job({"metadata": {"name": "j"}, "spec": {"tasks": list(tasks), **spec}})


TOO_MANY = "job 'minAvailable' should not be greater than total replicas in tasks;"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(refusal({"name": "a", "replicas": 2}), "", id="accepted"),
        pytest.param(refusal({"name": "a", "replicas": 2}, minAvailable=2), "", id="exactly all"),
        pytest.param(refusal({"name": "a", "replicas": 2}, minAvailable=3), TOO_MANY, id="minimum above replicas"),
        pytest.param(refusal(), "No task specified in job spec", id="no task"),
        pytest.param(
            refusal({"name": "a", "replicas": 1, "minAvailable": 2}, minAvailable=1),
            "'minAvailable' is greater than 'replicas' in task: a, job: j;",
            id="task minimum above replicas",
        ),
        pytest.param(
            # The walk ends at the second "a": its pods are not counted, so the minimum of both is refused as well.
            refusal({"name": "a", "replicas": 1}, {"name": "a", "replicas": 1}),
            f"duplicated task name a; {TOO_MANY}",
            id="duplicate task name",
        ),
        pytest.param(
            refusal({"name": "t", "replicas": -1}, minAvailable=1),
            f"spec.tasks[0].replicas: Invalid value: -1: should be greater than or equal to 0; {TOO_MANY}",
            id="negative replicas",
        ),
        pytest.param(
            refusal(
                {"name": "a"}, networkTopology={"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}
            ),
            "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously",
            id="both ways to name a tier",
        ),
    ],
)
def test_what_a_webhook_says(text: str, want: str) -> None:
    assert text == want


def test_defaults_of_the_mutating_webhook() -> None:
    tasks = [{"replicas": 3, "minAvailable": 2}, {"name": "b"}]
    job = read_job({"metadata": {"name": "j"}, "spec": {"tasks": tasks}})
    assert [task.name for task in job.tasks] == ["default0", "b"]
    assert job.min_available == 2 + 1
    assert job.queue == "default"


PARTED = {"name": "t", "replicas": 8, "partitionPolicy": {"totalPartitions": 2, "partitionSize": 4, "minPartitions": 1}}
BOTH = {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}


def parted(replicas: int = 8, minimum: int | None = None, **policy: Any) -> dict[str, Any]:
    """A task in partitions; policy replaces fields of one that is accepted."""
    task = {**PARTED, "replicas": replicas, "partitionPolicy": {**PARTED["partitionPolicy"], **policy}}
    return task if minimum is None else {**task, "minAvailable": minimum}


@pytest.mark.parametrize(
    ("task", "want"),
    [
        pytest.param(parted(), "", id="accepted"),
        pytest.param(parted(minimum=4), "", id="the minimum of the partitions"),
        pytest.param(parted(minimum=8, minPartitions=0), "", id="no minimum of partitions"),
        pytest.param(
            parted(totalPartitions=0, partitionSize=0), "'TotalPartitions' must be greater than 0", id="first"
        ),
        pytest.param(parted(partitionSize=-1), "'PartitionSize' must be greater than 0", id="size"),
        pytest.param(parted(9), "'Replicas' are not equal to TotalPartitions*PartitionSize", id="replicas"),
        pytest.param(parted(minimum=8), "'MinAvailable' is not equal to MinPartitions*PartitionSize", id="minimum"),
    ],
)
@pytest.mark.parametrize("refuse", [refuse_job, refuse_job_update])
def test_partitions_the_first_check_that_fails(refuse: Any, task: dict[str, Any], want: str) -> None:
    job = {"metadata": {"name": "j"}, "spec": {"tasks": [task], "minAvailable": 1}}
    assert refuse(job) == (f"{want} in task: t, job: j;" if want else "")
    assert refuse(job, Release.V1_13) == ""


def test_a_partition_that_names_its_tier_twice() -> None:
    assert "must not specify 'highestTierAllowed' and 'highestTierName'" in refusal(parted(networkTopology=BOTH))


def test_an_update_has_texts_of_its_own() -> None:
    job = {"metadata": {"name": "j"}, "spec": {"tasks": [{"name": "t", "minAvailable": 2}], "minAvailable": 3}}
    assert refuse_job_update(job) == (
        "'minAvailable' must be <= 'replicas' in task: t; job 'minAvailable' must not be greater than total replicas"
    )


@pytest.mark.parametrize(("least", "want"), [(2, 2 * 4), (0, 12)])
def test_the_minimum_of_a_partitioned_task(least: int, want: int) -> None:
    task = parted(12, totalPartitions=3, minPartitions=least)
    job = read_job({"metadata": {"name": "j"}, "spec": {"tasks": [task, {"name": "b", "replicas": 2}]}})
    assert job.tasks[0].minimum == want
    assert job.min_available == want + 2
