"""Admission of HyperJobs: findings with their paths, and defaults."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notices import codes
from tests.objects.test_hyper_job import DOCUMENT, HARD, TASKS, hyper_job, members
from workbench.model.release import Release
from workbench.objects.admission import notes_of, refusal_of, review

ENTRY = "spec.replicatedJobs[0]"
NO_TASK = "No task specified in job spec"


def test_defaults_are_filled_in() -> None:
    verdict = review(hyper_job(replicatedJobs=members(None), networkTopology={"highestTierAllowed": 2}))
    assert verdict.allowed
    assert verdict.defaults == {
        f"{ENTRY}.replicas": 1,
        "spec.minAvailable": 1,
        "spec.networkTopology.mode": "hard",
    }
    assert codes(verdict.warnings) == ("own-field",)
    assert review(hyper_job(replicatedJobs=members(4), minAvailable=2)).defaults == {}


FINDINGS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "too many needed": (
        {"replicatedJobs": members(3), "minAvailable": 4},
        [("spec.minAvailable", "HyperJob 'minAvailable' should not be greater than its 3 Jobs;")],
    ),
    "a name twice": (
        {"replicatedJobs": members() + members()},
        [("spec.replicatedJobs[1]", 'spec.replicatedJobs[1]: Duplicate value: {"name":"m"}')],
    ),
    "no name": (
        {"replicatedJobs": [{"templateSpec": {"tasks": TASKS}}]},
        [(f"{ENTRY}.name", f"{ENTRY}.name: Required value")],
    ),
    "negative counts": (
        {"replicatedJobs": members(-1), "minAvailable": -1},
        [
            (
                f"{ENTRY}.replicas",
                f"{ENTRY}.replicas: Invalid value: -1: {ENTRY}.replicas in body should be greater than or equal to 0",
            )
        ],
    ),
    "a negative tier": (
        {"replicatedJobs": members(), "networkTopology": {"mode": "hard", "highestTierAllowed": -1}},
        [("spec.networkTopology.highestTierAllowed", "should be greater than or equal to 0")],
    ),
    "two tiers": (
        {"replicatedJobs": members(), "networkTopology": {**HARD, "highestTierName": "rack"}},
        [("spec.networkTopology", "must not specify 'highestTierAllowed' and 'highestTierName'")],
    ),
    "no task": ({"replicatedJobs": members(tasks=[])}, [(f"{ENTRY}.templateSpec.tasks", NO_TASK)]),
    "a negative count in a template": (
        {"replicatedJobs": members(minAvailable=-1)},
        [(f"{ENTRY}.templateSpec.minAvailable", f"{ENTRY}.templateSpec.minAvailable: Invalid value: -1")],
    ),
    "a mode in a template": (
        {"replicatedJobs": members(networkTopology={"mode": "harder"})},
        [(f"{ENTRY}.templateSpec.networkTopology.mode", 'Unsupported value: "harder"')],
    ),
    "tasks of a template": (
        {"replicatedJobs": members(tasks=[*TASKS, *TASKS], minAvailable=9)},
        [
            (f"{ENTRY}.templateSpec.tasks[1].name", "duplicated task name w;"),
            (f"{ENTRY}.templateSpec.minAvailable", "should not be greater than total replicas in tasks;"),
        ],
    ),
    "an unknown plugin": (
        {"replicatedJobs": members(plugins={"none": []})},
        [(f"{ENTRY}.templateSpec.plugins.none", "none")],
    ),
}


@pytest.mark.parametrize(("spec", "want"), FINDINGS.values(), ids=FINDINGS.keys())
def test_every_finding_has_its_path(spec: dict[str, Any], want: list[tuple[str, str]]) -> None:
    verdict = review(hyper_job(**spec))
    found = [found for found in verdict.findings if found.path not in ("spec.minAvailable",) or len(want) == 1]
    assert [one.path for one in found][: len(want)] == [path for path, _ in want]
    for (_, text), one in zip(want, found, strict=False):
        assert text in one.text
    assert not verdict.allowed and verdict.defaults == {}
    assert refusal_of(hyper_job(**spec))


def test_names_of_jobs_and_pods_must_fit() -> None:
    fits = hyper_job(replicatedJobs=[{**members(11)[0], "name": "m" * 54}])
    assert review(fits).allowed  # h-mm…m-10-w-0
    for name in ("m" * 56, "m" * 60):
        manifest = hyper_job(replicatedJobs=[{**members(11)[0], "name": name}])
        found = review(manifest).findings
        assert found[0].path.startswith(ENTRY) and "63 characters" in found[0].text
    assert found[-1].path == f"{ENTRY}.name"


def test_a_release_that_is_named_makes_no_check_of_ours() -> None:
    ours = hyper_job(replicatedJobs=members(3, tasks=[]), minAvailable=9)
    assert not review(ours).allowed
    assert review(ours, Release.V1_15, own_plugins=False).allowed
    with_field = hyper_job(replicatedJobs=members(), networkTopology=HARD)
    assert "unknown field" in review(with_field, Release.V1_15, own_plugins=False).refusal
    assert notes_of(with_field) == []


def test_a_hard_constraint_without_a_tier_is_warned_of() -> None:
    manifest = hyper_job(replicatedJobs=members(networkTopology={"mode": "hard"}), networkTopology={"mode": "hard"})
    warned = [one.subject for one in review(manifest).warnings if one.code == "constraint-without-effect"]
    assert warned == ["spec.networkTopology", f"{ENTRY}.templateSpec.networkTopology"]


def test_misspelled_fields_of_the_document_are_refused_by_name() -> None:
    manifest = hyper_job(replicatedJobs=[{"name": "m", "template": {"tasks": TASKS}}])
    assert 'unknown field "spec.replicatedJobs[0].template" (did you mean templateSpec?)' in review(manifest).refusal
    assert review({**manifest, "apiVersion": DOCUMENT}).findings[0].path == "apiVersion"
