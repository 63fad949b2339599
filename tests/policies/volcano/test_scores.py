"""Node scores of 1.13 on the tree of the release's own tests.

tier 3                 s0
                   /        \\
tier 2         s1              s2
              /  \\            /  \\
tier 1      s3    s4        s5    s6       (two nodes each)
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.fabrics import RESOURCES, snapshot
from workbench.kernels.domains import ScoreWeights
from workbench.kernels.dry_run_values import Counts
from workbench.kernels.dry_runs import DryRuns
from workbench.policies.volcano.parts.scores import NodeOrderParameters, score_weights, topology_scores_1_13
from workbench.policies.volcano.v1_13.hard_search import read_record, to_score

NODES = [f"{leaf}-n{i}" for leaf in ("s3", "s4", "s5", "s6") for i in (1, 2)]
TREE = [
    ("s3", 1, NODES[:2], "s1"),
    ("s4", 1, NODES[2:4], "s1"),
    ("s5", 1, NODES[4:6], "s2"),
    ("s6", 1, NODES[6:], "s2"),
    ("s1", 2, NODES[:4], "s0"),
    ("s2", 2, NODES[4:], "s0"),
    ("s0", 3, NODES, ""),
]


def scores(record, candidates, tasks=(), total=1, domains=TREE, weight=1.0):
    cluster = snapshot(NODES, domains)
    topology = cluster.topology
    nodes = [topology.node(n) for n in candidates]
    runs = DryRuns(
        cluster.allocatable - cluster.used,
        cluster.used,
        cluster.allocatable,
        topology.domain_nodes,
        weights=ScoreWeights(),
        scores=topology_scores_1_13(topology, weight),
    )
    on_leaf = topology.count_on_leaves(np.array([topology.node(node) for node in tasks], dtype=np.int32))
    feasible = np.zeros(topology.n_nodes, dtype=np.uint8)
    feasible[nodes] = 1
    shape = runs.add_shape(np.array([1000, 0, 1, 0], dtype=np.int64), feasible=feasible)
    counts = Counts(shapes=np.array([shape], dtype=np.int32), left=np.ones(1, dtype=np.int64), min_available=1)
    runs.ask(counts, record=to_score(read_record(record, topology)), tasks_on_leaf=on_leaf, total_tasks=total)
    return runs.node_scores(-1, shape)[1][nodes].tolist()


CASES = {
    "no record: nothing": ("", ["s3-n1", "s5-n1"], [], 1, [0, 0]),
    "an unknown record: only the share of tasks": ("gone", ["s3-n1", "s5-n1"], ["s3-n1"], 2, [50, 0]),
    "the record itself 100, its sibling 50, the rest 0": (
        "s3",
        ["s3-n1", "s4-n1", "s5-n1"],
        ["s3-n2"],
        4,
        [100, 50, 0],
    ),
    "a wide record: the tier of the LCA and the share of tasks in the leaf": (
        "s1",
        ["s3-n1", "s4-n1", "s5-n1"],
        ["s3-n1", "s3-n2", "s4-n1"],
        4,
        [100, 75, 0],
    ),
    "a unique best gets no share": ("s3", ["s3-n1", "s4-n1"], ["s3-n2"], 2, [100, 50]),
    "two nodes of the best leaf share it": ("s3", ["s3-n1", "s3-n2"], ["s3-n1"], 2, [150, 150]),
}


@pytest.mark.parametrize(("record", "nodes", "tasks", "total", "want"), CASES.values(), ids=CASES.keys())
def test_topology_part(record, nodes, tasks, total, want):
    assert scores(record, nodes, tasks, total) == want
    assert scores(record, nodes, tasks, total, weight=10.0) == [10 * w for w in want]


def test_one_tier_only_is_worth_nothing_but_to_the_record_itself():
    flat = [(name, tier, nodes, "") for name, tier, nodes, _ in TREE if tier == 1]
    assert scores("s3", ["s3-n1", "s4-n1"], domains=flat) == [100, 0]


def test_a_cluster_without_hypernodes_scores_nothing():
    assert scores("s3", ["s3-n1", "s4-n1"], domains=[]) == [0, 0]


def test_weights_name_the_columns():
    weights = score_weights(NodeOrderParameters(binpack_resources={"nvidia.com/gpu": 5, "unheard/of": 2}), RESOURCES)
    assert weights.binpack_resources.tolist() == [1, 1, 0, 5]
    assert weights.request_resources.tolist() == [1, 1, 0, 0]
    assert weights.balanced_resources.tolist() == [1, 1, 0, 2]
    assert (weights.binpack, weights.least_requested, weights.most_requested, weights.balanced) == (1, 1, 0, 1)
