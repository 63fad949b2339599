"""The compiled two-level search against the one that `explain` follows step by step."""

from __future__ import annotations

import random

import pytest

from tests.fabrics import snapshot
from tests.policies.random_cases import random_cluster
from tests.policies.v1_15_cases import random_1_15_gang
from tests.profiles import blocks
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.placement import Placement
from workbench.model.running_pod import RunningPod
from workbench.policies import get_policy


def told(result):
    """Everything that a user sees of an answer."""
    if isinstance(result, Placement):
        unplaced = [(pod.position, pod.reasons) for pod in result.unplaced]
        return result.node.tolist(), result.hypernode, result.score, unplaced, result.warnings
    return result.reasons, result.nearest_misses, result.warnings


def check(seed):
    rng = random.Random(seed)
    cluster = random_cluster(rng)
    gang = random_1_15_gang(rng, cluster)
    policy = get_policy("volcano-1.15", normal_pod_enable=seed % 3 == 0)
    result = policy.place(gang, cluster.ledger())
    assert told(result) == told(policy.explain(gang, cluster).decision.result)
    return isinstance(result, Placement)


@pytest.mark.parametrize("block", blocks(4))
def test_the_same_placement_refusal_and_texts(block):
    placed = [check(seed) for seed in range(block * 60, (block + 1) * 60)]
    assert 10 < sum(placed) < 55


@pytest.mark.slow
def test_the_same_placement_refusal_and_texts_many_times():
    for seed in range(1_000, 3_000):
        check(seed)


def test_roles_of_one_name_are_given_up_together():
    names = ["a", "b", "c"]
    cluster = snapshot(names, [("s", 1, names, "")], cpu=2000, gpus=0)
    # The HyperNode has room for all requests in sum, and no node for the first pod. Pods of "worker#2" have its name.
    roles = (Role("worker", 1, {"cpu": 3000}), Role("worker#2", 1, {"cpu": 1000}), Role("other", 1, {"cpu": 1000}))
    gang = Gang("d", "j", roles, 1, TopologyConstraint("hard", 1))
    placed = get_policy("volcano-1.15").place(gang, cluster.ledger())
    assert placed.node.tolist() == [-1, -1, 0]


def test_a_sub_job_counts_the_share_of_all_its_tasks_that_a_hypernode_holds():
    names = [f"n{i}" for i in range(6)]
    domains = [(f"s{i}", 1, names[2 * i : 2 * i + 2], "top") for i in range(3)]
    running = (RunningPod("d", "r", 0, {"cpu": 1000}, "d/j", "w"),)
    cluster = snapshot(
        names,
        [*domains, ("top", 2, names, "")],
        cpu=4000,
        gpus=0,
        used=dict.fromkeys(names[:4], (1000, 0, 1, 0)),
        running=running,
    )
    # The pods of v-1 fill s2. Then s0 and s1 are equally full, and s0 holds one of the two tasks of v-0.
    wish = TopologyConstraint("hard", 2)
    groups = (
        SubGroup("v-0", (0,), wish, 2, policy="v", running=("r",)),
        SubGroup("v-1", (1, 2), wish, 2, policy="v", match_index=1),
    )
    roles = (Role("w", 1, {"cpu": 1000}), Role("wide", 2, {"cpu": 4000}))
    gang = Gang("d", "j", roles, 4, wish, sub_groups=groups, min_subgroups={"v": 2}, sub_grouped=True, ready=1)
    placed = get_policy("volcano-1.15").place(gang, cluster.ledger())
    assert placed.records == {"d/j": "top", "d/j/v-0": "s0", "d/j/v-1": "s2"}
    full, share = 4000 / 8000, 1 / 2
    assert placed.score == (full + share) * 1000 + 1000
