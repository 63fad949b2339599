"""Split of a gang into sub-jobs: the content of each, and equal numbers as columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.fabrics import document_tree
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.running_pod import RunningPod
from workbench.policies import get_policy
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.volcano.v1_15.constraints import limits_of
from workbench.policies.volcano.v1_15.splitting import SubJobs, split

LEAF = TopologyConstraint("hard", 1)


def parts(gang: Gang, **cluster: object) -> SubJobs:
    snapshot = document_tree(**cluster)
    policy = get_policy("volcano-1.15")
    ledger = snapshot.ledger()
    request = policy.node.request(gang, ledger, GpuQuestions(policy.gpu, ledger), None)
    return split(gang, snapshot, request.demand, limits_of(gang, snapshot.topology))


def test_pods_of_a_sub_group_go_by_role_and_those_of_none_to_the_default_sub_job() -> None:
    # 0 1 2 are workers, 3 4 servers with a higher priority, 5 asks for nothing.
    roles = (
        Role("worker", 3, {"cpu": 1000}),
        Role("server", 2, {"cpu": 2000}, priority=7),
        Role("idler", 1, {}),
    )
    group = SubGroup("v-0", (3, 0, 5, 1), LEAF, 2, policy="v", match_index=4)
    subs = parts(Gang("d", "j", roles, 5, sub_groups=(group,), sub_grouped=True))
    first, default = subs
    assert (subs.names, len(subs), subs[-1] is default) == (("v-0", ""), 2, True)
    # Roles in the order in which they are tried; pods without a request count as placed.
    assert {role: pods.tolist() for role, pods in first.pods.items()} == {1: [3], 0: [0, 1]}
    assert list(first.pods) == [1, 0]
    assert (first.n_pods, first.total, first.counted, first.min_available) == (3, 4, 1, 2)
    assert (first.priority, first.match_index, first.limit, first.policy, first.topology) == (7, 4, 1, "v", True)
    assert first.pending.tolist()[:3] == [4000, 0, 4]
    assert {role: pods.tolist() for role, pods in default.pods.items()} == {1: [4], 0: [2]}
    assert (default.min_available, default.limit, default.match_index, default.topology) == (1, None, 0, False)
    # The columns say the same.
    assert subs.positions.tolist() == [3, 0, 1, 4, 2]
    assert (subs.start.tolist(), subs.roles.tolist(), subs.first.tolist()) == ([0, 2, 4], [1, 0, 1, 0], [0, 1, 3, 4, 5])


def test_running_pods_count_and_weigh_in_the_sub_group_that_names_them() -> None:
    pods = [RunningPod("d", f"r{node}", node, {"cpu": 1000}, "d/j", "w") for node in (2, 5)]
    group = SubGroup("v-0", (0,), LEAF, 2, policy="v", running=("r5",))
    gang = Gang("d", "j", (Role("w", 1, {"cpu": 1000}),), 3, sub_groups=(group,), sub_grouped=True, ready=2)
    first, default = parts(gang, cpu=4000, gpus=0, running=pods)
    assert (first.running_nodes.tolist(), default.running_nodes.tolist()) == ([5], [2])
    assert (first.counted, first.total, first.request.tolist()[0], first.pending.tolist()[0]) == (1, 2, 2000, 1000)
    assert (default.n_pods, default.total, default.priority) == (0, 1, 0)


def test_running_pods_lift_the_priority_of_their_sub_group_and_none_is_below_0() -> None:
    roles = (Role("w", 2, {"cpu": 1000}, priority=-5), Role("m", 0, {"cpu": 1000}, priority=7))
    groups = (SubGroup("v-0", (0,), LEAF, 2, running=("r",)), SubGroup("v-1", (1,), LEAF, 1))
    running = [RunningPod("d", "r", 2, {"cpu": 1000}, "d/j", "m")]
    gang = Gang("d", "j", roles, 3, sub_groups=groups, sub_grouped=True, ready=1)
    assert [sub.priority for sub in parts(gang, cpu=4000, gpus=0, running=running)] == [7, 0]
    assert [sub.priority for sub in parts(replace(gang, ready=0), cpu=4000, gpus=0)] == [0, 0]


def test_sums_that_no_cluster_holds_do_not_overflow() -> None:
    roles = (Role("w", 5000, {"cpu": 2**52}), Role("v", 3, {"cpu": 5, "memory": 7}))
    group = SubGroup("v-0", (0, 5000), LEAF, 2, policy="v")
    first, default = parts(Gang("d", "j", roles, 3, sub_groups=(group,), sub_grouped=True))
    assert first.pending.tolist()[:2] == [2**52 + 5, 7]
    assert default.pending.tolist()[:2] == [2**62 - 1, 14]


def test_a_job_without_sub_groups_is_one_sub_job_with_its_own_minimum() -> None:
    gang = Gang("d", "j", (Role("w", 4, {"cpu": 1000}),), 3, LEAF)
    (only,) = parts(gang)
    assert (only.name, only.min_available, only.total, only.limit) == ("", 3, 4, 1)
    assert only.pods[0].tolist() == [0, 1, 2, 3]
    assert np.array_equal(parts(gang).running_nodes[0], np.zeros(0, dtype=np.int32))
