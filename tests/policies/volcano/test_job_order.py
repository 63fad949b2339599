"""The order of jobs, and the gang as the plugins see it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from workbench.model.gang import Gang, Role, SubGroup
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.policies.volcano.parts.task_order import task_rank
from workbench.policies.volcano.session.jobs import job_key
from workbench.policies.volcano.session.policy import PluginChanges

TOTAL = np.array([100.0, 100.0])


def config(*plugins):
    return SchedulerConfig(
        ("allocate",), (tuple(p if isinstance(p, PluginOption) else PluginOption(p) for p in plugins),)
    )


def key(cfg, name, priority=0, ready=False, share=0.0, namespace="d", created=""):
    gang = Gang(namespace, name, (Role("w", 1, {"cpu": 1}),), 1, priority=priority, created=created)
    return job_key(cfg, gang, ready, TOTAL * [share, 0], TOTAL)


ORDER = {
    "priority, then readiness, then share, then name": (
        ("priority", "gang", "drf"),
        [
            {"name": "z", "priority": 5, "ready": True, "share": 0.9},
            {"name": "y", "share": 0.1},
            {"name": "b", "share": 0.2},
            {"name": "c", "share": 0.2},
            {"name": "a", "ready": True},
        ],
    ),
    "the first plugin decides": (
        ("drf", "priority"),
        [{"name": "b", "share": 0.1}, {"name": "a", "share": 0.2, "priority": 9}],
    ),
    "a plugin whose job order is off says nothing": (
        (PluginOption("priority", {"JobOrder": False}), "gang"),
        [{"name": "a"}, {"name": "b", "priority": 9}],
    ),
    "namespaces come before names": ((), [{"name": "b", "namespace": "a"}, {"name": "a", "namespace": "b"}]),
    "of namespace and name in one, as upstream's job id is": (
        (),
        [{"name": "b", "namespace": "a-b"}, {"name": "a", "namespace": "a"}],
    ),
    "the older one before that, and last what does not exist yet": (
        ("priority",),
        [
            {"name": "d", "priority": 1},
            {"name": "c", "created": "2026-01-01T00:00:00Z"},
            {"name": "b", "created": "2026-01-02T00:00:00Z"},
            {"name": "a"},
        ],
    ),
}


@pytest.mark.parametrize(("plugins", "want"), ORDER.values(), ids=ORDER.keys())
def test_order(plugins, want):
    keys = [key(config(*plugins), **job) for job in want]
    for jumbled in itertools.permutations(keys):
        assert sorted(jumbled) == keys


GANG = Gang("d", "j", (Role("a", 2, {"cpu": 1}, min_available=1, priority=1), Role("b", 1, {"cpu": 1}, priority=9)), 3)


def test_with_gang_and_priority_the_gang_is_seen_as_it_is():
    assert PluginChanges.of(config("priority", "gang")).apply(GANG) is GANG


@pytest.mark.parametrize("plugins", [("priority",), ("priority", PluginOption("gang", {"JobReady": False}))])
def test_without_gang_no_minimum_holds_a_pod_back(plugins):
    seen = PluginChanges.of(config(*plugins)).apply(GANG)
    assert (seen.min_available, [role.min_available for role in seen.roles]) == (0, [None, None])


@pytest.mark.parametrize("plugins", [("priority",), ("priority", PluginOption("gang", {"SubJobReady": False}))])
def test_without_gang_no_minimum_of_a_sub_group_holds_it_back(plugins):
    gang = replace(GANG, sub_groups=(SubGroup("p", (0, 1, 2), None, 3),), sub_grouped=True)
    assert [group.min_available for group in PluginChanges.of(config(*plugins)).apply(gang).sub_groups] == [0]


@pytest.mark.parametrize("plugins", [("gang",), (PluginOption("priority", {"TaskOrder": False}), "gang")])
def test_without_the_order_of_tasks_roles_keep_their_own(plugins):
    seen = PluginChanges.of(config(*plugins)).apply(GANG)
    assert task_rank(GANG).tolist() == [1, 2, 0]
    assert task_rank(seen).tolist() == [0, 2, 1]
    assert seen.roles == GANG.roles
