"""Who got a job's place: proved by sessions without that job, and only then told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fabrics import document_tree
from tests.profiles import max_examples
from workbench.evaluate.compare import compare
from workbench.evaluate.differences import differences
from workbench.evaluate.lost_places import LostPlace, lost_places
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.placement import Placement
from workbench.policies import get_policy

#: Leaves s0 to s3 of two nodes each, under s4 and s5, under s6.
SNAPSHOT = document_tree(cpu=1000)
NAMES = ("volcano-1.13", "volcano-1.15", "binpack", "spread")


def job(name: str, pods: int, tier: int | None = None, priority: int = 0) -> Gang:
    constraint = None if tier is None else TopologyConstraint("hard", tier)
    return Gang("d", name, (Role("w", pods, {"cpu": 1000}, priority=priority),), pods, constraint, priority=priority)


def nodes(result: object) -> list[int]:
    return sorted(result.node.tolist()) if isinstance(result, Placement) else []


@st.composite
def jobs(draw: st.DrawFn) -> list[Gang]:
    tiers = st.sampled_from([None, 1, 2])
    return [
        job(f"j{i}", draw(st.integers(1, 4)), draw(tiers), draw(st.integers(0, 1)))
        for i in range(draw(st.integers(2, 5)))
    ]


@pytest.mark.slow
@max_examples(40)
@given(jobs())
def test_what_is_told_is_what_a_session_without_that_job_does(gangs: list[Gang]) -> None:
    policies = [get_policy(name) for name in NAMES]
    comparison = compare(gangs, SNAPSHOT, policies)
    found = lost_places(comparison, policies)
    changed = {one.job for one in differences(comparison)}
    for one in found:
        assert one.job in changed and one.job != one.to and one.policy != one.place_by
        row = next(row for row in comparison.rows if row.policy == one.place_by)
        decision = row.decision(one.job)
        assert decision is not None
        left = [gang for gang in gangs if gang.key != one.to]
        again = get_policy(one.policy).schedule(left, SNAPSHOT)
        assert nodes(next(each.result for each in again if each.gang.key == one.job)) == nodes(decision.result) != []
    assert found == lost_places(comparison, policies)


def test_a_job_that_another_one_displaces_names_it() -> None:
    # volcano-1.15 does not place `large`, whose leaves are too small for it; binpack does, and takes the whole cluster.
    gangs = [job("large", 8, 1), job("small", 1)]
    policies = [get_policy("volcano-1.15"), get_policy("binpack")]
    comparison = compare(gangs, SNAPSHOT, policies)
    assert lost_places(comparison, policies) == (LostPlace("d/small", "d/large", "binpack", "volcano-1.15"),)
    (told,) = lost_places(comparison, policies)
    assert told.text == (
        "d/small, binpack: its place by volcano-1.15 went to d/large (in a session without d/large it gets that place)"
    )


def test_policies_that_agree_lose_nothing() -> None:
    policies = [get_policy("volcano-1.15"), get_policy("volcano-1.15")]
    assert lost_places(compare([job("a", 2), job("b", 2, 1)], SNAPSHOT, policies), policies) == ()
