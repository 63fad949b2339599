from __future__ import annotations

from typing import Any

import pytest

from workbench.objects.admission import refuse_job
from workbench.objects.job import read_job


def refusal(*tasks: dict[str, Any], **spec: Any) -> str:
    return refuse_job(read_job({"metadata": {"name": "j"}, "spec": {"tasks": list(tasks), **spec}}))


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
