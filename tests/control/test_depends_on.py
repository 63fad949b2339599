"""A Job is said to be stuck by dependsOn exactly if the embedded cluster never starts it, in random lives."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given

from tests.choice import choices
from tests.control.manifests import job, small_cluster, task
from tests.profiles import max_examples
from workbench.control.cluster import EmbeddedCluster
from workbench.jobs.before_submission import unmet_dependency_of_job
from workbench.objects.job import read_job
from workbench.policies.registry import get_policy


def random_job(rng: random.Random) -> dict[str, Any]:
    tasks: list[dict[str, Any]] = []
    for number in range(rng.randint(2, 4)):
        replicas = rng.randint(1, 3)
        more: dict[str, Any] = {}
        if rng.random() < 0.4:
            more["minAvailable"] = rng.randint(0, replicas)
        if tasks and rng.random() < 0.6:
            names = rng.sample([one["name"] for one in tasks], rng.randint(1, len(tasks)))
            more["dependsOn"] = {"name": names, "iteration": rng.choice(["any", "all"])}
        tasks.append(task(f"t{number}", replicas, rng.choice([0, 1, 1]), **more))
    rng.shuffle(tasks)
    total = sum(one["replicas"] for one in tasks)
    return job(tasks=tasks, minAvailable=rng.randint(1, total)) if rng.random() < 0.8 else job(tasks=tasks)


@pytest.mark.parametrize("policy", ["volcano-1.15", "volcano-1.13"])
@max_examples(60)
@given(rng=choices())
def test_a_job_waits_for_ever_if_and_only_if_it_is_said_to(policy: str, rng: random.Random) -> None:
    manifest = random_job(rng)
    stuck = unmet_dependency_of_job(read_job(manifest))
    cluster = EmbeddedCluster(get_policy(policy), run_seconds=1000)
    cluster.submit(*small_cluster(), manifest)
    cluster.run(until=100)
    (row,) = cluster.jobs()
    assert (row.running == 0) == row.never_starts == (stuck is not None), manifest
    if stuck is not None:
        assert row.waits_for.startswith(stuck.message)
        if (least := stuck.numbers.get("lower_to")) is not None:
            manifest["spec"]["minAvailable"] = least
            other = EmbeddedCluster(get_policy(policy), run_seconds=1000)
            other.submit(*small_cluster(), manifest)
            other.run(until=100)
            assert other.jobs()[0].running > 0, manifest
