"""Admission of jobs to a session (action enqueue)."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.fabrics import snapshot
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang, Role
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.model.snapshot import Queue
from workbench.policies.volcano.session.enqueue import Admission
from workbench.policies.volcano.session.policy import min_resources
from workbench.policies.volcano.session.queues import Queues

QUEUES = (Queue("a", capability={"cpu": 30}), Queue("b"))


def admission(*tiers, used=0):
    cluster = snapshot([f"n{i}" for i in range(10)], cpu=10, memory=100, used={"n0": (used, 0, 0, 0)})
    cluster = dataclasses.replace(cluster, queues={queue.name: queue for queue in QUEUES})
    plugins = tuple(tuple(p if isinstance(p, PluginOption) else PluginOption(p) for p in tier) for tier in tiers)
    config = SchedulerConfig(("enqueue",), plugins)
    rows = {name: np.array([1000, 10, 0, 0], dtype=np.int64) for name in "ab"}
    return Admission(config, cluster, Queues(config, cluster, rows))


def admitted(made, *wishes):
    """Of wishes (queue, CPU) in turn: admitted or the reason."""
    return [made.admit(gang(queue), np.array([cpu, 0.0, 0, 0])) for queue, cpu in wishes]


def gang(queue="b", kind="Job", roles=None, min_available=1, ready=0):
    return Gang("d", "j", roles or (Role("w", 1, {"cpu": 1}),), min_available, queue=queue, kind=kind, ready=ready)


OVERUSED, QUOTA = "resource in cluster is overused", "queue a resource quota insufficient"

CASES = {
    "nobody asked, everything admitted": ((("priority",),), 0, [("a", 999, "")]),
    "overcommit lets 1.2 times the cluster in": (
        (("overcommit",),),
        0,
        [("a", 100, ""), ("b", 20, ""), ("b", 1, OVERUSED)],
    ),
    "what runs is taken off": ((("overcommit",),), 10, [("a", 110, ""), ("b", 1, OVERUSED)]),
    "a job that is refused takes nothing": ((("overcommit",),), 0, [("a", 121, OVERUSED), ("a", 120, "")]),
    "another factor": (
        ((PluginOption("overcommit", {}, {"overcommit-factor": 2}),),),
        0,
        [("a", 200, ""), ("a", 1, OVERUSED)],
    ),
    "a factor of one resource": (
        ((PluginOption("overcommit", {}, {"overcommit-factor.cpu": 3.0}),),),
        0,
        [("a", 300, ""), ("a", 1, OVERUSED)],
    ),
    "a factor below 1 is 1.2": (
        ((PluginOption("overcommit", {}, {"overcommit-factor": 0.5}),),),
        0,
        [("a", 120, ""), ("a", 1, OVERUSED)],
    ),
    "a queue's capability": ((("proportion",),), 0, [("a", 20, ""), ("a", 11, QUOTA), ("a", 10, ""), ("b", 100, "")]),
    "the first tier that consents decides": ((("overcommit",), ("proportion",)), 0, [("a", 50, "")]),
    "in one tier each may refuse": ((("overcommit", "proportion"),), 0, [("a", 50, QUOTA), ("b", 121, OVERUSED)]),
    "switched off it has no vote": (
        ((PluginOption("overcommit", {"JobEnqueued": False}), "proportion"),),
        0,
        [("a", 50, QUOTA)],
    ),
}


@pytest.mark.parametrize(("tiers", "used", "wishes"), CASES.values(), ids=CASES.keys())
def test_votes(tiers, used, wishes):
    found = admitted(admission(*tiers, used=used), *[(queue, cpu) for queue, cpu, _ in wishes])
    assert found == [want for _, _, want in wishes]


def test_a_job_without_min_resources_is_admitted_and_counts_nothing():
    made = admission(("overcommit",))
    assert [made.admit(gang(), None) for _ in range(3)] == ["", "", ""]
    assert admitted(made, ("b", 120)) == [""]


def test_queues_take_turns_and_jobs_come_in_their_order():
    made = admission(("overcommit", "proportion"))
    gangs = [gang("b"), gang("b"), gang("a"), gang("a")]
    seen = []

    def minimum(i):
        seen.append(i)
        return np.array([40.0 if i < 2 else 25.0, 0, 0, 0])

    refused = made.run(range(4), gangs, minimum, lambda i: i)
    # Admission gives nobody anything yet, so that the first queue by share and name goes first throughout.
    assert seen == [2, 3, 0, 1]
    why = f"not admitted by enqueue: {QUOTA}; 0 of its capability of 0.03 cpu are taken, the job asks for 0.025"
    assert {i: notice.message for i, notice in refused.items()} == {
        3: f"{why}; d/j, admitted before it, reserves 0.025 cpu"
    }
    assert (refused[3].code, refused[3].subject) == ("not-admitted", "queue a")
    assert refused[3].numbers == {"count": 1, "limit cpu": 30, "used cpu": 0, "requested cpu": 25, "reserved cpu": 25}


def test_min_resources_are_what_the_pod_group_says():
    assert min_resources(gang(), ("cpu", "memory")) is None
    given = gang().with_extra(VolcanoMemory(min_resources={"cpu": 7, "requests.cpu": 9}))
    assert min_resources(given, ("cpu", "memory")).tolist() == [7, 0]
    beyond = gang().with_extra(VolcanoMemory(min_resources={"cpu": 2**70}))
    assert min_resources(beyond, ("cpu",)).tolist() == [2**62 - 1]
