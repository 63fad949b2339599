"""Pending jobs of a made-up cluster with queues, roles and taints; skipped where there is no public data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

BOTH = pytest.mark.parametrize("policy", ["volcano-1.13", "volcano-1.15"])


#: What was told before, by the arguments: each answer takes seconds.
TOLD: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}


def told(run: Run, policy: str, *paths: Path) -> dict[str, dict[str, Any]]:
    """What is told about each job, by its name."""
    if (policy, *paths) not in TOLD:
        jobs = run("place", *paths, "--policy", policy, "-o", "json").json["jobs"]
        TOLD[policy, *paths] = {job["name"]: job for job in jobs}
    return TOLD[policy, *paths]


@pytest.mark.slow
@BOTH
def test_two_policies_tell_one_truth_about_a_rack(run: Run, live_cluster: Path, policy: str) -> None:
    """A rack whose four nodes are tainted is not the nearest; one with two idle nodes is."""
    (miss,) = told(run, policy, live_cluster)["gpt-rack-2"]["nearest_misses"]
    assert (miss["tier"], miss["holds"], miss["needs"]) == (1, 2, 4)
    assert "rack-05" in miss.values()


@pytest.mark.slow
@BOTH
def test_a_master_and_its_workers_share_a_rack(run: Run, live_cluster: Path, public_data: Path, policy: str) -> None:
    """Racks have four nodes of 8 GPUs, and each of the eight pods asks for 8."""
    train = public_data / "pending-from-life" / "train.yaml"
    jobs = told(run, policy, live_cluster, train)
    (job,) = (job for name, job in jobs.items() if name not in told(run, policy, live_cluster))
    assert job["outcome"] == "pending"
    assert max(miss["holds"] for miss in job["nearest_misses"] if miss["tier"] == 1) <= 4


@pytest.mark.slow
def test_a_queue_is_blamed_where_it_takes_less_than_is_needed(run: Run, live_cluster: Path) -> None:
    jobs = told(run, "volcano-1.15", live_cluster)
    codes = {name: [reason["code"] for reason in job.get("reasons", ())] for name, job in jobs.items()}
    assert codes["nlp-next"] == ["queue-limit", "gang-unschedulable"]
    assert codes["moe-row"] == ["queue-limit", "no-domain", "gang-unschedulable"]
    # Fourteen of its pods may come, and four are needed.
    assert codes["elastic"] == ["no-domain", "gang-unschedulable"]
    assert [one["code"] for one in jobs["elastic"]["warnings"] if one["code"].startswith("queue")] == ["queue-share"]


@pytest.mark.slow
@BOTH
def test_no_sentence_is_told_twice(run: Run, live_cluster: Path, policy: str) -> None:
    jobs = [job for job in told(run, policy, live_cluster).values() if job["outcome"] == "pending"]
    assert len(jobs) > 3
    for job in jobs:
        assert sum("nodes are unavailable" in reason["message"] for reason in job["reasons"]) <= 1


def test_who_reserves_what_a_job_asks_for_is_named(run: Run, public_data: Path) -> None:
    folder = public_data / "from-life-3" / "18-who-holds-the-reservation"
    if not folder.is_dir():
        pytest.skip(f"not among the public data: {folder.name}")
    result = run("place", folder / "input.yaml", "--set", f"config={folder / 'scheduler.conf'}", "-o", "json")
    (small,) = (job for job in result.json["jobs"] if job["name"] == "small")
    assert small["reasons"][0]["message"].endswith("default/big, admitted before it, reserves 2 nvidia.com/gpu")
    assert small["reasons"][0]["numbers"]["reserved nvidia.com/gpu"] == 2
