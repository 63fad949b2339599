from __future__ import annotations

import dataclasses

import pytest

from tests.fabrics import snapshot
from workbench.model.extras import GpuGroup, GpuPlan, PlannedPod
from workbench.model.running_pod import RunningPod
from workbench.policies.koordinator.plan_cache import PlanCache, node_scores, plan_action

J, K = GpuGroup("j", 2), GpuGroup("k", 1)


def plan(group=J, made_at="", namespace="d", **pods):
    entries = tuple(PlannedPod(name, node, mask) for name, (node, mask) in pods.items())
    return GpuPlan(namespace, group, entries, made_at)


PLAN = plan(a=("n1", 0b11), b=("n2", 0b1100))


@pytest.mark.parametrize(
    ("bound", "feasible", "action"),
    [(0, True, "use-plan"), (2, True, "use-plan"), (0, False, "replan-group"), (1, False, "place-this-pod")],
)
def test_what_to_do_with_a_planned_pod(bound, feasible, action):
    assert plan_action(bound, feasible) == action


def test_scores_of_nodes():
    assert node_scores("b", "abc") == {"a": 0, "b": 100, "c": 0}
    assert node_scores("", "ab") == {"a": 0, "b": 0}


def test_groups_are_told_apart_by_namespace_name_and_replica():
    others = (plan(K), plan(GpuGroup("j", 3)), plan(J, namespace="e"))
    cache = PlanCache((*others, PLAN))
    assert cache.plan_of("d", J) is PLAN
    assert cache.plan_of("d", GpuGroup("j", 9)) is None
    assert cache.without("d", J).plans == others


def test_plans_keep_their_gpus_from_others_only():
    cluster = snapshot(["n1", "n2"])
    cache = PlanCache((PLAN, plan(K, c=("gone", 1), d=("n1", 0b100))))
    assert cache.reserved(cluster)[:, 0].tolist() == [0b111, 0b1100]
    assert cache.reserved(cluster, "d", J)[:, 0].tolist() == [0b100, 0]
    assert cache.reserved(cluster, "e", J)[:, 0].tolist() == [0b111, 0b1100]


@pytest.mark.parametrize(
    ("made_at", "now", "ttl", "lives"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z", 600, True),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:10:01Z", 600, False),
        ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", 0, True),
        ("", "2026-01-01T00:00:00Z", 600, True),
        ("2026-01-01T00:00:00Z", "", 600, True),
        ("2026-01-01T00:00:00", "2026-01-02T00:00:00Z", 600, True),
    ],
)
def test_a_plan_whose_pods_never_come_expires(made_at, now, ttl, lives):
    cluster = dataclasses.replace(snapshot(["n1"]), gpu_plans=(plan(made_at=made_at, a=("n1", 1)),), taken_at=now)
    assert bool(PlanCache.of(cluster, ttl).plans) is lives


def test_bound_pods_are_in_no_plan():
    running = RunningPod("d", "a", 0, {})
    cluster = dataclasses.replace(snapshot(["n1", "n2"]), gpu_plans=(PLAN,), running=(running,))
    assert [p.name for p in PlanCache.of(cluster, 600).plans[0].pods] == ["b"]
    both = (running, RunningPod("d", "b", 1, {}))
    assert PlanCache.of(dataclasses.replace(cluster, running=both), 600).plans == ()
