"""Explanations of the Volcano policies: their numbers add up, and explaining changes no answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import workbench as wb
from tests.choice import choices
from tests.fabrics import document_tree, snapshot
from tests.policies.random_cases import random_cluster, random_gang
from tests.policies.v1_15_cases import random_1_15_gang, random_equal_groups
from tests.profiles import max_examples
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.placement import Placement
from workbench.model.snapshot import Queue
from workbench.policies import get_policy
from workbench.policies.volcano.parts.texts import lacking
from workbench.policies.volcano.v1_15 import policy as v1_15

GANGS = {"volcano-1.13": random_gang, "volcano-1.15": random_1_15_gang}


@pytest.mark.parametrize("name", GANGS)
@max_examples(80)
@given(rng=choices())
def test_the_parts_of_a_score_are_its_sum_and_what_is_dropped_has_a_reason(name, rng):
    cluster = random_cluster(rng)
    gang = GANGS[name](rng, cluster)
    explanation = get_policy(name).explain(gang, cluster)
    for candidate in explanation.candidates:
        assert candidate.why
        assert candidate.kept == (candidate.score is not None)
        if candidate.kept:
            assert sum(candidate.parts.values()) == pytest.approx(candidate.score, abs=1e-9)
    tiers = [candidate.tier for candidate in explanation.domains]
    assert tiers == sorted(tiers)
    names = [candidate.name for candidate in explanation.domains]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", GANGS)
@max_examples(60)
@given(rng=choices())
def test_a_hard_job_that_is_placed_has_a_kept_hypernode_of_the_lowest_tier(name, rng):
    cluster = random_cluster(rng)
    gang = GANGS[name](rng, cluster)
    explanation = get_policy(name).explain(gang, cluster)
    kept = {candidate.tier for candidate in explanation.domains if candidate.kept}
    result = explanation.decision.result
    assert len(kept) <= 1
    if explanation.domains and isinstance(result, Placement):
        placed = [gang.pod(int(position)) for position in np.flatnonzero(result.node >= 0)]
        assert bool(kept) == any(not pod.role.best_effort for pod in placed)
    else:
        assert not kept


@max_examples(40)
@given(rng=choices())
def test_each_sub_group_goes_where_its_best_inner_hypernode_says(rng):
    """All pods of each group are needed, so that none moves on in a later turn."""
    cluster = random_cluster(rng)
    gang = random_equal_groups(rng, cluster)
    explanation = get_policy("volcano-1.15").explain(gang, cluster)
    result = explanation.decision.result
    if not isinstance(result, Placement):
        assert not explanation.inner
        return
    score = 0.0
    for owner in dict.fromkeys(candidate.owner for candidate in explanation.inner):
        kept = [c for c in explanation.inner if c.owner == owner and c.kept]
        assert len({candidate.tier for candidate in kept}) <= 1
        if not kept:
            continue
        chosen = min(kept, key=lambda candidate: (-candidate.score, candidate.name.encode()))
        score += chosen.score
        (group,) = [group for group in gang.sub_groups if group.name == owner]
        top = chosen.name == cluster.topology.domain_name(-1)
        inside = cluster.topology.nodes_of(-1 if top else cluster.topology.domain(chosen.name))
        assert {int(node) for node in result.node[list(group.pods)]} <= set(inside.tolist())
    if explanation.inner:
        assert score == pytest.approx(max(c.score for c in explanation.domains if c.kept))


@max_examples(40)
@given(rng=choices())
def test_an_explanation_has_the_answer_of_place(rng):
    cluster = random_cluster(rng)
    gang = random_1_15_gang(rng, cluster)
    policy = get_policy("volcano-1.15")
    told, placed = policy.explain(gang, cluster).decision.result, policy.place(gang, cluster.ledger())
    assert isinstance(told, Placement) == isinstance(placed, Placement)
    if isinstance(placed, Placement):
        assert told.node.tolist() == placed.node.tolist()
        assert (told.hypernode, told.records) == (placed.hypernode, placed.records)
    else:
        assert (told.reasons, told.nearest_misses) == (placed.reasons, placed.nearest_misses)


def test_what_a_sub_group_looked_at_inside_the_hypernode_of_its_job():
    wish = TopologyConstraint("hard", 2)
    groups = tuple(SubGroup(f"w-{i}", (2 * i, 2 * i + 1), wish, 2, policy="w", match_index=i) for i in range(2))
    role = Role("w", 4, {"nvidia.com/gpu": 8}, (8,))
    gang = Gang("d", "j", (role,), 4, TopologyConstraint("hard", 3), sub_groups=groups, sub_grouped=True)
    explanation = get_policy("volcano-1.15").explain(gang, document_tree(cordoned=("node0",)))
    assert [(c.owner, c.name, c.tier, c.kept, c.why) for c in explanation.inner] == [
        ("w-0", "s2", 1, True, "holds 2 of 2 pods"),
        ("w-0", "s3", 1, True, "holds 2 of 2 pods"),
        ("w-1", "s2", 1, False, "holds 0 of 2 pods"),
        ("w-1", "s3", 1, True, "holds 2 of 2 pods"),
    ]
    assert [note for note in explanation.notes if "pods inside" in note] == [
        "w-0: 2 pods inside s2",
        "w-1: 2 pods inside s3",
    ]
    flat = Gang("d", "j", (role,), 4, TopologyConstraint("hard", 3))
    assert get_policy("volcano-1.15").explain(flat, document_tree()).inner == ()


def test_tasks_that_decided_nothing_add_nothing_to_a_score():
    wish = TopologyConstraint("hard", 1)
    groups = tuple(SubGroup(f"w-{i}", (2 * i, 2 * i + 1), wish, 2, policy="w", match_index=i) for i in range(4))
    role = Role("w", 8, {"cpu": 1000, "memory": 170})
    gang = Gang("d", "j", (role,), 8, TopologyConstraint("hard", 3), sub_groups=groups, sub_grouped=True)
    explanation = get_policy("volcano-1.15").explain(gang, document_tree(cpu=10_000, memory=2000))
    kept = [c for c in explanation.domains if c.kept]
    assert kept
    # To the last bit: a sum of packed parts, taken from the score, leaves rounding behind.
    assert [c.parts["tasks"] for c in kept] == [0.0] * len(kept)


def test_amounts_are_written_in_units_for_people():
    asked = np.array([1500, 3 << 30, 2, 8], dtype=np.int64)
    idle = np.array([1000, 1 << 29, 2, 3], dtype=np.int64)
    text = lacking(("cpu", "memory", "pods", "nvidia.com/gpu"), asked, idle)
    assert text == "cpu: 1.5 asked, 1 idle, memory: 3 GiB asked, 0.5 GiB idle, nvidia.com/gpu: 8 asked, 3 idle"
    disk, pages = "ephemeral-storage", "hugepages-1Gi"
    text = lacking(("memory", disk, pages), np.array([1 << 45, 3 << 29, 4 << 30]), np.array([1 << 44, 0, 2 << 30]))
    assert text.split(", ") == [
        "memory: 32,768 GiB asked",
        "16,384 GiB idle",
        f"{disk}: 1.5 GiB asked",
        "0 GiB idle",
        f"{pages}: 4 GiB asked",
        "2 GiB idle",
    ]


@pytest.mark.parametrize("name", GANGS)
def test_a_hypernode_whose_nodes_are_closed_says_so_and_no_more(name):
    gang = Gang("d", "j", (Role("w", 3, {"nvidia.com/gpu": 8}, (8,)),), 3, TopologyConstraint("hard", 1))
    explanation = get_policy(name).explain(gang, document_tree(cordoned=("node0", "node1", "node2")))
    why = {candidate.name: candidate.why for candidate in explanation.domains}
    assert why["s0"] == "holds 0 of 3 pods; 2 of 2 nodes do not accept them"
    assert why["s1"] == "holds 1 of 3 pods; 1 of 2 nodes do not accept them; nvidia.com/gpu: 24 asked, 8 idle"
    assert why["s4"] == "tier 2 above the highest allowed 1; room for 1 of 3 pods"
    assert why["s5"] == "tier 2 above the highest allowed 1; room for 3 of 3 pods"


@pytest.mark.parametrize("name", ["allocate", "volcano-1.13", "volcano-1.15"])
def test_a_job_without_a_topology_is_told_what_came_closest_on_each_tier(name):
    job = Gang("d", "j", (Role("w", 9, {"cpu": 1000}),), 9)
    explanation = get_policy(name).explain(job, document_tree(cpu=1000))
    assert explanation.notes == (
        "turn 1, on all nodes: 8 of 9 pods find a node: too few for the job to start",
        "closest of each tier: s0 (tier 1) holds 2 of 9, s4 (tier 2) holds 4 of 9, s6 (tier 3) holds 8 of 9",
    )
    one = get_policy(name).explain(Gang("d", "j", (Role("w", 1, {"cpu": 1000}),), 1), document_tree(cpu=1000))
    assert one.notes == ("turn 1, on all nodes: 1 of 1 pod find a node",)


def test_a_hypernode_that_may_be_used_says_where_it_meets_the_record():
    job = Gang(
        "d",
        "j",
        (Role("w", 1, {"cpu": 1000}),),
        1,
        TopologyConstraint("hard", 2),
        extras=extras_of(VolcanoMemory("s1")),
    )
    explanation = get_policy("volcano-1.13").explain(job, document_tree(cpu=1000))
    assert {c.name: c.why for c in explanation.domains if c.tier == 1} == {
        "s0": "holds 1 of 1 pod, meets the recorded s1 in s4 (tier 2)",
        "s1": "holds 1 of 1 pod, meets the recorded s1 in s1 (tier 1)",
        "s2": "meets the recorded s1 only at tier 3, 2 is allowed",
        "s3": "meets the recorded s1 only at tier 3, 2 is allowed",
    }


WITH_QUEUES = {"allocate": random_gang, **GANGS}


def test_an_explanation_knows_the_limit_of_the_queue():
    queue = Queue("default", capability={"cpu": 1000})
    cluster = replace(snapshot(["a"], [], cpu=8000), queues={"default": queue})
    gang = Gang("d", "j", (Role("w", 4, {"cpu": 1000}),), 4, queue="default")
    for name in WITH_QUEUES:
        told, placed = wb.explain(gang, cluster, name), wb.place(gang, cluster, name)
        assert not isinstance(placed, Placement)
        assert told.decision.result.reasons == placed.reasons
        assert "queue-limit" in {reason.code for reason in placed.reasons}


@pytest.mark.parametrize("name", WITH_QUEUES)
@max_examples(60)
@given(rng=choices())
def test_an_explanation_is_of_the_session_that_place_is(name, rng):
    cluster = random_cluster(rng)
    gang = WITH_QUEUES[name](rng, cluster)
    queue = Queue(gang.queue, capability={"cpu": rng.randint(0, 9) * 1000, "nvidia.com/gpu": rng.randint(0, 9)})
    cluster = replace(cluster, queues={gang.queue: queue})
    told, placed = wb.explain(gang, cluster, name).decision.result, wb.place(gang, cluster, name)
    assert isinstance(told, Placement) == isinstance(placed, Placement)
    if isinstance(placed, Placement):
        assert (told.node.tolist(), told.unplaced) == (placed.node.tolist(), placed.unplaced)
        assert (told.hypernode, told.records) == (placed.hypernode, placed.records)
    else:
        assert told.reasons == placed.reasons


def test_an_explanation_is_told_by_the_search_that_decides(monkeypatch):
    built = []
    kernel = v1_15.compiled_search
    monkeypatch.setattr(v1_15, "compiled_search", lambda *args, **more: built.append(1) or kernel(*args, **more))
    job = Gang("d", "j", (Role("w", 3, {"cpu": 1000}),), 2, TopologyConstraint("hard", 2))
    explanation = get_policy("volcano-1.15").explain(job, document_tree())
    assert isinstance(explanation.decision.result, Placement) and explanation.candidates
    assert len(built) == 1
