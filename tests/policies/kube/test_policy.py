"""`kube-default`: gangs as groups of pods, sessions and streams in which pods see each other, explanations, notices."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree, snapshot
from tests.ledger_check import check_ledger
from tests.notices import codes, said
from tests.policies.random_cases import random_cluster, random_gang
from tests.profiles import max_examples
from workbench.errors import InputError
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.labels import Requirement, Taint, Toleration
from workbench.model.placement import Placement, Refusal
from workbench.model.pod_counts import Count
from workbench.model.pod_rules import PodAffinityTerm, PodRules, PodSelector, SpreadConstraint
from workbench.model.running_pod import RunningPod
from workbench.policies import get_policy

HOST = "kubernetes.io/hostname"
WITH_APP = PodSelector((Requirement("app", "In", ("a",)),))
APART = PodRules(anti_affinity=(PodAffinityTerm(HOST, WITH_APP),))
NEAR = PodRules(affinity=(PodAffinityTerm("rack", WITH_APP),))
EVEN = PodRules(spread=(SpreadConstraint("rack", 1, labels=WITH_APP.labels),))

EVERY_POD = Count((PodSelector((), (), ()),))

NODES = [f"n{i}" for i in range(6)]
LABELS = {name: {HOST: name, "rack": f"r{i // 2}"} for i, name in enumerate(NODES)}


def racks(**options):
    """Three racks of two nodes: n0 n1, n2 n3, n4 n5."""
    return snapshot(NODES, labels=LABELS, **options)


def gang(name, count, rules, minimum=None, *, cpu=1000, labels=None, **fields):
    role = Role("w", count, {"cpu": cpu}, labels={"app": "a"} if labels is None else labels, rules=rules)
    return Gang("d", name, (role,), count if minimum is None else minimum, **fields)


def nodes_of(result):
    assert isinstance(result, Placement), result.reasons
    return [result.topology.node_names[node] for node in result.node.tolist()]


def test_pods_are_spread_one_to_a_node_by_the_default_scores():
    assert nodes_of(get_policy("kube-default").place(gang("j", 6, PodRules()), racks().ledger())) == NODES


def test_pods_that_keep_apart_take_a_node_each_and_the_gang_starts_with_its_minimum():
    policy = get_policy("kube-default")
    placement = policy.place(gang("j", 8, APART, 4), racks().ledger())
    assert placement.n_placed == 6
    (reason,) = {reason for pod in placement.unplaced for reason in pod.reasons}
    assert (reason.code, reason.message) == (
        "pod-affinity",
        "0/6 nodes are available: 6 node(s) didn't match pod anti-affinity rules.",
    )
    refusal = policy.place(gang("j", 8, APART), racks().ledger())
    assert isinstance(refusal, Refusal)
    assert said(refusal.reasons)[-1] == "minCount (8) cannot be satisfied: 6 scheduled, 1 remaining"


def test_pods_that_want_to_be_near_follow_the_first_one():
    found = nodes_of(get_policy("kube-default").place(gang("j", 4, NEAR, cpu=4000), racks().ledger()))
    assert {LABELS[name]["rack"] for name in found} == {"r0"}


def test_pods_are_spread_over_racks():
    found = nodes_of(get_policy("kube-default").place(gang("j", 6, EVEN), racks(cordoned=["n1"]).ledger()))
    assert sorted(LABELS[name]["rack"] for name in found) == ["r0", "r0", "r1", "r1", "r2", "r2"]


def test_a_session_and_a_stream_see_pods_of_earlier_gangs():
    policy = get_policy("kube-default")
    gangs = [gang(f"j{i}", 3, APART) for i in range(3)]
    first, second, third = (decision.result for decision in policy.schedule(gangs, racks()))
    assert sorted(nodes_of(first) + nodes_of(second)) == NODES
    assert codes(third.reasons) == ("pod-affinity", "pod-group-unschedulable")
    stream = policy.stream(racks())
    held = stream.place(gangs[0])
    assert nodes_of(stream.place(gangs[1])) == nodes_of(second)
    assert isinstance(stream.place(gangs[2]), Refusal)
    stream = pickle.loads(pickle.dumps(stream))
    stream.give_back(stream.held[0])
    assert nodes_of(stream.place(gangs[2])) == nodes_of(held)


def test_running_pods_refuse_those_that_they_keep_apart_from():
    running = [RunningPod("d", "r", 0, {"cpu": 1}, labels={"app": "b"}, rules=APART)]
    found = nodes_of(get_policy("kube-default").place(gang("j", 5, PodRules()), racks(running=running).ledger()))
    assert found == NODES[1:]
    elsewhere = [dataclasses.replace(running[0], namespace="e")]
    found = nodes_of(get_policy("kube-default").place(gang("j", 6, PodRules()), racks(running=elsewhere).ledger()))
    assert sorted(found) == NODES


def test_a_refusal_is_in_the_words_of_kube_scheduler():
    taints = {"n0": [Taint("team", "x", "NoSchedule")], "n1": [Taint("team", "x", "NoExecute")]}
    cluster = racks(taints=taints, cordoned=["n2"], used={"n3": (64_000, 0, 110, 0)})
    role = Role("w", 1, {"cpu": 100_000})
    refusal = get_policy("kube-default").place(Gang("d", "j", (role,), 1), cluster.ledger())
    assert said(refusal.reasons) == (
        "no node offers 100 cpu (the largest has 64)",
        "0/6 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s), "
        "3 Insufficient cpu.",
    )


def test_a_cordoned_node_takes_pods_that_tolerate_its_taint():
    cluster = snapshot(["a"], cordoned=["a"])
    tolerates = dataclasses.replace(Role("w", 1, {"cpu": 1}).filter, tolerations=(Toleration("", "Exists"),))
    found = get_policy("kube-default").place(
        Gang("d", "j", (Role("w", 1, {"cpu": 1}, filter=tolerates),), 1), cluster.ledger()
    )
    assert nodes_of(found) == ["a"]


def test_pods_without_requests_are_pods_like_others():
    helper = Role("helper", 3, {}, assumed={"cpu": 100, "memory": 200 << 20})
    placement = get_policy("kube-default").place(
        Gang("d", "j", (helper, Role("w", 2, {"cpu": 500})), 5), snapshot(["a", "b", "c"], cpu=2000).ledger()
    )
    assert nodes_of(placement)[:3] == ["a", "b", "c"]
    assert "best-effort-last" not in codes(placement.warnings)


def test_what_kube_scheduler_cannot_express_is_said():
    roles = (Role("w", 2, {"cpu": 1}, min_available=1), Role("v", 1, {"cpu": 1}))
    result = get_policy("kube-default").place(
        Gang("d", "j", roles, 2, TopologyConstraint("hard", 1), queue="research"), document_tree().ledger()
    )
    assert [code for code in codes(result.warnings) if code == "not-expressed"] == ["not-expressed"] * 3
    assert said(result.warnings) == (
        "kube-default knows no topology: the hard constraint of the gang has no effect",
        "a PodGroup has no minimum per role: that of w has no effect",
        "kube-scheduler has no queues: the limits and the weight of research have no effect",
    )


def test_pods_of_different_priority_are_no_pod_group():
    roles = (Role("w", 1, {"cpu": 1}, priority=5), Role("v", 1, {"cpu": 1}))
    refusal = get_policy("kube-default").place(Gang("d", "j", roles, 2), document_tree().ledger())
    assert codes(refusal.reasons) == ("pod-priorities-differ",)
    assert isinstance(get_policy("kube-default").place(Gang("d", "j", roles, 1), document_tree().ledger()), Placement)


def test_pods_of_a_deployment_spread_over_hosts_and_zones():
    labels = {name: {HOST: name, "topology.kubernetes.io/zone": "z" if name < "n3" else "y"} for name in NODES}
    used = {name: (30_000 if name < "n3" else 0, 0, 0, 0) for name in NODES}
    cluster = snapshot(NODES, labels=labels, used=used)
    role = Role("w", 2, {"cpu": 1000}, labels={"app": "a"})
    running = [RunningPod("d", "r", i, {}, labels={"app": "a"}) for i in (3, 4, 5)]
    cluster = dataclasses.replace(cluster, running=tuple(running))
    alone = nodes_of(get_policy("kube-default").place(Gang("d", "j", (role,), 2), cluster.ledger()))
    owned = nodes_of(get_policy("kube-default").place(Gang("d", "j", (role,), 2, kind="Deployment"), cluster.ledger()))
    assert alone[0] == "n3"
    assert owned[0] == "n0"


def test_an_explanation_shows_every_filter_and_score():
    cluster = racks(taints={"n0": [Taint("team", "x", "NoSchedule")]})
    explanation = get_policy("kube-default").explain(gang("j", 1, PodRules()), cluster)
    first, *others = explanation.nodes
    assert (first.name, first.kept, first.why) == ("n0", False, "node(s) had untolerated taint(s)")
    assert [node.name for node in others] == NODES[1:]
    assert others[0].parts == {
        "TaintToleration": 300,
        "NodeResourcesFit": 99,
        "NodeResourcesBalancedAllocation": 74,
    }
    assert others[0].score == 473
    assert explanation.notes == ("equal scores for the first pod: n1, n2, n3, n4, n5",)


@pytest.mark.parametrize(
    ("parameters", "want"),
    [
        ({"strategy": "MostAllocated"}, ["n1", "n1", "n1"]),
        ({"strategy": "RequestedToCapacityRatio", "curve": "0=10,100=0"}, ["n0", "n2", "n3"]),
        ({"strategy": "MostAllocated", "resources": {"memory": 1}}, ["n0", "n0", "n0"]),
    ],
)
def test_the_strategy_is_a_parameter(parameters, want):
    cluster = racks(used={"n1": (20_000, 0, 1, 0)})
    role = Role("w", 3, {"cpu": 1000, "memory": 4 << 30}, labels={"app": "a"})
    assert (
        nodes_of(get_policy("kube-default", **parameters).place(Gang("d", "j", (role,), 3), cluster.ledger())) == want
    )


@pytest.mark.parametrize("curve", ["", "0", "0=11", "101=1", "0=1,0=2", "a=1", "0=1,,2=3", "-1=2"])
def test_what_is_no_curve_is_refused(curve):
    with pytest.raises(InputError, match=r"kube-default.*curve"):
        get_policy("kube-default", curve=curve)


def random_rules(rng):
    term = PodAffinityTerm(rng.choice([HOST, "rack"]), WITH_APP, 0)
    soft = dataclasses.replace(term, weight=rng.randint(1, 100))
    return rng.choice(
        [
            PodRules(),
            APART,
            NEAR,
            EVEN,
            PodRules(preferred_affinity=(soft,)),
            PodRules(preferred_anti_affinity=(soft,), spread=(SpreadConstraint(HOST, 2, hard=False),)),
        ]
    )


@max_examples(150)
@given(rng=choices())
def test_no_node_is_over_capacity_and_a_refusal_leaves_nothing(rng):
    cluster, policy = random_cluster(rng), get_policy("kube-default", ties=rng.choice(["name", "heap"]))
    ledger = cluster.ledger()
    for number in range(3):
        given_gang = random_gang(rng, cluster)
        roles = tuple(
            dataclasses.replace(role, priority=0, labels={"app": rng.choice("ab")}, rules=random_rules(rng))
            for role in given_gang.roles
        )
        wanted = dataclasses.replace(given_gang, name=f"j{number}", roles=roles, order=())
        before = ledger.used.copy(), ledger.gpu_free.copy()
        counted = ledger.pods.of(EVERY_POD).copy()
        result = policy.place(wanted, ledger)
        check_ledger(ledger)
        if isinstance(result, Refusal):
            assert np.array_equal(ledger.used, before[0])
            assert np.array_equal(ledger.gpu_free, before[1])
            assert np.array_equal(ledger.pods.of(EVERY_POD), counted)
            continue
        placed = np.bincount(result.node[result.node >= 0], minlength=cluster.n_nodes)
        assert np.array_equal(ledger.pods.of(EVERY_POD), counted + placed)
        assert result.n_placed + wanted.ready >= wanted.min_available
        grown = ledger.used > before[0]
        assert (ledger.idle[grown] >= 0).all()
        again = get_policy("kube-default", ties=policy.parameters["ties"])
        if number == 0:
            assert again.place(wanted, cluster.ledger()).node.tolist() == result.node.tolist()


def test_affinity_may_name_labels_that_the_controller_writes():
    def apart(key, value):
        selector = PodSelector((Requirement(key, "In", (value,)),))
        return PodRules(anti_affinity=(PodAffinityTerm(HOST, selector),))

    policy = get_policy("kube-default")
    for key, value in (("volcano.sh/job-name", "j0"), ("volcano.sh/task-spec", "w")):
        first, second = gang("j0", 3, apart(key, value), labels={}), gang("j1", 3, PodRules(), labels={})
        placed = [decision.result for decision in policy.schedule([first, second], racks())]
        assert len(set(nodes_of(placed[0]))) == 3
        assert not set(nodes_of(placed[0])) & set(nodes_of(placed[1]))
    # Pods of no Job lack the label, so that nothing keeps them apart when the scores do not.
    alone = dataclasses.replace(gang("j0", 2, apart("volcano.sh/job-name", "j0"), labels={}, cpu=0), kind="Pod")
    packed = racks(used=dict.fromkeys(NODES[1:], (0, 200 << 30, 0, 0)))
    assert nodes_of(policy.place(alone, packed.ledger())) == ["n0", "n0"]
