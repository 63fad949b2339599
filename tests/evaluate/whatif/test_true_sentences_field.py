"""Sentences about pending jobs are true in clusters of the field: each is computed once more by running the policy.

Kueue with quota and cohorts, kube-scheduler with spread and affinity, fleets of equal nodes, terminating pods,
HyperJobs, Koordinator's gangs: what causes, remedies, nearest HyperNodes and holders say (`sentence_checks`).
"""

from __future__ import annotations

import random

import pytest

from tests.evaluate.whatif.field_clusters import KINDS, scenario_of
from tests.evaluate.whatif.sentence_checks import Asked, untrue
from tests.profiles import seeds
from workbench.evaluate.whatif.fix import fix_report
from workbench.model.placement import Refusal
from workbench.policies import get_policy


def check(kind: str, seed: int) -> int:
    """Look at every pending job of one cluster by each policy of its kind; returns how many there were."""
    make, policies = KINDS[kind]
    scenario, seen = scenario_of(make(random.Random(f"{kind} {seed}"))), 0
    for name in policies:
        policy = get_policy(name)
        decisions = policy.schedule(scenario.gangs, scenario.snapshot)
        for decision in decisions:
            if isinstance(decision.result, Refusal):
                key = decision.gang.key
                report = fix_report(policy, scenario.gangs, scenario.snapshot, key, decisions=decisions, most_runs=300)
                found = list(untrue(Asked(policy, scenario, decisions, decision.result, report)))
                assert not found, (kind, seed, name, key, found)
                seen += 1
    return seen


#: The cluster of each kind that the quick set looks at: a job waits there. `make test` looks at thirty of each kind.
QUICK = dict.fromkeys(KINDS, 0) | {
    "kueue": 1,
    "koordinator": 1,
    "queues": 5,
    "fleet": 1,
    "terminating": 2,
    "hyper-jobs": 4,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_sentence_about_a_cluster_of_the_field_is_true(kind: str) -> None:
    assert check(kind, QUICK[kind])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_sentence_about_many_clusters_of_the_field_is_true(kind: str) -> None:
    assert sum(check(kind, seed) for seed in seeds(60, 30) if seed != QUICK[kind])


@pytest.mark.parametrize(("kind", "seed", "policy"), [("fleet", 23, "kube-default"), ("kube", 13, "volcano-1.15")])
def test_a_job_is_said_to_take_the_room_only_if_nobody_else_would(kind: str, seed: int, policy: str) -> None:
    """Without the job that would wait, a third one takes what it leaves."""
    scenario, seen = scenario_of(KINDS[kind][0](random.Random(f"{kind} {seed}"))), False
    chosen = get_policy(policy)
    for decision in chosen.schedule(scenario.gangs, scenario.snapshot):
        if isinstance(decision.result, Refusal):
            report = fix_report(chosen, scenario.gangs, scenario.snapshot, decision.gang.key)
            seen = seen or report.cause.startswith("other jobs come first and take what it needs; if it came first, ")
    assert seen
