"""Candidates of `explain`, nearest HyperNodes and differences of `compare` are true, for every registered policy.

Clusters of the field are generated, and every number, cause and difference is counted from the snapshot or computed by
running the policy (`explained_checks`).
"""

from __future__ import annotations

import random

import pytest

import workbench
from tests.evaluate.whatif.explained_checks import Explained, untrue, untrue_differences, untrue_loss
from tests.evaluate.whatif.field_clusters import KINDS, scenario_of
from workbench.evaluate.differences import differences
from workbench.evaluate.lost_places import lost_places
from workbench.model.gang import Gang
from workbench.model.scenario import Scenario
from workbench.policies import get_policy, list_policies

POLICIES = [info.name for info in list_policies() if info.kind == "node"]
#: Clusters in which nothing terminates and no job is made of Jobs: the snapshot alone says what is idle.
PLAIN = ("queues", "fleet", "kueue-alone", "kube", "koordinator")
SEEDS = range(2)


def scenario(kind: str, seed: int) -> Scenario:
    return scenario_of(KINDS[kind][0](random.Random(f"{kind} {seed}")))


def of_one_role(gang: Gang) -> bool:
    return len(gang.roles) == 1 and not gang.jobs and not gang.ready and not gang.sub_groups


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLAIN)
def test_every_candidate_and_note_of_explain_is_true(kind: str) -> None:
    seen = 0
    for seed in SEEDS:
        found = scenario(kind, seed)
        for name in POLICIES:
            policy = get_policy(name)
            for gang in filter(of_one_role, found.gangs):
                explanation = policy.explain(gang, found.snapshot)
                wrong = list(untrue(Explained(policy, found.snapshot, explanation)))
                assert not wrong, (kind, seed, name, gang.key, wrong)
                seen += len(explanation.candidates)
    assert seen > 50


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLAIN)
def test_every_difference_and_lost_place_of_compare_is_true(kind: str) -> None:
    for seed in SEEDS:
        found = scenario(kind, seed)
        comparison = workbench.compare(found, POLICIES, most_advised=0)
        wrong = list(untrue_differences(comparison, {one.job: one for one in differences(comparison)}))
        for lost in lost_places(comparison, [get_policy(name) for name in POLICIES]):
            wrong += untrue_loss(comparison, get_policy(lost.policy), lost)
        assert not wrong, (kind, seed, wrong)
