from __future__ import annotations

from typing import Any

import pytest

from tests.notices import codes
from workbench.objects.admission import refuse_gpu_group, review

LABELS = {
    "gputopology.scheduling.koordinator.sh/name": "j",
    "gputopology.scheduling.koordinator.sh/replica": "4",
}


def annotations(name: str | None = "j", minimum: str | None = "4") -> dict[str, str]:
    given = {"gang.scheduling.koordinator.sh/name": name, "gang.scheduling.koordinator.sh/min-available": minimum}
    return {key: value for key, value in given.items() if value is not None}


@pytest.mark.parametrize("given", [annotations(), annotations(minimum="04"), annotations(name=None), {}])
def test_a_gang_that_agrees(given: dict[str, str]) -> None:
    assert refuse_gpu_group(LABELS, given) == ""


def test_without_a_group_nothing_is_compared() -> None:
    assert refuse_gpu_group({}, annotations(name="other", minimum="3")) == ""


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (annotations(name="other"), "name is 'j', annotation gang.scheduling.koordinator.sh/name is 'other'"),
        (annotations(minimum="3"), "replica is '4', annotation gang.scheduling.koordinator.sh/min-available is '3'"),
        (annotations(minimum=None), "min-available is ''"),
        (annotations(minimum="four"), "min-available is 'four'"),
        (annotations(name=None, minimum="3"), "min-available is '3'"),
    ],
)
def test_a_contradiction_names_both_values(given: dict[str, str], says: str) -> None:
    assert says in refuse_gpu_group(LABELS, given)


def test_a_group_that_is_none_agrees_with_no_gang() -> None:
    labels = {**LABELS, "gputopology.scheduling.koordinator.sh/replica": "0"}
    assert "replica is '0'" in refuse_gpu_group(labels, annotations(minimum="0"))


def metadata(**more: Any) -> dict[str, Any]:
    return {"name": "p", "labels": LABELS, "annotations": annotations(minimum="3"), **more}


def test_a_pod_is_refused_and_a_job_with_such_pods_warned() -> None:
    pod = review({"kind": "Pod", "metadata": metadata(), "spec": {}})
    assert not pod.allowed
    task = {"name": "w", "replicas": 4, "template": {"metadata": metadata(), "spec": {"containers": []}}}
    job = review({"kind": "Job", "metadata": {"name": "j"}, "spec": {"minAvailable": 4, "tasks": [task]}})
    assert "pods-refused-by-admission" in codes(job.warnings)
