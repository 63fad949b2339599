"""Sessions of several jobs: turns, queues, admission, best-effort pods, and invariants of them all."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree, snapshot
from tests.ledger_check import check_ledger
from tests.notices import said
from tests.policies.random_cases import random_cluster
from tests.profiles import max_examples
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.labels import NodeFilter, Requirement
from workbench.model.placement import Placement, Refusal
from workbench.model.running_pod import RunningPod
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.model.snapshot import Queue
from workbench.model.topology import Problem
from workbench.policies import get_policy
from workbench.policies.progress import Progress

PLUGINS = ("priority", "gang", "drf", "predicates", "proportion", "nodeorder", "binpack")


def config(*plugins, actions=("allocate", "backfill")):
    options = tuple(p if isinstance(p, PluginOption) else PluginOption(p) for p in plugins)
    return SchedulerConfig(actions, (options,))


def job(name, n, cpu=1000, minimum=None, queue="default", **options):
    role = Role("w", n, {"cpu": cpu} if cpu else {})
    return Gang("d", name, (role,), n if minimum is None else minimum, queue=queue, **options)


def run(gangs, cluster, *plugins, policy="allocate", actions=("allocate", "backfill"), queues=()):
    cluster = dataclasses.replace(cluster, queues={queue.name: queue for queue in queues})
    parameters = {"config": config(*plugins, actions=actions)} if plugins else {}
    return [d.result for d in get_policy(policy, **parameters).schedule(gangs, cluster)]


def placed(results):
    return {result.gang.name: result.n_placed if isinstance(result, Placement) else 0 for result in results}


def nodes(n, **options):
    return snapshot([f"n{i}" for i in range(n)], cpu=1000, gpus=0, **options)


# ---------------------------------------------------------------------------------------------------------------------
# Who gets how many of the nodes, each of which holds one pod of 1000 milli-CPU
# ---------------------------------------------------------------------------------------------------------------------

SHARED = {
    "leftovers come one per turn and the jobs of two queues alternate": (
        [job("a", 4, minimum=0, queue="a"), job("b", 4, minimum=0, queue="b")],
        4,
        ("gang", "drf", "proportion"),
        (),
        {"a": 2, "b": 2},
    ),
    "in one queue drf lets the smaller share go first, so that jobs alternate": (
        [job("a", 4, minimum=1), job("b", 4, minimum=1)],
        4,
        ("gang", "drf"),
        (),
        {"a": 2, "b": 2},
    ),
    "without drf a ready job comes after one that is not, then by name": (
        [job("a", 3, minimum=1), job("b", 3, minimum=1)],
        4,
        ("gang",),
        (),
        {"a": 3, "b": 1},
    ),
    "priority comes before readiness where it is configured first": (
        [job("a", 3, minimum=1), job("b", 3, minimum=1, priority=1)],
        3,
        ("priority", "gang"),
        (),
        {"a": 0, "b": 3},
    ),
    "without the plugin priority it says nothing": (
        [job("a", 3), job("b", 3, priority=1)],
        3,
        ("gang",),
        (),
        {"a": 3, "b": 0},
    ),
    "a gang that does not fit leaves its nodes to the next": (
        [job("a", 5), job("b", 2)],
        4,
        ("gang",),
        (),
        {"a": 0, "b": 2},
    ),
    "queues share by weight": (
        [job("a", 8, minimum=0, queue="a"), job("b", 8, minimum=0, queue="b")],
        8,
        ("gang", "proportion"),
        (Queue("a", 3), Queue("b", 1)),
        {"a": 6, "b": 2},
    ),
    "a gang beyond what its queue deserves waits": (
        [job("a", 5, queue="a"), job("b", 5, queue="b")],
        8,
        ("gang", "proportion"),
        (),
        {"a": 0, "b": 0},
    ),
    "a capability bounds a queue though nodes are free": (
        [job("a", 4, minimum=1, queue="a"), job("b", 2, queue="b")],
        8,
        ("gang", "proportion"),
        (Queue("a", capability={"cpu": 2000}), Queue("b")),
        {"a": 2, "b": 2},
    ),
    "capacity lets a queue use what others leave": (
        [job("a", 6, queue="a"), job("b", 2, queue="b")],
        8,
        ("gang", "capacity"),
        (Queue("a", deserved={"cpu": 2000}), Queue("b", deserved={"cpu": 6000})),
        {"a": 6, "b": 2},
    ),
    "capacity keeps what is guaranteed to others": (
        [job("a", 6, minimum=1, queue="a")],
        8,
        ("gang", "capacity"),
        (Queue("a"), Queue("b", guarantee={"cpu": 5000})),
        {"a": 3},
    ),
    "without the plugin gang pods come one by one": (
        [job("a", 5)],
        3,
        ("drf",),
        (),
        {"a": 3},
    ),
    "without queue plugins queues come by name": (
        [job("a", 3, queue="b"), job("b", 3, queue="a", priority=-1)],
        3,
        ("priority", "gang"),
        (),
        {"a": 0, "b": 3},
    ),
}


@pytest.mark.parametrize(("gangs", "n", "plugins", "queues", "want"), SHARED.values(), ids=SHARED.keys())
def test_who_gets_how_much(gangs, n, plugins, queues, want):
    cluster = nodes(n)
    assert placed(run(gangs, cluster, *plugins, queues=queues)) == want
    assert placed(run(gangs[::-1], cluster, *plugins, queues=queues)) == want


def test_answers_come_in_the_order_of_the_gangs():
    gangs = [job("b", 1), job("a", 1)]
    assert [result.gang for result in run(gangs, nodes(2), "gang")] == gangs


def turns(gangs, cluster, *plugins, actions=("allocate", "backfill"), queues=()):
    """The names of the gangs in the order in which the session decided."""
    cluster = dataclasses.replace(cluster, queues={queue.name: queue for queue in queues})
    decisions = get_policy("allocate", config=config(*plugins, actions=actions)).schedule(gangs, cluster)
    assert [d.gang for d in decisions] == gangs
    assert sorted(d.turn for d in decisions) == list(range(len(gangs)))
    return "".join(d.gang.name for d in sorted(decisions, key=lambda d: d.turn))


DECIDED = {
    "the higher priority first, whoever got nothing in its turn": (
        [job("a", 1), job("b", 9, priority=1), job("c", 1, priority=2)],
        ("priority", "gang"),
        ("allocate",),
        "cba",
    ),
    "a job that starts and takes further pods in later turns where it started": (
        [job("a", 3, minimum=1), job("b", 1), job("c", 1)],
        ("gang",),
        ("allocate",),
        "abc",
    ),
    "a job that enqueue does not admit before all that are tried": (
        [
            job("a", 2, extras=extras_of(VolcanoMemory(min_resources={"cpu": 2000}))),
            job("b", 9, extras=extras_of(VolcanoMemory(min_resources={"cpu": 9000}))),
        ],
        ("gang", "overcommit"),
        ("enqueue", "allocate"),
        "ba",
    ),
    "a job whose pods ask for nothing in backfill": (
        [job("a", 1, cpu=0), job("b", 1)],
        ("gang",),
        ("allocate", "backfill"),
        "ba",
    ),
    "jobs on which no action decides by name": ([job("b", 1), job("a", 1)], ("gang",), ("enqueue",), "ab"),
}


@pytest.mark.parametrize(("gangs", "plugins", "actions", "want"), DECIDED.values(), ids=DECIDED.keys())
def test_the_order_of_the_decisions(gangs, plugins, actions, want):
    assert turns(gangs, nodes(2), *plugins, actions=actions) == want


# ---------------------------------------------------------------------------------------------------------------------
# Reasons
# ---------------------------------------------------------------------------------------------------------------------


def codes(result):
    return [reason.code for reason in result.reasons]


def test_a_job_beyond_its_queue_is_told_so():
    queues = (Queue("a", capability={"cpu": 2000}),)
    (result,) = run([job("a", 3, queue="a")], nodes(8), "gang", "proportion", queues=queues)
    assert isinstance(result, Refusal)
    assert result.reasons[0].message == "queue a: 0 of its capability of 2 cpu are taken, the job asks for 3"
    assert codes(result)[0] == "queue-limit"


def test_pods_beyond_the_queue_are_told_so():
    queues = (Queue("a", capability={"cpu": 2000}),)
    (result,) = run([job("a", 3, minimum=1, queue="a")], nodes(8), "gang", "proportion", queues=queues)
    (left,) = result.unplaced
    assert left.reasons[0].message == "queue a: 2 of its capability of 2 cpu are taken, one more pod of w asks for 1"


def test_a_queue_that_holds_what_it_deserves_gets_no_turn():
    running = [RunningPod("d", "r", 0, {"cpu": 1000}, "d/a", "w", queue="a")]
    cluster = nodes(2, running=running, used={"n0": (1000, 0, 1, 0)})
    queues = (Queue("a", capability={"cpu": 1000}),)
    waits, grows = run(
        [job("b", 1, queue="a"), job("a", 1, minimum=1, queue="a", ready=1)],
        cluster,
        "gang",
        "proportion",
        queues=queues,
    )
    assert codes(waits) == ["queue-overused"]
    # It runs already; only its further pod waits.
    assert isinstance(grows, Placement)
    assert grows.unplaced[0].reasons[0].code == "queue-overused"


def test_unmodelled_plugins_are_named_in_every_answer():
    results = run([job("a", 1), job("b", 9)], nodes(2), "gang", "sla")
    assert [type(result) for result in results] == [Placement, Refusal]
    for result in results:
        assert "plugin sla is not modelled: it has no effect here" in said(result.warnings)


def test_a_gang_that_can_never_be_complete_is_not_tried():
    (result,) = run([job("a", 2, minimum=5)], nodes(8), "gang")
    assert codes(result) == ["not-enough-pods"]


def test_1_13_does_not_go_on_with_a_queue_whose_hard_job_meets_a_topology_that_is_not_ready():
    cluster = document_tree(problems=(Problem("cycle", "s0", "a cycle"),), ready=False)
    hard = dataclasses.replace(job("b", 1), constraint=TopologyConstraint("hard", 1))
    gangs = [job("a", 1), hard, job("c", 1), job("d", 1, queue="other")]
    results = run(gangs, cluster, policy="volcano-1.13")
    assert [codes(r) if isinstance(r, Refusal) else "placed" for r in results] == [
        "placed",
        ["topology-not-ready"],
        ["queue-waits"],
        "placed",
    ]


# ---------------------------------------------------------------------------------------------------------------------
# enqueue, backfill, predicates
# ---------------------------------------------------------------------------------------------------------------------


def wanting(gang, cpu):
    return gang.with_extra(VolcanoMemory(min_resources={"cpu": cpu}))


def test_a_job_that_is_not_admitted_waits_even_where_it_would_fit():
    gangs = [wanting(job("a", 2), 2000), wanting(job("b", 1), 1000), wanting(job("c", 1), 1000)]
    results = run(gangs, nodes(2), "gang", "overcommit", actions=("enqueue", "allocate"))
    assert placed(results) == {"a": 2, "b": 0, "c": 0}
    assert [reason.message for reason in results[1].reasons] == [
        "not admitted by enqueue: resource in cluster is overused; 2.4 cpu are left of the cluster enlarged by "
        "overcommit-factor, the job asks for 1; d/a, admitted before it, reserves 2 cpu"
    ]
    assert placed(run(gangs, nodes(2), "gang", "overcommit", actions=("allocate",))) == {"a": 2, "b": 0, "c": 0}


def test_a_job_that_runs_was_admitted_before():
    running = [RunningPod("d", "r", 0, {"cpu": 1000}, "d/a", "w")]
    cluster = nodes(2, running=running, used={"n0": (1000, 0, 1, 0)})
    gangs = [job("a", 1, minimum=2, ready=1), wanting(job("b", 2), 2000)]
    results = run(gangs, cluster, "gang", "overcommit", actions=("enqueue", "allocate"))
    assert placed(results) == {"a": 1, "b": 0}
    assert results[1].reasons[0].code == "not-admitted"


@pytest.mark.parametrize("least", [1000, 2000])
def test_what_a_running_job_holds_beyond_its_minimum_keeps_no_job_out_of_the_queue(least):
    running = [RunningPod("d", f"r{i}", i, {"cpu": 1000}, "d/a", "w", queue="q") for i in range(2)]
    cluster = nodes(6, running=running, used=dict.fromkeys(("n0", "n1"), (1000, 0, 1, 0)))
    gangs = [
        wanting(job("a", 1, minimum=1, queue="q", ready=2), least),
        wanting(job("b", 2, queue="q"), 2000),
    ]
    queues = [Queue("q", capability={"cpu": 3000})]
    plugins = ("gang", "proportion")
    results = run(gangs, cluster, *plugins, actions=("enqueue", "allocate"), queues=queues)
    refused = isinstance(results[1], Refusal) and "not-admitted" in codes(results[1])
    assert refused == (least == 2000)


def test_a_job_admitted_before_is_not_asked_again_and_counts():
    # 2.4 times a node's CPU may be asked for.
    before = job("b", 2, extras=extras_of(VolcanoMemory(min_resources={"cpu": 2000}, inqueue=True)))
    gangs = [wanting(job("a", 1), 1000), before]
    results = run(gangs, nodes(2), "gang", "overcommit", actions=("enqueue", "allocate"))
    assert placed(results) == {"a": 0, "b": 2}
    assert results[0].reasons[0].code == "not-admitted"


@pytest.mark.parametrize("actions", [("enqueue",), ("backfill",), (), ("allocate", "enqueue")])
def test_without_allocate_after_admission_nothing_is_placed(actions):
    (result,) = run([job("a", 1)], nodes(2), "gang", actions=actions)
    assert codes(result) == ["not-configured"]


def test_best_effort_pods_come_last_and_blind_to_topology():
    roles = (Role("w", 2, {"cpu": 1000}), Role("observer", 1, {}))
    gang = Gang("d", "a", roles, 2, TopologyConstraint("hard", 1))
    cluster = document_tree(cpu=1000, pods=1)
    (result,) = run([gang], cluster, policy="volcano-1.13")
    assert result.hypernode == "s0"
    assert result.node.tolist() == [0, 1, 2]


def test_best_effort_pods_wait_where_backfill_is_not_configured():
    gang = Gang("d", "a", (Role("w", 1, {"cpu": 1000}), Role("observer", 1, {})), 1)
    (result,) = run([gang], nodes(2), "gang", actions=("allocate",))
    assert result.node.tolist() == [0, -1]
    assert result.unplaced[0].reasons[0].code == "not-configured"


def test_without_backfill_a_gang_starts_although_its_best_effort_pods_stay_pending():
    roles = (Role("w", 1, {"cpu": 1000}), Role("observer", 1, {}))
    (result,) = run([Gang("d", "a", roles, 2)], nodes(1), "gang", "predicates", actions=("allocate",))
    assert result.node.tolist() == [0, -1]
    assert [reason.code for reason in result.unplaced[0].reasons] == ["not-configured"]
    assert said(result.warnings) == (
        "1 pod asks for nothing and stays pending: it counts for the gang, which starts without it",
    )


def test_a_gang_that_needs_its_best_effort_pods_gives_everything_back_without_them():
    roles = (Role("w", 1, {"cpu": 1000}), Role("observer", 1, {}))
    gangs = [Gang("d", "a", roles, 2)]
    (result,) = run(gangs, nodes(1, pods=1), "gang", "predicates")
    assert "gang-unschedulable" in codes(result)


def test_without_predicates_selectors_and_cordons_count_nothing():
    wish = NodeFilter(required=(Requirement("zone", "In", ("x",)),))
    gang = Gang("d", "a", (Role("w", 2, {"cpu": 1000}, filter=wish),), 2)
    cluster = nodes(2, cordoned=("n0",), pods=0)
    assert placed(run([gang], cluster, "gang")) == {"a": 2}
    assert placed(run([gang], cluster, "gang", "predicates")) == {"a": 0}
    assert placed(run([gang], cluster, "gang", PluginOption("predicates", {"Predicate": False}))) == {"a": 2}


# ---------------------------------------------------------------------------------------------------------------------
# What holds for every session
# ---------------------------------------------------------------------------------------------------------------------


def random_session(rng):
    cluster = random_cluster(rng)
    names = "abc"[: rng.randint(1, 3)]
    queues = {
        name: Queue(
            name,
            rng.randint(1, 3),
            rng.choice([None, {"cpu": rng.randint(1, 6) * 1000}, {"nvidia.com/gpu": rng.randint(1, 6)}]),
            deserved=rng.choice([None, {"cpu": rng.randint(1, 9) * 1000}]),
            priority=rng.choice([0, 0, 1]),
        )
        for name in names
    }
    running = tuple(dataclasses.replace(pod, queue=rng.choice(names)) for pod in cluster.running)
    cluster = dataclasses.replace(cluster, queues=queues, running=running)
    gangs = []
    for i in range(rng.randint(1, 5)):
        roles = tuple(
            Role(
                name,
                rng.randint(1, 4),
                {"cpu": rng.choice([0, 500, 1000]), "nvidia.com/gpu": (gpus := rng.choice([0, 1, 2]))},
                (gpus,),
                rng.choice([None, None, 1]),
                priority=rng.choice([0, 1]),
            )
            for name in rng.choice(["w", "mw"])
        )
        n = sum(role.count for role in roles)
        mode = rng.choice(["hard", "soft", None])
        constraint = TopologyConstraint(mode, rng.choice([1, 2, 3])) if mode else None
        gangs.append(
            Gang(
                "d",
                f"j{i}" if i else "j",
                roles,
                rng.randint(0, n) + (len(running) if not i else 0),
                constraint,
                rng.choice(names),
                rng.choice([0, 0, 1]),
                ready=0 if i else len(running),
                extras=extras_of(
                    VolcanoMemory(
                        min_resources=rng.choice([None, {"cpu": rng.randint(0, 9) * 1000, "pods": rng.randint(0, 9)}])
                    )
                ),
            )
        )
    plugins = rng.sample([*PLUGINS, "capacity", "overcommit", "network-topology-aware"], rng.randint(3, 10))
    actions = rng.choice([("allocate", "backfill"), ("enqueue", "allocate", "backfill"), ("allocate",)])
    options = tuple(PluginOption(name) for name in (*plugins, "gang"))
    cut = rng.randint(0, len(options))
    chosen = SchedulerConfig(actions, (options[:cut], options[cut:]))
    return cluster, gangs, rng.choice([None, chosen])


def contents(result):
    fields = {f.name: getattr(result, f.name) for f in dataclasses.fields(result) if f.name not in ("gang", "topology")}
    return {k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in fields.items()}


@pytest.mark.parametrize("name", ["allocate", "volcano-1.13", "volcano-1.15"])
@max_examples(150)
@given(rng=choices())
def test_sessions_hold_on_random_clusters(name, rng):
    cluster, gangs, chosen = random_session(rng)
    check_session(name, cluster, gangs, chosen, rng.sample(range(len(gangs)), len(gangs)))


@pytest.mark.parametrize("name", ["allocate", "volcano-1.13", "volcano-1.15"])
def test_a_session_holds_when_a_queue_becomes_full_between_two_turns_of_a_hard_job(name):
    gangs = [job(each, 4, minimum=1, queue="q", constraint=TopologyConstraint("hard", 1)) for each in "ab"]
    cluster = snapshot([f"n{i}" for i in range(8)], [("s", 1, [f"n{i}" for i in range(8)], "")], cpu=1000, gpus=0)
    cluster = dataclasses.replace(cluster, queues={"q": Queue("q", capability={"cpu": 3000})})
    results = check_session(name, cluster, gangs, None, [1, 0])
    assert sum(placed(results).values()) == 3


def check_session(name, cluster, gangs, chosen, order):
    """Hold a session to what is promised of every one; `order` is another order of the gangs."""
    policy = get_policy(name, **({} if chosen is None else {"config": chosen}))
    results = [decision.result for decision in policy.schedule(gangs, cluster)]
    assert [result.gang for result in results] == gangs

    # The order in which the gangs are given is none.
    again = [decision.result for decision in policy.schedule([gangs[i] for i in order], cluster)]
    assert [contents(again[order.index(i)]) for i in range(len(gangs))] == [contents(result) for result in results]

    ledger = cluster.ledger()
    held = {name: np.zeros(4) for name in cluster.queues}
    for result in results:
        if isinstance(result, Refusal):
            assert result.reasons
            continue
        gang = result.gang
        at = np.flatnonzero(result.node >= 0)
        amounts = [[role.requests["cpu"], 0, 1, role.requests.get("nvidia.com/gpu", 0)] for role in gang.roles]
        rows = np.array(amounts, dtype=np.int64)[gang.role_of_pod[at]]
        # No GPU twice, no node over capacity, gangs whole.
        words = None if result.gpu_words is None else result.gpu_words[at]
        if words is not None:
            assert not (words & ~ledger.gpu_free[result.node[at]]).any()
        ledger.take(result.node[at], rows, words)
        assert [result.gpu_mask(int(i)).bit_count() for i in at] == rows[:, 3].tolist()
        counted = len(at) + gang.ready
        if chosen is not None and "backfill" not in chosen.actions:
            # Nobody places them, but they count.
            counted += sum(role.count for role in gang.roles if role.best_effort)
        assert counted >= gang.min_available
        progress = Progress.of(gang, cluster)
        for role in range(len(gang.roles)):
            if not gang.roles[role].best_effort:
                progress.place(role, int((gang.role_of_pod[at] == role).sum()))
        assert progress.ready
        assert sorted([*at.tolist(), *(u.position for u in result.unplaced)]) == list(range(gang.n_pods))
        held[gang.queue] += rows.sum(axis=0)
    check_ledger(ledger)
    grown = ledger.used - cluster.used
    if chosen is None or chosen.plugin("predicates"):
        assert (ledger.idle[grown > 0] >= 0).all()
    else:
        assert (np.delete(ledger.idle, 2, axis=1)[np.delete(grown, 2, axis=1) > 0] >= 0).all()

    # Never over a queue's capability.
    if chosen is None or chosen.plugin("proportion") or chosen.plugin("capacity"):
        for queue in cluster.queues.values():
            for resource, limit in (queue.capability or {}).items():
                assert held[queue.name][cluster.resources.index(resource)] <= limit
    return results


@pytest.mark.parametrize("name", ["allocate", "volcano-1.13", "volcano-1.15"])
@given(rng=choices())
def test_a_session_of_one_job_is_what_place_says(name, rng):
    cluster, gangs, chosen = random_session(rng)
    cluster = dataclasses.replace(cluster, queues={})
    if chosen is not None:
        chosen = dataclasses.replace(chosen, actions=("allocate", "backfill"))
    policy = get_policy(name, **({} if chosen is None else {"config": chosen}))
    gang = rng.choice(gangs)
    (decision,) = policy.schedule([gang], cluster)
    assert contents(decision.result) == contents(policy.place(gang, cluster.ledger()))
