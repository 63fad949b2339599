"""Rounds on the whole cluster, one after another."""

from __future__ import annotations

import numpy as np

from tests.fabrics import snapshot
from workbench.model.gang import Gang, Role
from workbench.policies import get_policy
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.volcano.session.queues import QueueHeadroom
from workbench.policies.volcano.session.rounds import idle_after

ROLES = (Role("a", 3, {"cpu": 1000}), Role("b", 2, {"cpu": 2000}))


def start(ledger, minimum=2):
    policy = get_policy("allocate")
    gang = Gang("d", "j", ROLES, minimum)
    return policy.node, policy.node.request(gang, ledger, GpuQuestions(policy.gpu, ledger), None)


def test_the_first_round_places_the_minimum_and_each_further_one_a_pod():
    ledger = snapshot(["n0"], cpu=8000).ledger()
    policy, request = start(ledger)
    rounds = policy.rounds(request)
    counts = []
    while not rounds.over:
        before = rounds.node >= 0
        rounds.take(request, None, every=False)
        new = np.flatnonzero((rounds.node >= 0) & ~before)
        ledger.take(rounds.node[new], request.demand.rows[request.gang.role_of_pod[new]])
        _, request = start(ledger)
        counts.append(int((rounds.node >= 0).sum()))
    assert counts == [2, 3, 4, 5]
    assert rounds.answer(request, request.demand.idle).node.tolist() == [0, 0, 0, 0, 0]


def test_a_round_that_leaves_the_gang_incomplete_declines_it():
    policy, request = start(snapshot(["n0"], cpu=1000).ledger())
    rounds = policy.rounds(request)
    rounds.take(request, None, every=False)
    assert rounds.over
    assert rounds.declined is rounds.answer(request, None)


def test_pods_beyond_the_queue_are_skipped_in_the_order_in_which_pods_are_tried():
    policy, request = start(snapshot(["n0"], cpu=8000).ledger())
    rounds = policy.rounds(request)
    room = QueueHeadroom(np.array([4900.0, np.inf, np.inf, np.inf]), request.demand.rows)
    rounds.cap(request, room)
    # a-0, b-0, a-1: there is no room for b-1, nor for a-2 after it.
    assert rounds.progress.left == [2, 1]
    assert room.left[0] == 4900
    rounds.take(request, room, every=True)
    assert rounds.node.tolist() == [0, 0, -1, 0, -1]


def test_what_is_idle_after_pods_were_placed():
    ledger = snapshot(["n0", "n1"], cpu=8000).ledger()
    _, request = start(ledger)
    node = np.array([0, 1, -1, 1, -1], dtype=np.int32)
    assert idle_after(request, node, None)[:, 0].tolist() == [7000, 5000]
    assert ledger.idle[:, 0].tolist() == [8000, 8000]
    known = np.zeros((2, 4), dtype=np.int64)
    assert idle_after(request, node, known) is known
