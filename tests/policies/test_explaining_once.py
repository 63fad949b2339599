"""An explanation is told by the run that decides: nothing is decided a second time for it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree
from tests.policies.random_cases import random_cluster, random_gang
from tests.profiles import max_examples
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang, Role
from workbench.model.running_pod import RunningPod
from workbench.policies import get_policy, list_policies

NAMES = [info.name for info in list_policies() if info.kind in ("node", "whole")]


def decisions_of(name, gangs, cluster, recorders):
    """How often a session asks each part of a policy that chooses nodes."""
    policy, asked = get_policy(name), Counter()
    for part in ("assign", "assign_idle", "place_at_once", "rounds"):
        if hasattr(policy.node, part):
            setattr(policy.node, part, counted(getattr(policy.node, part), part, asked))
    policy.schedule(gangs, cluster, recorders)
    return asked


def counted(function, name, asked):
    def called(*arguments):
        asked[name] += 1
        return function(*arguments)

    return called


@pytest.mark.parametrize("name", NAMES)
@max_examples(20)
@given(rng=choices())
def test_a_recorded_session_decides_as_often_as_one_that_is_not(name, rng):
    cluster = random_cluster(rng)
    gangs = [random_gang(rng, cluster) for _ in range(2)]
    plain = decisions_of(name, gangs, cluster, {})
    asks_nothing = all(role.best_effort for gang in gangs for role in gang.roles)
    assert plain.total() > 0 or asks_nothing or name.startswith("kube-")  # refuse pods of different priority
    assert decisions_of(name, gangs, cluster, {1: Recorder()}) == plain


@pytest.mark.parametrize("name", ["allocate", "volcano-1.13", "volcano-1.15"])
def test_a_job_that_waits_for_pods_that_are_ending_is_decided_once(name):
    pods = [RunningPod("d", f"r{i}", i, {"cpu": 1000}, terminating=i < 2) for i in range(8)]
    used = {f"node{i}": (1000, 0, 1, 0) for i in range(8)}
    cluster = document_tree(cpu=1000, gpus=0, used=used, running=pods)
    gangs, recorder = [Gang("d", "j", (Role("w", 2, {"cpu": 1000}),), 2)], Recorder()
    plain = decisions_of(name, gangs, cluster, {})
    assert decisions_of(name, gangs, cluster, {0: recorder}) == plain
    assert any("terminating pods" in note for note in recorder.notes)
    assert recorder.candidates
