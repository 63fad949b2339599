"""What every registered policy promises, on random clusters and gangs."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree, snapshot
from tests.ledger_check import check_ledger
from tests.notices import codes, said
from tests.policies.random_cases import random_cluster, random_gang
from tests.profiles import max_examples
from workbench.errors import CapacityError, InputError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.explanation import Recorder
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.placement import Placement, Refusal
from workbench.policies import get_policy, list_policies
from workbench.policies.composed import Composed
from workbench.policies.contract import session_order
from workbench.policies.progress import Progress

NODE = [info.name for info in list_policies() if info.kind == "node"]
GPU = [info.name for info in list_policies() if info.kind == "gpu"]
EVERY = [*NODE, *(info.name for info in list_policies() if info.kind == "whole"), *(f"allocate+{gpu}" for gpu in GPU)]

NUMBERS = [
    (info.name, f"allocate+{info.name}" if info.kind == "gpu" else info.name, p)
    for info in list_policies()
    for p in info.parameters
    if p.type in ("integer", "number", "table")
]

#: Policies that place pods without requests after all others.
BACKFILLING = [name for name in NODE if get_policy(name).traits.best_effort_last]

#: Policies that follow kube-scheduler speak in its words, and know no minimum per role.
KUBE = [name for name in NODE if name.startswith("kube-")]

MATRIX = BandwidthMatrix(np.array([[0, 9, 5, 1], [9, 0, 1, 5], [5, 1, 0, 9], [1, 5, 9, 0]], dtype=np.float64))


def case(rng):
    """A cluster, on some nodes with a matrix, and a gang."""
    cluster = random_cluster(rng)
    if rng.random() < 0.5:
        known = np.array([rng.random() < 0.8 for _ in range(cluster.n_nodes)])
        cluster = cluster.with_matrix(MATRIX, known)
    return cluster, random_gang(rng, cluster)


def content(result):
    """Everything in an answer, comparable."""
    fields = {f.name: getattr(result, f.name) for f in dataclasses.fields(result) if f.name not in ("gang", "topology")}
    return {k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in fields.items()}


@pytest.mark.parametrize("name", EVERY)
@max_examples(60)
@given(rng=choices())
def test_placements_hold_and_refusals_leave_nothing(name, rng):
    cluster, gang = case(rng)
    ledger = cluster.ledger()
    result = get_policy(name).place(gang, ledger)
    check_ledger(ledger)
    if isinstance(result, Refusal):
        assert result.reasons
        assert all(reason.message for reason in result.reasons)
        assert np.array_equal(ledger.used, cluster.used)
        assert np.array_equal(ledger.gpu_free, cluster.gpu_free)
        return
    placed = np.flatnonzero(result.node >= 0)
    # Gang atomic: enough pods in all, and of each role whose minimum counts.
    assert len(placed) + gang.ready >= gang.min_available
    progress = Progress.of(gang, cluster)
    for role in range(len(gang.roles)):
        if not gang.roles[role].best_effort:
            progress.place(role, int((gang.role_of_pod[placed] == role).sum()))
    assert progress.ready or name in KUBE
    assert sorted([*placed.tolist(), *(u.position for u in result.unplaced)]) == list(range(gang.n_pods))
    # No node over capacity, nor on a node that takes no pods.
    touched = np.unique(result.node[placed])
    assert (ledger.idle[touched][:, 2] >= 0).all()
    grown = ledger.used - cluster.used
    assert (ledger.idle[grown > 0] >= 0).all()
    assert not cluster.unschedulable[touched].any()
    # As many GPUs as asked for, free before, each given once.
    taken = cluster.gpu_free & ~ledger.gpu_free
    for position in range(gang.n_pods):
        wants = gang.pod(position).role.n_gpus if result.node[position] >= 0 else 0
        assert result.gpu_mask(position).bit_count() == wants
    assert int(np.bitwise_count(taken).sum()) == sum(result.gpu_mask(i).bit_count() for i in range(gang.n_pods))


@pytest.mark.parametrize("name", EVERY)
@max_examples(30)
@given(rng=choices())
def test_explaining_changes_nothing_and_repeating_neither(name, rng):
    cluster, gang = case(rng)
    policy = get_policy(name)
    first = policy.place(gang, cluster.ledger())
    explanation = policy.explain(gang, cluster)
    assert content(explanation.decision.result) == content(first)
    assert content(get_policy(name).schedule([gang], cluster)[0].result) == content(first)
    if isinstance(first, Placement) and any(
        not gang.pod(int(i)).role.best_effort for i in np.flatnonzero(first.node >= 0)
    ):
        assert explanation.nodes


@pytest.mark.parametrize("name", EVERY)
@max_examples(20)
@given(rng=choices())
def test_explaining_a_session_decides_as_the_session_does(name, rng):
    cluster, gang = case(rng)
    gangs = [dataclasses.replace(gang, name=f"again-{i}", order=()) for i in range(3)]
    policy = get_policy(name)
    decisions = policy.schedule(gangs, cluster)
    every, one = {i: Recorder() for i in range(3)}, Recorder()
    explained = policy.schedule(gangs, cluster, every)
    recorded = policy.schedule(gangs, cluster, {2: one})
    assert [content(d.result) for d in recorded] == [content(d.result) for d in explained]
    assert (one.candidates, one.notes) == (every[2].candidates, every[2].notes)
    assert [d.gang.name for d in explained] == [gang.name for gang in gangs]
    assert [content(d.result) for d in explained] == [content(d.result) for d in decisions]
    assert [d.turn for d in explained] == [d.turn for d in decisions]


@pytest.mark.parametrize("name", EVERY)
@max_examples(20)
@given(rng=choices())
def test_turns_tell_the_order_in_which_a_session_decides(name, rng):
    cluster, gang = case(rng)
    gangs = [dataclasses.replace(gang, name=f"j{i}", order=(), priority=rng.randint(0, 2)) for i in range(4)]
    policy = get_policy(name)
    decisions = policy.schedule(gangs, cluster)
    assert sorted(d.turn for d in decisions) == list(range(len(gangs)))
    in_turn = sorted(decisions, key=lambda d: d.turn)
    for order, of_session in ((gangs[::-1], decisions[::-1]), (gangs[2:] + gangs[:2], decisions[2:] + decisions[:2])):
        assert [d.turn for d in policy.schedule(order, cluster)] == [d.turn for d in of_session]
    if not isinstance(policy, Composed) or not hasattr(policy.node, "rounds"):
        # No queues and no second turns: what one gang after another gets on one ledger, in this order.
        ledger = cluster.ledger()
        again = [policy.place(d.gang, ledger) for d in in_turn] if name != "koordinator-gpu" else None
        assert again is None or [content(result) for result in again] == [content(d.result) for d in in_turn]


@pytest.mark.parametrize("name", NODE)
@max_examples(60)
@given(rng=choices())
def test_more_capacity_never_refuses_a_gang_of_identical_pods_that_was_placed(name, rng):
    cluster, gang = case(rng)
    role = dataclasses.replace(gang.roles[0], requests={"cpu": 500, "nvidia.com/gpu": 1}, min_available=None)
    n = role.count
    gang = dataclasses.replace(gang, roles=(role,), order=(), min_available=gang.ready + rng.randint(1, n))
    if isinstance(get_policy(name).place(gang, cluster.ledger()), Refusal):
        return
    more = cluster.used.copy()
    more[[rng.randrange(cluster.n_nodes) for _ in range(3)]] = 0
    larger = dataclasses.replace(cluster, used=more)
    assert isinstance(get_policy(name).place(gang, larger.ledger()), Placement)


def test_a_session_goes_by_priority_queue_and_name_and_answers_in_the_given_order():
    def gang(name, priority=0, queue="default", namespace="d"):
        return Gang(namespace, name, (Role("w", 1, {"cpu": 1}),), 1, priority=priority, queue=queue)

    gangs = [gang("b"), gang("a"), gang("z", priority=5), gang("c", queue="aaa"), gang("a", namespace="c")]
    assert [gangs[i].key for i in session_order(gangs)] == ["d/z", "d/c", "c/a", "d/a", "d/b"]
    cluster = random_cluster(random.Random(1))
    decisions = get_policy("gang").schedule(gangs, cluster)
    assert [d.gang for d in decisions] == gangs


def test_gangs_of_one_session_share_what_is_free():
    rng = random.Random(3)
    cluster = random_cluster(rng)
    slots = int(np.minimum(4 - cluster.used[:, 0] // 1000, 99).clip(0)[~cluster.unschedulable].sum())
    gangs = [Gang("d", f"j{i}", (Role("w", 1, {"cpu": 1000}),), 1) for i in range(slots + 3)]
    placed = [d.placed for d in get_policy("gang").schedule(gangs, cluster)]
    assert 0 < sum(placed) <= slots


def test_notes_of_the_gang_are_warnings_of_every_decision():
    cluster = random_cluster(random.Random(0))
    for n in (1, 10_000):
        gang = Gang("d", "j", (Role("w", n, {"cpu": 1}),), n, notes=("the reader says so",))
        assert "the reader says so" in get_policy("gang").place(gang, cluster.ledger()).warnings


BEST_EFFORT = Role("helper", 2, {})


@pytest.mark.parametrize("name", BACKFILLING)
def test_pods_without_requests_come_last_and_blind_to_topology(name):
    worker = Role("w", 2, {"nvidia.com/gpu": 8}, (8,))
    gang = Gang(
        "d", "j", (BEST_EFFORT, worker), 4, TopologyConstraint("hard", 1), extras=extras_of(VolcanoMemory("s3"))
    )
    policy = get_policy(name)
    assert isinstance(policy, Composed)
    placement = policy.place(gang, document_tree().ledger())
    assert placement.node[:2].tolist() == [0, 0]
    assert any("ask for nothing" in warning for warning in said(placement.warnings))
    if name == "volcano-1.13":
        assert placement.hypernode == "s3"


@pytest.mark.parametrize("name", BACKFILLING)
def test_a_gang_that_needs_its_pods_without_requests_is_refused_when_they_find_no_node(name):
    gang = Gang("d", "j", (Role("w", 1, {"cpu": 1}), BEST_EFFORT), 3)
    refusal = get_policy(name).place(gang, snapshot(["a"], pods=2).ledger())
    assert isinstance(refusal, Refusal)
    said = [reason.message for reason in refusal.reasons]
    if get_policy(name).traits.words == "volcano":
        assert said == ["1/3 tasks in gang unschedulable: 0/1 nodes are unavailable: 1 Too many pods."]
    else:
        assert said == ["2 of the 3 pods needed find a node", "0/1 nodes are available: 1 Too many pods."]


@pytest.mark.parametrize("name", EVERY)
def test_nothing_to_place_and_nowhere_to_place_it(name):
    nothing = Gang("d", "empty", (), 0)
    assert get_policy(name).place(nothing, document_tree().ledger()).n_placed == 0
    for mode in ("hard", "soft", ""):
        gang = Gang("d", "j", (Role("w", 2, {"cpu": 1, "nvidia.com/gpu": 1}, (1,)),), 2, TopologyConstraint(mode, 1))
        refusal = get_policy(name).place(gang, snapshot([]).ledger())
        assert isinstance(refusal, Refusal)
        assert refusal.reasons
        assert get_policy(name).explain(gang, snapshot([])).nodes == ()


@pytest.mark.parametrize("name", [name for name in EVERY if name not in KUBE])
def test_a_gang_with_too_few_pods_is_refused_in_the_words_of_its_scheduler(name):
    gang = Gang("d", "j", (Role("w", 2, {"cpu": 1}),), 3)
    refusal = get_policy(name).place(gang, document_tree().ledger())
    assert [r.code for r in refusal.reasons] == ["not-enough-pods"]
    volcano = get_policy(name).traits.words == "volcano"
    said = "Not enough valid tasks for gang-scheduling, valid: 2, min: 3"
    assert refusal.reasons[0].message == (said if volcano else "the gang has 2 pods, and 3 must start together")


@pytest.mark.parametrize("name", EVERY)
def test_a_pod_larger_than_every_node_is_refused_with_counts(name):
    gang = Gang("d", "j", (Role("w", 2, {"nvidia.com/gpu": 9}, (9,)),), 2)
    refusal = get_policy(name).place(gang, document_tree().ledger())
    first, *others = refusal.reasons
    assert (first.code, first.numbers["count"]) == ("not-offered", 2)
    assert first.message == "no node offers 9 nvidia.com/gpu (the largest has 8)"
    said = {
        "volcano": "0/8 nodes are unavailable: 8 Insufficient nvidia.com/gpu.",
        "kubernetes": "0/8 nodes are available: 8 Insufficient nvidia.com/gpu.",
        "kueue": "no node takes one more pod of w: 8 Insufficient nvidia.com/gpu",
    }[get_policy(name).traits.words]
    nodes = [reason for reason in others if said in str(reason)]
    # Once: by itself, or inside Volcano's sentence about the gang.
    assert [(reason.code, reason.numbers["count"]) for reason in nodes] in (
        [("insufficient", 8)],
        [("gang-unschedulable", 2)],
    )


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    ("roles", "min_available", "want"),
    [
        pytest.param(
            (Role("w", 2, {"example.com/fpga": 3, "cpu": 1000}),),
            2,
            "no node offers example.com/fpga (pods request 3)",
            id="a resource that no node names",
        ),
        pytest.param(
            (Role("a", 1, {"cpu": 1000}), Role("b", 1, {"cpu": 200_000}), Role("c", 1, {"memory": 2**50})),
            3,
            "no node offers 200 cpu (the largest has 64), 1,048,576 GiB memory (the largest has 256 GiB)",
            id="two roles that lack different things",
        ),
        pytest.param(
            (Role("a", 30, {"cpu": 60_000}), Role("b", 1, {"cpu": 200_000})),
            30,
            "",
            id="a role that the gang can start without",
        ),
        pytest.param((Role("w", 90, {"cpu": 60_000}),), 90, "", id="too many pods that each fit some node"),
    ],
)
def test_what_no_node_offers_is_the_first_reason_of_every_policy(name, roles, min_available, want):
    refusal = get_policy(name).schedule([Gang("d", "j", roles, min_available)], document_tree())[0].result
    assert isinstance(refusal, Refusal)
    told = [reason for reason in refusal.reasons if reason.code == "not-offered"]
    assert [reason.message for reason in told] == ([want] if want else [])
    assert not want or refusal.reasons[0] is told[0]


@pytest.mark.parametrize("name", ["gang", "volcano-1.13"])
def test_a_policy_without_sub_groups_says_that_it_places_one_group(name):
    roles = (Role("w", 2, {"cpu": 1000}),)
    gang = Gang("d", "j", roles, 2, sub_groups=(SubGroup("w-0", (0, 1), None, 2),), sub_grouped=True)
    result = get_policy(name).place(gang, document_tree().ledger())
    assert "sub-groups-merged" in codes(result.warnings)


@pytest.mark.parametrize(("owner", "spec", "info"), NUMBERS, ids=[f"{owner}-{info.name}" for owner, _, info in NUMBERS])
def test_a_number_of_any_size_is_taken_or_refused_by_the_name_of_its_parameter(owner, spec, info):
    cluster, gang = case(random.Random(1))
    name = f"gpu.{info.name}" if spec != owner else info.name
    limits = () if info.high is None else (info.high, info.high + 1)
    for value in (*limits, 2**31, 2**63, "1e300", "9" * 400):
        given = {"cpu": value} if info.type == "table" else value
        try:
            get_policy(spec, **{name: given}).schedule([gang], cluster)
        except (InputError, CapacityError) as error:
            assert info.name in str(error)
            assert value != info.high
