"""HyperJobs as volcano-global's controller keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from workbench import InputError
from workbench.jobs import next_hyper_job


def hyper_job(replicas: int = 2, queue: str = "q", **metadata: Any) -> dict[str, Any]:
    member = {"name": "m", "replicas": replicas, "templateSpec": {"queue": queue, "tasks": [{"name": "w"}]}}
    return {
        "metadata": {"name": "h", "namespace": "ml", "uid": "u", **metadata},
        "spec": {"replicatedJobs": [member]},
    }


def named(manifests: Any) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in manifests]


def test_a_second_step_finds_nothing_to_do() -> None:
    made = next_hyper_job(hyper_job()).create
    assert named(made) == ["h-m-0", "h-m-1"]
    again = next_hyper_job(hyper_job(), made)
    assert (again.create, again.update, again.delete, again.errors) == ((), (), (), ())


def test_a_changed_template_keeps_what_admission_filled_in() -> None:
    made = [dict(job) for job in next_hyper_job(hyper_job()).create]
    for job in made:
        job["spec"] = {**job["spec"], "maxRetry": 3, "tasks": [{"name": "w", "maxRetry": 5}]}
    step = next_hyper_job(hyper_job(1, queue="other"), made)
    (written,) = step.update
    assert written["spec"] == {"queue": "other", "maxRetry": 3, "tasks": [{"name": "w", "maxRetry": 5}]}
    assert step.delete == ("h-m-1",)
    assert next_hyper_job(hyper_job(1, queue="other"), [written]).update == ()


def ended(job: Any, phase: str) -> dict[str, Any]:
    return {**job, "status": {"state": {"phase": phase}, "succeeded": 1}}


@pytest.mark.parametrize(
    ("phases", "want"),
    [(("Completed", "Running"), None), (("Completed", "Completed"), "Completed"), (("Completed", "Aborted"), "Failed")],
)
def test_a_hyper_job_ends_when_all_its_jobs_have(phases: tuple[str, str], want: str | None) -> None:
    made = next_hyper_job(hyper_job()).create
    jobs = [ended(job, phase) for job, phase in zip(made, phases, strict=True)]
    status = next_hyper_job(hyper_job(), jobs).status
    assert [one["type"] for one in status["conditions"]] == ([want] if want else [])
    assert status["replicatedJobsStatus"][0]["jobStates"] == dict(zip(("h-m-0", "h-m-1"), phases, strict=True))
    frozen = next_hyper_job({**hyper_job(), "status": status}, made).status
    assert (frozen == status) == (want is not None)


def test_nothing_is_done_for_one_that_is_being_deleted() -> None:
    step = next_hyper_job(hyper_job(deletionTimestamp="2026-01-01T00:00:00Z"))
    assert (step.create, step.policies) == ((), ())


def test_a_field_of_the_wrong_type_is_named() -> None:
    broken = {"metadata": {"name": "h"}, "spec": {"replicatedJobs": [{"name": "m", "templateSpec": []}]}}
    with pytest.raises(InputError, match=r"spec\.replicatedJobs\[0\]\.templateSpec"):
        next_hyper_job(broken)
