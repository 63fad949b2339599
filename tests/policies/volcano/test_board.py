"""The working copy: what is put on it can be taken back, and its sums are those of its nodes."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given

from tests.policies.random_cases import random_cluster, random_gang, seeds
from tests.profiles import max_examples
from workbench.kernels.domains import ScoreWeights
from workbench.policies.base import Request
from workbench.policies.demand import Demand
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters
from workbench.policies.volcano.board import Board
from workbench.policies.volcano.hypernode_scores import topology_scores_newest


def board_of(cluster, gang):
    ledger = cluster.ledger()
    gpus = GpuQuestions(GpuLowestIndex(NoParameters()), ledger)
    request = Request(gang, ledger, Demand(gang, ledger, gpus), gpus, None)
    return Board(request, ScoreWeights(), topology_scores_newest(cluster.topology, 1.0), None, 0.0)


def content(board):
    sums = {role: counts.tolist() for role, counts in board.domain_capacity.items()}
    return board.idle.tolist(), board.used.tolist(), board.domain_used.tolist(), sums


@max_examples(60)
@given(seed=seeds)
def test_putting_and_taking_back(seed):
    rng = random.Random(seed)
    cluster = random_cluster(rng)
    gang = random_gang(rng, cluster)
    if all(role.best_effort for role in gang.roles):
        return
    board = board_of(cluster, gang)
    order = board.request.demand.order
    before = content(board)
    for _ in range(rng.randint(1, 4)):
        nodes = [rng.randrange(cluster.n_nodes) for _ in range(rng.randint(1, 4))]
        board.put(rng.choice(order), np.array(nodes, dtype=np.int32))
    assert board.domain_used.tolist() == cluster.topology.domain_sums(board.used).tolist()
    for role, counts in board.domain_capacity.items():
        fits = board.request.demand.capacity(role, board.idle, gang.roles[role].count)
        assert counts.tolist() == cluster.topology.domain_sums(fits[:, None])[:, 0].tolist()
    board.take_back(0)
    assert content(board) == before
