"""Advice for pending jobs: every remedy was tried, and says what somebody has to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import cluster_yaml, job_yaml
from workbench.evaluate.switch_changes import after_session
from workbench.evaluate.whatif.edits import AllowTier, FreeResources, LowerMinimum, Together, Uncordon
from workbench.evaluate.whatif.remedies import Advice, advise_session
from workbench.formats.load import load
from workbench.model.placement import Placement
from workbench.model.snapshot import Scenario
from workbench.policies import get_policy

POLICIES = ("volcano-1.15", "volcano-1.13", "allocate", "gang", "koordinator-network")


@pytest.fixture
def scenario(tmp_path: Path):
    """Two leaves of two nodes of 8 GPUs (`tests.cli.conftest.cluster_yaml`) and the jobs of the given texts."""

    def call(*jobs: str, cluster: str = cluster_yaml()) -> Scenario:
        (tmp_path / "all.yaml").write_text("---\n".join((cluster, *jobs)), "utf-8")
        return load(tmp_path / "all.yaml")

    return call


def advice_of(scenario: Scenario, policy: str = "volcano-1.15") -> dict[str, Advice]:
    """The advice of a session; every remedy is made to happen once more, and places the job."""
    chosen = get_policy(policy)
    decisions = chosen.schedule(scenario.gangs, scenario.snapshot)
    advice = advise_session(chosen, decisions, scenario.snapshot)
    assert set(advice) == {decision.gang.key for decision in decisions if not decision.placed}
    after = after_session(scenario.snapshot, decisions)
    for key, one in advice.items():
        gang = next(gang for gang in scenario.gangs if gang.key == key)
        assert not isinstance(chosen.place(gang, after.ledger()), Placement)
        for edit in one.remedies:
            changed, cluster = edit.apply(gang, after)
            assert isinstance(chosen.place(changed, cluster.ledger()), Placement), edit.text
    return advice


def test_a_wider_tier_helps_and_is_the_smallest_one(scenario) -> None:
    (one,) = advice_of(scenario(job_yaml("a", 3, highest_tier=1)), "volcano-1.13").values()
    assert one.remedies[0] == AllowTier(2)
    assert one.headline == (
        "no HyperNode that its constraint allows holds 3 pods; nearest: s0 (tier 1) holds 2 of 3; "
        "would help: allow tier 2, or lower minAvailable to 2"
    )


def test_volcano_1_15_wants_room_for_every_pod_so_that_a_smaller_minimum_does_not_help(scenario) -> None:
    (one,) = advice_of(scenario(job_yaml("a", 3, highest_tier=1))).values()
    assert one.remedies == (AllowTier(2),)


def test_a_headline_names_no_place_that_holds_what_the_job_needs(scenario) -> None:
    """Volcano 1.15 asks for room for all pending pods: the leaf that holds the 2 of minAvailable is refused."""
    (one,) = advice_of(scenario(job_yaml("a", 3, highest_tier=1, min_available=2))).values()
    assert one.headline == (
        "no HyperNode of tier <= 1 takes the job: s0 (tier 1) has room for 2 pods, but no HyperNode of tier <= 1 had "
        "room for all 3 pending pods of the job when the session began; would help: allow tier 2"
    )


def test_gpus_are_freed_where_fewest_are_missing(scenario) -> None:
    """s0 has 6 and 8 GPUs free, s1 has 4 and 8: the job wants a node of each leaf whole."""
    held = (job_yaml("two", 1, gpus=2), job_yaml("wide", 2, highest_tier=1))
    advice = advice_of(scenario(*held, job_yaml("x-late", 2, highest_tier=1)))
    (edit,) = [edit for edit in advice["default/x-late"].remedies if isinstance(edit, FreeResources)]
    assert edit.amounts == {"node0": {"nvidia.com/gpu": 2}}
    assert edit.text == "free 2 GPUs on node0"


def test_two_changes_are_named_together_where_neither_helps_alone(scenario) -> None:
    held = (job_yaml("one", 1, gpus=4), job_yaml("two", 2, highest_tier=1))
    one = advice_of(scenario(*held, job_yaml("x-late", 3, highest_tier=1)))["default/x-late"]
    (edit,) = one.remedies
    assert isinstance(edit, Together) and edit.edits[0] == AllowTier(2)
    assert edit.text.startswith("allow tier 2 and free ")


def test_a_cordoned_node_is_named(scenario) -> None:
    cluster = cluster_yaml().replace(
        "metadata: {name: node1}\n", "metadata: {name: node1}\nspec: {unschedulable: true}\n"
    )
    (one,) = advice_of(scenario(job_yaml("a", 4), cluster=cluster)).values()
    assert Uncordon(("node1",)) in one.remedies


def test_a_smaller_minimum_is_what_the_nearest_domain_holds(scenario) -> None:
    (one,) = advice_of(scenario(job_yaml("a", 6)), "volcano-1.13").values()
    assert one.remedies == (LowerMinimum(4),)


def test_what_no_change_of_these_helps_is_said_without_a_remedy(scenario) -> None:
    (one,) = advice_of(scenario(job_yaml("a", 1, gpus=9))).values()
    assert one.remedies == () and "would help" not in one.headline and one.missing


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(4))
def test_every_remedy_holds_on_random_loads(scenario, policy: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    jobs = [
        job_yaml(
            f"j{i}",
            int(random.integers(1, 5)),
            gpus=int(random.choice([2, 4, 8])),
            highest_tier=[None, 1, 2][int(random.integers(3))],
        )
        for i in range(6)
    ]
    advice_of(scenario(*jobs), policy)


def test_the_record_is_plain(scenario) -> None:
    (one,) = advice_of(scenario(job_yaml("a", 3, highest_tier=1))).values()
    assert one.to_dict()["remedies"][0] == {"edit": "allow-tier", "tier": 2, "text": "allow tier 2"}
