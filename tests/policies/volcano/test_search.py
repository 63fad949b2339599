from __future__ import annotations

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from tests.fabrics import document_tree, snapshot
from tests.policies.random_cases import DEFAULTS
from tests.profiles import max_examples
from tests.reference import volcano_1_13 as oracle
from workbench.kernels.dry_runs import DryRuns
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.running_pod import RunningPod
from workbench.policies import get_policy
from workbench.policies.volcano.v1_13 import hard_search as search


def job(n, tier, min_available, **options):
    requests = {"cpu": 8000, "nvidia.com/gpu": 4}
    constraint = TopologyConstraint("hard", tier)
    return Gang("d", "j", (Role("w", n, requests, (4,)),), min_available, constraint, **options)


def agree(gang, cluster):
    result = get_policy("volcano-1.13").place(gang, cluster.ledger())
    nodes, record = oracle.place(gang, cluster, DEFAULTS, 10)
    assert [name_of(cluster, node) for node in result.node] == nodes
    assert result.hypernode == record
    return nodes


def test_many_turns_give_what_trying_everything_in_each_turn_gives():
    nodes = agree(job(16, 3, 3), document_tree(free_gpus={"node5": 0b1111}))
    assert len([n for n in nodes if n]) == 15


def test_turns_remember_nothing_about_a_leaf_that_another_domain_took_a_pod_in():
    # x and y share the leaf of b: a pod placed through x changes what y's nodes are worth.
    names = ["a", "b", "c", "e"]
    domains = [("leaf", 1, ["b", "c"], "top"), ("x", 2, ["a", "b"], "top"), ("y", 2, ["c", "e"], "top")]
    cluster = snapshot(names, [*domains, ("top", 3, names, "")])
    agree(job(8, 3, 3), cluster)
    agree(job(8, 3, 5, extras=extras_of(VolcanoMemory("leaf"))), cluster)


@max_examples(100)
@given(st.randoms(use_true_random=False))
def test_leaves_that_are_alike_are_tried_once_and_answer_as_if_each_were_tried(rng):
    names = [f"n{i}" for i in rng.sample(range(100), rng.randint(2, 24))]
    parts = [names[i : i + 3] for i in range(0, len(names), 3)]
    leaves = [(f"s{i}", 1, part, "top") for i, part in enumerate(parts)]
    gpus = {name: rng.choice([0, 0, 4, 8]) for name in names}
    cluster = snapshot(
        names,
        [*leaves, ("top", 2, names, "")],
        used={name: (8000 * (held // 4), 0, held // 4, held) for name, held in gpus.items()},
        free_gpus={name: 0xFF >> held for name, held in gpus.items()},
    )
    pods = rng.randint(1, 6)
    gang = job(pods, 1, rng.randint(1, pods))
    tried, states = [], set(gpus.values())

    def count(runs, domains, sums=None, plain=DryRuns.try_each):
        tried.append(len(domains))
        return plain(runs, domains, sums)

    with mock.patch.object(search, "_MANY", 1), mock.patch.object(DryRuns, "try_each", count):
        result = get_policy("volcano-1.13").place(gang, cluster.ledger())
    wanted = oracle.place(gang, cluster, DEFAULTS, 10)
    assert hasattr(result, "node") == (wanted is not None)
    if wanted is not None:
        assert [name_of(cluster, node) for node in result.node] == wanted[0]
    if tried and len(names) % 3 == 0:
        # Before the first pod is placed there are at most so many kinds of leaves.
        assert tried[0] <= len(states) ** 3


def test_leaves_of_alike_nodes_differ_by_the_tasks_that_run_there():
    names = [f"n{i}" for i in range(6)]
    domains = [("s0", 1, names[:3], "top"), ("s1", 1, names[3:], "top"), ("top", 2, names, "")]
    cluster = snapshot(names, domains, running=(RunningPod("d", "r0", 4, {}, "d/j", "w"),))
    with mock.patch.object(search, "_MANY", 1):
        assert agree(job(4, 1, 4, ready=1), cluster) == ["n3", "n4", "n5", "n3"]


def name_of(cluster, node):
    return cluster.topology.node_names[node] if node >= 0 else ""


def test_a_tier_without_any_reachable_domain_is_no_near_miss():
    refusal = get_policy("volcano-1.13").place(
        job(5, 1, 5, extras=extras_of(VolcanoMemory("s0"))), document_tree().ledger()
    )
    assert [(m.tier, m.domain, m.holds) for m in refusal.nearest_misses] == [(1, "s0", 4)]


def test_a_domain_is_measured_by_the_pods_that_are_needed():
    # s0 has room for four workers but none for the chief, which alone is missing besides two workers.
    # The chief is asked last.
    chief = Role("chief", 1, {"cpu": 99_000}, min_available=1, first_index=9)
    worker = Role("worker", 4, {"cpu": 16_000}, min_available=2)
    gang = Gang("d", "j", (worker, chief), 3, TopologyConstraint("hard", 1))
    refusal = get_policy("volcano-1.13").place(gang, document_tree().ledger())
    assert refusal.reasons[2].message == "no HyperNode of tier <= 1 holds 3 pods: best s0 (tier 1) holds 2 of 3"
