"""Jobs beside terminating pods: which wait, which start, and the resources reserved for those that wait."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree
from tests.ledger_check import check_ledger
from tests.policies.random_cases import random_cluster, random_gang
from tests.policies.v1_15_cases import random_1_15_gang
from tests.profiles import max_examples
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.placement import Placement, Refusal
from workbench.model.running_pod import RunningPod
from workbench.policies import get_policy

ALL = ("allocate", "volcano-1.13", "volcano-1.15")


def tree(*, running=(), ending=()):
    """The document's tree, 1 CPU a node; names of nodes whose CPU a pod holds, for long or until it is gone."""
    pods = [RunningPod("d", f"r{n}", int(n[4:]), {"cpu": 1000}) for n in running]
    pods += [RunningPod("d", f"e{n}", int(n[4:]), {"cpu": 1000}, terminating=True) for n in ending]
    used = {f"node{pod.node}": (1000, 0, 1, 0) for pod in pods}
    return document_tree(cpu=1000, gpus=0, used=used, running=pods)


def gang(n, mode=None, tier=None, name="j", **options):
    constraint = TopologyConstraint(mode, tier) if mode else None
    options.setdefault("min_available", n)
    return Gang("d", name, (Role("w", n, {"cpu": 1000}),), constraint=constraint, **options)


def place(name, job, cluster):
    ledger = cluster.ledger()
    result = get_policy(name).place(job, ledger)
    check_ledger(ledger)
    if isinstance(result, Refusal):
        assert np.array_equal(ledger.used, cluster.used)
    return result


FULL = [f"node{i}" for i in range(8)]


@pytest.mark.parametrize("name", ALL)
def test_a_job_waits_for_room_that_pods_leave(name):
    cluster = tree(running=FULL[2:], ending=["node0", "node1"])
    result = place(name, gang(2), cluster)
    assert result.reasons[0].code == "pipelined"
    assert result.reasons[0].message == "2 pods wait for resources that terminating pods still hold on node0, node1"
    assert result.reasons[0].numbers["count"] == 2
    # One pod more than will fit: waiting is no help.
    assert "pipelined" not in [reason.code for reason in place(name, gang(3), cluster).reasons]


@pytest.mark.parametrize("name", ALL)
def test_what_is_idle_now_is_taken_before_what_will_be(name):
    cluster = tree(running=FULL[3:], ending=["node0"])
    result = place(name, gang(2), cluster)
    assert [pod.node for pod in result.pods()] == ["node1", "node2"]


def test_1_15_waits_for_a_closer_hypernode_and_1_13_starts_in_a_wider_one():
    cluster = tree(running=[*FULL[4:], "node0"], ending=["node2"])
    job = gang(2, "hard", 2)
    assert place("volcano-1.13", job, cluster).hypernode == "s4"
    result = place("volcano-1.15", job, cluster)
    assert result.reasons[0].message == (
        "1 pod waits for resources that terminating pods still hold on node2: s1 is tried before s4, which has room now"
    )
    # Room that is as close now: nothing to wait for.
    assert place("volcano-1.15", job, tree(running=[*FULL[4:]], ending=["node2"])).hypernode == "s0"


def test_the_pre_filter_counts_what_ends_as_idle():
    """Four pods of which two must start: tier 1 has room for two now and never for four, tier 2 for four later."""
    cluster = tree(running=FULL[4:], ending=["node2", "node3"])
    job = gang(4, "hard", 2, min_available=2)
    result = place("volcano-1.15", job, cluster)
    assert (result.hypernode, result.n_placed) == ("s4", 2)


def session(name, gangs, cluster):
    decisions = get_policy(name).schedule(gangs, cluster)
    return {d.gang.name: [p.node for p in d.result.pods()] if d.placed else d.result.reasons[0].code for d in decisions}


@pytest.mark.parametrize("name", ALL)
def test_what_a_waiting_job_would_get_is_kept_for_it_in_the_session(name):
    cluster = tree(running=FULL[3:], ending=["node0"])
    # a takes node1 and node2 now and node0 later: nothing is left for b, and none will be for c.
    found = session(name, [gang(3, name="a"), gang(1, name="b"), gang(1, name="c")], cluster)
    assert found["a"] == "pipelined"
    assert found["b"] != "pipelined" and isinstance(found["b"], str)
    # Without a both start.
    assert session(name, [gang(1, name="b"), gang(1, name="c")], cluster) == {"b": ["node1"], "c": ["node2"]}


@pytest.mark.parametrize("name", ALL)
def test_the_explanation_gives_the_same_answer_and_says_why(name):
    cluster = tree(running=FULL[2:], ending=["node0", "node1"])
    policy = get_policy(name)
    explanation = policy.explain(gang(2), cluster)
    assert explanation.decision.result.reasons == policy.place(gang(2), cluster.ledger()).reasons
    assert any("terminating pods" in note for note in explanation.notes)
    placing = Recorder()
    assert policy.place(gang(2), cluster.ledger(), placing).reasons == explanation.decision.result.reasons
    assert sorted(placing.notes) == sorted(explanation.notes)
    assert placing.candidates == list(explanation.candidates)


@pytest.mark.parametrize(("name", "make"), [("volcano-1.13", random_gang), ("volcano-1.15", random_1_15_gang)])
@max_examples(60)
@given(rng=choices())
def test_who_waits_starts_when_they_are_gone_and_who_need_not_wait_starts_now(name, make, rng):
    cluster = random_cluster(rng)
    ending = [
        RunningPod("d", f"e{i}", rng.randrange(cluster.n_nodes), {"cpu": 1000}, terminating=True) for i in range(3)
    ]
    used = cluster.used.copy()
    for pod in ending:
        used[pod.node, [0, 2]] += [1000, 1]
    cluster = replace(cluster, used=used, running=(*cluster.running, *ending))
    job = make(rng, cluster)
    job = replace(job, ready=sum(pod.gang == job.key for pod in cluster.running))
    result = place(name, job, cluster)
    later = place(name, job, cluster.after_endings)
    now = place(name, job, replace(cluster, running=tuple(p for p in cluster.running if not p.terminating)))
    codes = [reason.code for reason in result.reasons] if isinstance(result, Refusal) else []
    if "pipelined" in codes:
        assert isinstance(later, Placement)
        assert isinstance(now, Refusal) or (name == "volcano-1.15" and later.tier <= now.tier)
    elif isinstance(result, Refusal):
        assert isinstance(now, Refusal)
