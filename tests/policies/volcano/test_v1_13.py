"""`volcano-1.13` against the oracle, and its documented cases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.choice import choices
from tests.fabrics import document_tree, snapshot
from tests.notices import said
from tests.policies.random_cases import DEFAULTS, assert_same_at_random
from tests.profiles import max_examples
from tests.reference import volcano_1_13 as oracle
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.labels import NodeFilter, Requirement
from workbench.model.placement import Placement
from workbench.model.running_pod import RunningPod
from workbench.model.topology import Problem
from workbench.policies import get_policy


def job(n, mode="hard", tier=None, *, gpus=8, **options):
    constraint = TopologyConstraint(mode, tier) if mode else None
    role = Role("worker", n, {"cpu": 8000, "nvidia.com/gpu": gpus}, (gpus,))
    return Gang("default", "job", (role,), options.pop("min_available", n), constraint, **options)


def answer(gang, cluster, policy="volcano-1.13", **parameters):
    return get_policy(policy, **parameters).place(gang, cluster.ledger())


# ---------------------------------------------------------------------------------------------------------------------
# Cases on the document's tree (drawn in tests/fabrics.py): each pod of 8 GPUs fills a node.
# ---------------------------------------------------------------------------------------------------------------------

PLACED = {
    "two pods that fill a node each share the first leaf": (job(2, "hard", 1), {}, "s0", {0, 1}),
    "three pods need tier 2 and take the smaller name of s4 and s5": (job(3, "hard", 2), {}, "s4", {0, 1, 2}),
    "a lower tier wins though a higher one is allowed": (job(2, "hard", 3), {}, "s0", {0, 1}),
    "five pods spread over the whole tree when tier 3 is allowed": (job(5, "hard", 3), {}, "s6", {0, 1, 2, 3, 4}),
    "a busy leaf is passed over": (job(2, "hard", 1), {"cordoned": ("node0",)}, "s1", {2, 3}),
    "a record pulls a hard job back to its leaf": (
        job(2, "hard", 2, extras=extras_of(VolcanoMemory("s3"))),
        {},
        "s3",
        {6, 7},
    ),
    "a soft job of six pods is placed whole": (job(6, "soft", 1), {}, "s6", {0, 1, 2, 3, 4, 5}),
    "later pods of a soft job prefer the domain of the record": (
        job(2, "soft", extras=extras_of(VolcanoMemory("s3"))),
        {},
        "s3",
        {6, 7},
    ),
    "later pods of a soft job prefer the siblings of a full leaf": (
        job(2, "soft", extras=extras_of(VolcanoMemory("s3"))),
        {"cordoned": ("node6", "node7")},
        "s5",
        {4, 5},
    ),
    "an unknown record does not stop a soft job": (
        job(2, "soft", extras=extras_of(VolcanoMemory("gone"))),
        {},
        "s0",
        {0, 1},
    ),
}


@pytest.mark.parametrize(("gang", "options", "want_hypernode", "want_nodes"), PLACED.values(), ids=PLACED.keys())
def test_placed(gang, options, want_hypernode, want_nodes):
    placement = answer(gang, document_tree(**options))
    assert placement.hypernode == want_hypernode
    assert {int(n) for n in placement.node} == want_nodes


REFUSED = {
    "three pods do not fit in one leaf": (
        job(3, "hard", 1),
        {},
        "no HyperNode of tier <= 1 holds 3 pods: best s0 (tier 1) holds 2 of 3",
        [(1, "s0", 2, 3)],
    ),
    "hard without a tier means tier 1": (
        job(3, "hard"),
        {},
        "no HyperNode of tier <= 1 holds 3 pods: best s0 (tier 1) holds 2 of 3",
        [(1, "s0", 2, 3)],
    ),
    "each tier names what came closest": (
        job(4, "hard", 2),
        {"cordoned": ("node0", "node4", "node5")},
        "no HyperNode of tier <= 2 holds 4 pods: best s4 (tier 2) holds 3 of 4",
        [(1, "s1", 2, 4), (2, "s4", 3, 4)],
    ),
    "a record too far away": (
        job(2, "hard", 1, extras=extras_of(VolcanoMemory("s6"))),
        {},
        "no HyperNode of tier <= 1 meets the recorded s6 at an allowed tier",
        [],
    ),
    "tiers below the lowest hold nothing": (job(1, "hard", 0), {}, "there is no HyperNode of tier <= 0", []),
}


@pytest.mark.parametrize(("gang", "options", "want_message", "want_misses"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(gang, options, want_message, want_misses):
    refusal = answer(gang, document_tree(**options))
    assert refusal.reasons[0].message == want_message
    assert [(m.tier, m.domain, m.holds, m.needs) for m in refusal.nearest_misses] == want_misses


def test_a_refusal_also_has_the_texts_that_volcano_writes():
    messages = [reason.message for reason in answer(job(3, "hard", 1), document_tree()).reasons]
    want = "3/3 tasks in gang unschedulable: 0/2 nodes are unavailable: 2 Insufficient nvidia.com/gpu."
    assert want in messages


def test_a_pod_larger_than_every_node_is_refused_with_the_number_of_nodes():
    refusal = answer(job(1, "hard", 3, gpus=9), document_tree())
    assert refusal.reasons[0].message == "no node offers 9 nvidia.com/gpu (the largest has 8)"
    nodes = [reason for reason in refusal.reasons if "8 Insufficient nvidia.com/gpu" in reason.message]
    assert [(reason.code, reason.numbers["count"]) for reason in nodes] == [("gang-unschedulable", 1)]
    assert refusal.reasons[1].message == "no HyperNode of tier <= 3 holds 1 pod: best s0 (tier 1) holds 0 of 1"


def test_a_default_tier_is_said():
    assert said(answer(job(2, "hard"), document_tree()).warnings) == (
        "hard without highestTierAllowed: its default 1 applies",
    )


def test_only_hard_jobs_wait_for_a_topology_that_is_ready():
    broken = document_tree(problems=(Problem("cycle", "s0", "s0 contains itself"),), ready=False)
    refusal = answer(job(2, "hard", 1), broken)
    assert [r.code for r in refusal.reasons] == ["topology-not-ready"]
    assert answer(job(2, "soft", 1), broken).n_placed == 2
    assert answer(job(2, None), broken).n_placed == 2


def test_pods_beyond_the_minimum_stay_inside_what_the_record_allows():
    # Three pods start in s4; the fourth still fits there, the fifth would need tier 3.
    placement = answer(job(5, "hard", 2, min_available=3), document_tree())
    assert placement.hypernode == "s4"
    assert placement.node.tolist() == [0, 1, 2, 3, -1]
    (left,) = placement.unplaced
    assert left.position == 4
    assert left.reasons[0].message == "no HyperNode of tier <= 2 near the record holds one more pod"


def test_later_turns_remember_the_scores_of_dry_runs_that_failed():
    r"""Upstream's sum per domain is never reset, so the domain in which more was tried wins a tie.

        tier 2              top
                     /     |     \
        tier 1     s0     s1      |
                   |     /  \    / \
        node       e    a2   b  a0  a1

    Three pods must start: no leaf holds them, top takes a0, a1, a2. The fourth pod finds one node in s0 and one in s1,
    each a sole candidate and so worth 0; but in s1 a pod was scored in the first turn.
    """
    nodes = ["a0", "a1", "a2", "b", "e"]
    cluster = snapshot(nodes, [("s0", 1, ["e"], "top"), ("s1", 1, ["a2", "b"], "top"), ("top", 2, nodes, "")])
    gang = job(4, "hard", 2, min_available=3)
    placement = answer(gang, cluster)
    assert [cluster.topology.node_names[i] for i in placement.node] == ["a0", "a1", "a2", "b"]
    assert oracle.place(gang, cluster, DEFAULTS, 10) == (["a0", "a1", "a2", "b"], "top")


def test_nodes_outside_every_hypernode_are_out_of_reach_of_hard_jobs_only():
    cluster = snapshot(["a", "b"], [("s0", 1, ["a"], "")])
    assert answer(job(2, "hard", 1), cluster).reasons[0].message.endswith("best s0 (tier 1) holds 1 of 2")
    assert answer(job(2, "soft"), cluster).n_placed == 2


def test_the_pods_of_a_hard_job_widen_the_record_by_which_the_next_ones_are_scored():
    # The chief must go to node0, which meets the record's leaf in s6 only: the workers join it instead of that leaf.
    cluster = document_tree(labels={"node0": {"chief": "yes"}})
    requests = {"cpu": 8000, "nvidia.com/gpu": 8}
    chief = Role("chief", 1, requests, (8,), filter=NodeFilter((Requirement("chief", "Exists"),)))
    gang = Gang(
        "default",
        "job",
        (chief, Role("worker", 4, requests, (8,))),
        5,
        TopologyConstraint("hard", 3),
        extras=extras_of(VolcanoMemory("s3")),
    )
    placement = answer(gang, cluster)
    assert placement.node.tolist() == [0, 1, 2, 3, 4]
    assert placement.hypernode == "s6"


def test_the_explanation_follows_the_tiers():
    explanation = get_policy("volcano-1.13").explain(job(3, "hard", 2), document_tree())
    assert [(c.name, c.kept, c.why) for c in explanation.domains] == [
        *[(f"s{i}", False, "holds 2 of 3 pods; nvidia.com/gpu: 24 asked, 16 idle") for i in range(4)],
        ("s4", True, "holds 3 of 3 pods"),
        ("s5", True, "holds 3 of 3 pods"),
        ("s6", False, "tier 3 above the highest allowed 2; room for 3 of 3 pods"),
    ]
    assert [c.name for c in explanation.nodes] == ["node0", "node1", "node2", "node3"]
    assert explanation.notes == ("turn 1: 3 pods in s4", "nodes of s4 as the first pod sees them")
    assert [dict(c.parts) for c in explanation.domains if c.kept] == [
        {"node scores": c.score} for c in explanation.domains if c.kept
    ]


def test_the_explanation_notes_each_turn_but_shows_the_candidates_of_the_first():
    explanation = get_policy("volcano-1.13").explain(job(5, "hard", 2, min_available=3), document_tree())
    shown = "nodes of s4 as the first pod sees them"
    assert explanation.notes == ("turn 1: 3 pods in s4", shown, "turn 2: 1 pod in s1", "turn 3: no HyperNode chosen")
    assert [c.name for c in explanation.domains] == ["s0", "s1", "s2", "s3", "s4", "s5", "s6"]


def test_the_explanation_of_a_pending_job_shows_the_nodes_of_the_nearest_miss():
    cluster = document_tree(used={"node2": (0, 0, 0, 3)}, cordoned=("node4",))
    explanation = get_policy("volcano-1.13").explain(job(3, "hard", 1), cluster)
    why = {c.name: c.why for c in explanation.domains}
    assert why["s1"] == "holds 1 of 3 pods; nvidia.com/gpu: 24 asked, 13 idle"
    assert why["s2"] == "holds 1 of 3 pods; 1 of 2 nodes do not accept them; nvidia.com/gpu: 24 asked, 8 idle"
    assert explanation.notes == ("turn 1: no HyperNode chosen", "nodes of s0 as the first pod sees them")
    assert [c.name for c in explanation.nodes] == ["node0", "node1"]


def test_the_explanation_says_when_idle_resources_lie_on_too_many_nodes():
    cluster = document_tree(used={f"node{i}": (0, 0, 0, 3) for i in range(4)})
    explanation = get_policy("volcano-1.13").explain(job(2, "hard", 2), cluster)
    assert {c.name: c.why for c in explanation.domains}["s0"] == "holds 0 of 2 pods; nvidia.com/gpu: 16 asked, 10 idle"
    above = get_policy("volcano-1.13").explain(
        job(2, "hard", 2), document_tree(used={f"node{i}": (0, 0, 0, 3) for i in range(8)})
    )
    assert {c.name: c.why for c in above.domains}["s4"] == (
        "holds 0 of 2 pods; enough is idle in sum, but not on single nodes"
    )


@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_the_explanation_of_a_job_with_a_record_splits_the_score(mode):
    running = [RunningPod("default", "job-worker-9", 6, {}, "default/job")]
    cluster = document_tree(used={"node0": (0, 0, 0, 3)}, running=running)
    gang = job(2, mode, 3, extras=extras_of(VolcanoMemory("s5")), ready=1, min_available=3)
    explanation = get_policy("volcano-1.13", weight=1).explain(gang, cluster)
    nodes = {c.name: c for c in explanation.nodes}
    kept = [c for c in nodes.values() if c.kept]
    assert [sum(c.parts.values()) for c in kept] == pytest.approx([c.score for c in kept])
    assert set(kept[0].parts) == {"binpack", "least", "balanced", "tier", "tasks"}
    # s3 and s2 meet s5 at tier 2 of 1..3: 50. One task of three is in s3.
    assert nodes["node7"].parts["tier"] == 50.0
    if mode == "soft":
        assert nodes["node0"].why == "nvidia.com/gpu: 8 asked, 5 idle"
        assert [round(nodes[n].parts["tasks"], 3) for n in ("node5", "node7")] == [0.0, 33.333]


def test_the_explanation_of_a_job_far_from_its_record_says_how_far():
    explanation = get_policy("volcano-1.13").explain(
        job(2, "hard", 2, extras=extras_of(VolcanoMemory("s3"))), document_tree()
    )
    why = {c.name: c.why for c in explanation.domains}
    assert why["s0"] == "meets the recorded s3 only at tier 3, 2 is allowed"
    assert why["s5"] == "not tried: a lower tier has a solution"
    gone = get_policy("volcano-1.13").explain(
        job(2, "hard", 2, extras=extras_of(VolcanoMemory("gone"))), document_tree()
    )
    assert gone.domains[0].why == "the recorded HyperNode does not exist"
    trees = snapshot(["a", "b"], [("x", 1, ["a"], ""), ("y", 1, ["b"], "")])
    apart = get_policy("volcano-1.13").explain(job(1, "hard", 1, extras=extras_of(VolcanoMemory("x"))), trees)
    assert {c.name: c.why for c in apart.domains}["y"] == "no common HyperNode with the recorded x"


# ---------------------------------------------------------------------------------------------------------------------
# Against the oracle
# ---------------------------------------------------------------------------------------------------------------------


@max_examples(500)
@given(rng=choices())
def test_equals_the_naive_dry_run_of_every_domain(rng):
    assert_same_at_random(rng)


@pytest.mark.parametrize(
    ("gang", "placed", "warning"),
    [
        (job(3, "hard"), False, "hard without highestTierAllowed: its default 1 applies"),
        (job(3, "hard", uid="1"), True, "stored as hard without highestTierAllowed: volcano-1.13 takes the job as"),
        (job(3, "hard", 1, resource_version="7"), False, ""),
    ],
    ids=["submitted", "stored", "stored with a tier"],
)
def test_the_default_tier_is_not_filled_into_what_was_read_from_a_cluster(gang, placed, warning):
    result = answer(gang, document_tree())
    assert isinstance(result, Placement) == placed
    assert any(text.startswith(warning) for text in said(result.warnings)) if warning else result.warnings == ()


@pytest.mark.parametrize("mode", ["hard", "soft", ""])
def test_a_tier_name_is_not_known_and_told(mode):
    named = replace(job(2, "hard"), constraint=TopologyConstraint(mode, None, "rack"))
    warnings = " ".join(said(answer(named, document_tree()).warnings))
    assert "highestTierName 'rack' is not known to volcano-1.13" in warnings


@max_examples(200)
@given(choices(), st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2))
def test_equals_the_naive_dry_run_with_any_weights(rng, weight, binpack, most, gpu):
    weights = {**DEFAULTS, "binpack": binpack, "most": most}
    weights["binpack_resources"] = {"cpu": 1, "memory": 1, "nvidia.com/gpu": gpu}
    parameters = {
        "weight": weight,
        "binpack_weight": binpack,
        "most_weight": most,
        "binpack_resources": {"nvidia.com/gpu": gpu},
    }
    assert_same_at_random(rng, topology_weight=weight, weights=weights, **parameters)


@pytest.mark.slow
@max_examples(2500)
@given(rng=choices())
def test_equals_the_naive_dry_run_on_many_more(rng):
    assert_same_at_random(rng)
