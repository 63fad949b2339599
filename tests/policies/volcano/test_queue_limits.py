"""What refusals and warnings say about queues: the limit by its kind, what is used, and who holds the rest."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree
from tests.policies.random_cases import random_cluster, random_gang
from tests.policies.volcano.test_session import job, nodes, run, wanting
from tests.profiles import max_examples
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.placement import Placement, Refusal
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import Queue
from workbench.policies import get_policy

QUEUE_CODES = {"queue-limit", "queue-share", "queue-guarantees"}
GPU = "nvidia.com/gpu"


def busy(n, queue, count=1):
    """A cluster of nodes of 1 CPU, some of them held by running pods of a queue."""
    running = [RunningPod("d", f"r{i}", i, {"cpu": 1000}, "d/r", "w", queue=queue) for i in range(count)]
    return nodes(n, running=running, used={f"n{i}": (1000, 0, 1, 0) for i in range(count)})


LIMITS = {
    "a capability": (
        [job("a", 3, queue="a")],
        busy(8, "a"),
        ("gang", "proportion"),
        (Queue("a", capability={"cpu": 3000}),),
        ("queue-limit", "queue a: 1 of its capability of 3 cpu are taken, the job asks for 3", (3000, 1000, 3000)),
    ),
    "a capability, for less than all pods": (
        [job("a", 5, minimum=3, queue="a")],
        busy(8, "a"),
        ("gang", "proportion"),
        (Queue("a", capability={"cpu": 3000}),),
        (
            "queue-limit",
            "queue a: 1 of its capability of 3 cpu are taken, the job's minimum of 3 pods asks for 3",
            (3000, 1000, 3000),
        ),
    ),
    "the share by weight, which is no capability": (
        [job("a", 5, queue="a"), job("b", 8, minimum=1, queue="b")],
        busy(8, "a"),
        ("gang", "proportion"),
        (Queue("a"), Queue("b")),
        (
            "queue-share",
            "queue a: its share by weight is 4 of 8 cpu, 1 are taken, the job asks for 5",
            (4000, 1000, 5000),
        ),
    ),
    "what others are guaranteed": (
        [job("a", 5, queue="a")],
        busy(8, "a"),
        ("gang", "capacity"),
        (Queue("a"), Queue("b", guarantee={"cpu": 3000})),
        (
            "queue-guarantees",
            "queue a: queue b is guaranteed 3 of 8 cpu, 1 are taken, the job asks for 5",
            (5000, 1000, 5000),
        ),
    ),
    "what several others are guaranteed": (
        [job("a", 5, queue="a")],
        busy(8, "a"),
        ("gang", "capacity"),
        (Queue("a"), Queue("c", guarantee={"cpu": 1000}), Queue("b", guarantee={"cpu": 3000})),
        (
            "queue-guarantees",
            "queue a: queues b, c are guaranteed 4 of 8 cpu, 1 are taken, the job asks for 5",
            (4000, 1000, 5000),
        ),
    ),
}


@pytest.mark.parametrize(("gangs", "cluster", "plugins", "queues", "want"), LIMITS.values(), ids=LIMITS.keys())
def test_a_limit_is_told_by_its_kind_with_numbers(gangs, cluster, plugins, queues, want):
    code, message, (limit, used, requested) = want
    result = run(gangs, cluster, *plugins, queues=queues)[0]
    assert isinstance(result, Refusal)
    first = result.reasons[0]
    assert (first.code, first.message, first.subject) == (code, message, "queue a")
    numbers = {"limit cpu": limit, "used cpu": used, "requested cpu": requested}
    assert {key: first.numbers[key] for key in numbers} == numbers
    # No node is blamed where the queue alone keeps the job out.
    assert [reason.code for reason in result.reasons] == [code, "gang-unschedulable"]
    assert "nodes are unavailable" not in result.reasons[1].message


def test_a_queue_that_takes_the_minimum_is_a_warning_and_no_reason():
    """Two pods must start inside a leaf, which the taken nodes do not allow; the queue would take three of five."""
    used = {f"node{i}": (0, 0, 0, 8) for i in (0, 2, 4, 6)}
    cluster = dataclasses.replace(
        document_tree(used=used, free_gpus=dict.fromkeys(used, 0)), queues={"a": Queue("a", capability={GPU: 24})}
    )
    roles = (Role("w", 5, {GPU: 8}, (8,)),)
    wide = Gang("d", "j", roles, 2, TopologyConstraint("hard", 1), queue="a")
    for name in ("volcano-1.13", "volcano-1.15"):
        ((result,),) = ([d.result for d in get_policy(name).schedule([wide], cluster)],)
        assert isinstance(result, Refusal)
        assert not QUEUE_CODES & {reason.code for reason in result.reasons}
        assert [(note.code, note.message) for note in result.warnings if note.code in QUEUE_CODES] == [
            ("queue-limit", f"queue a: 0 of its capability of 24 {GPU} are taken; it takes 3 of the 5 pods")
        ]
        assert [(m.domain, m.holds, m.needs) for m in result.nearest_misses] == [("s0", 1, 2)]


def test_where_queue_and_room_are_both_too_small_both_are_told_as_each_is():
    """A leaf has room for two pods, the queue for one: the leaf is not said to hold one."""
    cluster = dataclasses.replace(document_tree(), queues={"a": Queue("a", capability={GPU: 8})})
    wide = Gang("d", "j", (Role("w", 3, {GPU: 8}, (8,)),), 3, TopologyConstraint("hard", 1), queue="a")
    for name in ("volcano-1.13", "volcano-1.15"):
        (decision,) = get_policy(name).schedule([wide], cluster)
        messages = [reason.message for reason in decision.result.reasons]
        assert messages[0] == f"queue a: 0 of its capability of 8 {GPU} are taken, the job asks for 24"
        assert "no HyperNode of tier <= 1 holds 3 pods: best s0 (tier 1) holds 2 of 3" in messages


def test_a_full_queue_says_what_it_holds():
    queues = (Queue("a", capability={"cpu": 1000}),)
    (result,) = run([job("b", 1, queue="a")], busy(2, "a"), "gang", "proportion", queues=queues)
    assert result.reasons[0].message == "queue a holds what it deserves of every resource: 1 of 1 cpu"
    assert result.reasons[0].numbers == {"limit cpu": 1000, "used cpu": 1000}


def test_jobs_that_reserve_what_a_job_asks_for_are_named_with_amounts():
    queues = (Queue("a", capability={"cpu": 6000}),)
    gangs = [wanting(job(f"j{i}", i, queue="a"), i * 1000) for i in (1, 2, 3)] + [wanting(job("k", 1, queue="a"), 1000)]
    results = run(gangs, busy(9, "a", 0), "gang", "proportion", actions=("enqueue", "allocate"), queues=queues)
    assert [isinstance(result, Placement) for result in results] == [True, True, True, False]
    assert results[3].reasons[0].message == (
        "not admitted by enqueue: queue a resource quota insufficient; 0 of its capability of 6 cpu are taken, the job "
        "asks for 1; d/j3 (3), d/j2 (2), d/j1 (1), admitted before it, reserve 6 cpu"
    )
    assert results[3].reasons[0].numbers["reserved cpu"] == 6000


@pytest.mark.parametrize("name", ["allocate", "volcano-1.13", "volcano-1.15"])
@max_examples(100)
@given(rng=choices())
def test_a_queue_is_a_reason_only_where_the_job_needs_more_than_it_takes(name, rng):
    cluster = random_cluster(rng)
    gang = dataclasses.replace(random_gang(rng, cluster), extras={}, queue="q", ready=0)
    capability = {"cpu": rng.randint(0, 6) * 500, GPU: rng.randint(0, 5)}
    limited = dataclasses.replace(cluster, queues={"q": Queue("q", capability=capability)}, running=())
    (decision,), (free,) = (get_policy(name).schedule([gang], where) for where in (limited, _unlimited(limited)))
    if not isinstance(decision.result, Refusal):
        return
    reasons = [reason for reason in decision.result.reasons if reason.code in QUEUE_CODES]
    if isinstance(free.result, Placement):
        # Nothing but the queue is in the way.
        assert reasons or any(reason.code == "queue-overused" for reason in decision.result.reasons)
    for reason in reasons:
        short = [key.removeprefix("limit ") for key in reason.numbers if key.startswith("limit ")]
        for resource in short:
            left = reason.numbers[f"limit {resource}"] - reason.numbers[f"used {resource}"]
            assert reason.numbers[f"requested {resource}"] > left


def _unlimited(cluster):
    return dataclasses.replace(cluster, queues={})
