from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from tests.fabrics import snapshot
from tests.machines import koordinator_matrix_a
from tests.notices import codes, said
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.extras import GpuGroup, GpuPlan, KoordinatorWish, PlannedPod, extras_of
from workbench.model.gang import Gang, Role
from workbench.model.gpu_annotation import GPU_ANNOTATION
from workbench.model.placement import Placement, Refusal
from workbench.policies import get_policy

MATRIX = BandwidthMatrix(koordinator_matrix_a())


def gang(*sizes, name="j", minimum=1, group=True, ready=0, **more):
    """One role per size of pod; pods are called j-0, j-1 ..."""
    own = GpuGroup(name, len(sizes) + ready) if group else None
    roles = tuple(
        Role(
            f"w{i}",
            1,
            {"cpu": 1000, "nvidia.com/gpu": gpus},
            (gpus,),
            pod_names=(f"{name}-{i}",),
        )
        for i, gpus in enumerate(sizes)
    )
    return Gang("d", name, roles, minimum, extras=extras_of(KoordinatorWish(own)), kind="GpuGroup", ready=ready, **more)


def cluster(*free, **options):
    """Nodes n0, n1, ... with so many free GPUs of 8, and the document's matrix."""
    names = [f"n{i}" for i in range(len(free))]
    masks = {name: count if isinstance(count, str) else (1 << count) - 1 for name, count in zip(names, free)}
    masks = {name: int(mask, 2) if isinstance(mask, str) else mask for name, mask in masks.items()}
    return snapshot(names, free_gpus=masks, matrices=dict.fromkeys(names, MATRIX), **options)


def decide(what, where, **parameters):
    return get_policy("koordinator-gpu", **parameters).schedule([what], where)[0]


def planned(what, *pods, made_at=""):
    return GpuPlan("d", what.extra(KoordinatorWish).gpu_group, tuple(PlannedPod(*pod) for pod in pods), made_at)


def where_of(placement):
    return [(pod.node, pod.gpus) for pod in placement.pods()]


def test_the_documents_example_two_pods_of_two_on_one_node():
    """{0, 1, 2, 3} with 48.33 GB/s, and inside it the pairs with the widest links."""
    decision = decide(gang(2, 2), cluster(8))
    assert where_of(decision.result) == [("n0", (0, 3)), ("n0", (1, 2))]
    plan = decision.extra["gpu_plan"]
    assert [(pod.name, pod.node, pod.gpu_mask) for pod in plan.pods] == [("j-0", "n0", 0b1001), ("j-1", "n0", 0b0110)]


def test_a_group_goes_on_the_fewest_nodes_then_the_fullest():
    assert {node for node, _ in where_of(decide(gang(2, 2, 2), cluster(4, 4, 8)).result)} == {"n2"}
    assert {node for node, _ in where_of(decide(gang(2, 2), cluster(8, 4)).result)} == {"n1"}
    assert [node for node, _ in where_of(decide(gang(2, 2, 2), cluster(4, 3, 2)).result)] == ["n0", "n0", "n2"]


def test_of_equal_nodes_the_one_with_the_best_free_gpus_is_taken():
    """n0 has GPUs 1 and 4 free (4.64 GB/s), n1 has 2 and 3 (96.43)."""
    assert where_of(decide(gang(2), cluster("10010", "1100")).result) == [("n1", (2, 3))]


def test_pods_without_the_labels_are_placed_one_by_one():
    """Alone each pod takes the tightest node; as a group both go where one node holds them."""
    lone = gang(2, 2, group=False)
    where = cluster(2, 3, 8)
    placed = decide(lone, where)
    assert [node for node, _ in where_of(placed.result)] == ["n0", "n1"]
    assert "no-gpu-group" in codes(placed.result.warnings)
    assert placed.extra == {}
    assert {node for node, _ in where_of(decide(lone, where, ungrouped="gang").result)} == {"n2"}


def test_only_a_group_sees_the_gpus_of_its_other_pods():
    lone = next(decide(gang(2, 2, group=False), cluster(8)).result.pods())
    assert json.loads(lone.annotations[GPU_ANNOTATION])["visibleGPUs"] == [str(gpu) for gpu in lone.gpus]
    member = next(decide(gang(2, 2), cluster(8)).result.pods())
    assert json.loads(member.annotations[GPU_ANNOTATION])["visibleGPUs"] == ["0", "1", "2", "3"]
    assert member.environment(0) == {"NVIDIA_VISIBLE_DEVICES": "0,1,2,3", "CUDA_VISIBLE_DEVICES": "0,3"}
    assert member.environment(0, "host")["CUDA_VISIBLE_DEVICES"] == "0,3"


def test_best_effort_places_what_fits_and_a_gang_refuses():
    """A pod is not cut in pieces: 4 and 2 GPUs do not fit 3 + 3."""
    assert [node for node, _ in where_of(decide(gang(4, 2), cluster(3, 3)).result)] == ["n0"]
    assert decide(gang(4, 2), cluster(3, 3)).extra["gpu_plan"] is None
    refusal = decide(gang(4, 2, minimum=2), cluster(3, 3)).result
    assert isinstance(refusal, Refusal)
    assert refusal.reasons[0].message == "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."


def test_bandwidth_never_refuses():
    assert where_of(decide(gang(2, minimum=1), cluster("10010")).result) == [("n0", (1, 4))]


def test_a_live_plan_is_followed_without_a_new_search():
    what = gang(2, 2)
    plan = planned(what, ("j-0", "n1", 0b10010), ("j-1", "n0", 0b11))
    where = dataclasses.replace(cluster(8, 8), gpu_plans=(plan,))
    assert where_of(decide(what, where).result) == [("n1", (1, 4)), ("n0", (0, 1))]


@pytest.mark.parametrize(
    "broken",
    [
        ("j-0", "gone", 0b11),
        ("j-0", "n0", 0b1_0000_0000),
        ("j-0", "n0", 0b111),
        ("j-0", "n1", 0b11),
    ],
    ids=["node-gone", "gpu-unhealthy-or-taken", "another-number-of-gpus", "node-full"],
)
def test_an_invalid_plan_of_nobody_bound_is_made_anew_for_the_group(broken):
    what = gang(2, 2)
    plan = planned(what, broken, ("j-1", "n0", 0b11000000))
    where = dataclasses.replace(cluster(8, 1), gpu_plans=(plan,))
    placement = decide(what, where).result
    assert where_of(placement) == where_of(decide(what, cluster(8, 1)).result)
    assert "gpu-group-replanned" in codes(placement.warnings)


def test_an_invalid_plan_with_a_pod_bound_is_mended_for_this_pod_only():
    what = gang(2, 2)
    plan = planned(what, ("j-0", "n0", 0b11), ("j-1", "gone", 0b11))
    placement = decide(what, dataclasses.replace(cluster(8, 2), gpu_plans=(plan,))).result
    # Planned together they would share a node; alone the second takes the tightest one.
    assert where_of(placement) == [("n0", (0, 1)), ("n1", (0, 1))]
    assert "gpu-pod-placed-alone" in codes(placement.warnings)


def test_gpus_in_the_plan_of_another_group_are_not_free():
    other = gang(4, name="other")
    where = dataclasses.replace(cluster(8), gpu_plans=(planned(other, ("other-0", "n0", 0b11110000)),))
    assert where_of(decide(gang(4), where).result) == [("n0", (0, 1, 2, 3))]
    assert isinstance(decide(gang(5), where).result, Refusal)
    assert isinstance(decide(gang(5, group=False), where).result, Refusal)
    late = dataclasses.replace(where, gpu_plans=(planned(other, ("other-0", "n0", 0xF0), made_at="2026-01-01"),))
    assert isinstance(decide(gang(5), dataclasses.replace(late, taken_at="2026-01-02")).result, Placement)


def test_a_group_placed_in_a_session_frees_what_its_old_plan_kept():
    """`a` moves away from n1, which its plan had; `b` may have n1 then."""
    first, second = gang(2, name="a"), gang(8, name="b")
    plan = planned(first, ("a-0", "n1", 0b1_0000_0000))
    where = dataclasses.replace(cluster(2, 8), gpu_plans=(plan,))
    decisions = get_policy("koordinator-gpu").schedule([second, first], where)
    assert where_of(decisions[1].result) == [("n0", (0, 1))]
    assert where_of(decisions[0].result) == [("n1", tuple(range(8)))]


def test_after_a_restart_bound_pods_count_by_the_gpus_they_hold():
    """Beside 4 and 5 the best two are 6 and 7; alone 0 and 3 would be."""
    what = gang(2, ready=1)
    before = decide(gang(2), cluster("11110000")).result
    running = cluster("11110000").with_placement(before).running[0]
    bound = dataclasses.replace(running, gpu_mask=0b110000, gpu_group=what.extra(KoordinatorWish).gpu_group, name="j-9")
    where = dataclasses.replace(cluster("11001111"), running=(bound,))
    placement = decide(what, where).result
    assert where_of(placement) == [("n0", (6, 7))]
    visible = json.loads(next(placement.pods()).annotations[GPU_ANNOTATION])["visibleGPUs"]
    assert visible == ["4", "5", "6", "7"]
    stranger = dataclasses.replace(bound, namespace="elsewhere")
    alone = decide(what, dataclasses.replace(where, running=(stranger,))).result
    assert where_of(alone)[0][1] != (6, 7)


def test_a_plan_goes_back_into_the_next_snapshot_until_its_pods_are_bound():
    what = gang(2, 2)
    decision = decide(what, cluster(8))
    plan = decision.extra["gpu_plan"]
    where = dataclasses.replace(cluster(8), gpu_plans=(plan,))
    assert where_of(decide(what, where).result) == where_of(decision.result)
    assert where.with_placement(decision.result).gpu_plans == ()


def test_the_explanation_scores_the_planned_nodes_100_and_the_others_0():
    explanation = get_policy("koordinator-gpu").explain(gang(4, 4, 4), cluster(8, 4, 2))
    assert [(c.name, c.score, c.kept) for c in explanation.nodes] == [
        ("n0", 100.0, True),
        ("n1", 100.0, True),
        ("n2", 0.0, False),
    ]
    assert explanation.nodes[0].why == "2 pods, 0 GPUs left over"


def test_nodes_without_a_matrix_are_named():
    where = snapshot(["n0"])
    warnings = decide(gang(2), where).result.warnings
    assert "1 of 1 node has no bandwidth matrix: lowest free GPUs taken" in said(warnings)
    assert not decide(gang(1), where).result.warnings


def test_a_job_that_is_not_as_large_as_its_group_is_told():
    what = dataclasses.replace(gang(2, 2), kind="Job", extras=extras_of(KoordinatorWish(GpuGroup("j", 4))))
    assert "gpu-group-size" in codes(decide(what, cluster(8)).result.warnings)


def test_a_large_group_on_equal_nodes_is_placed_exactly():
    role = Role("w", 300, {"nvidia.com/gpu": 2}, (2,))
    what = Gang("d", "big", (role,), 300, extras=extras_of(KoordinatorWish(GpuGroup("big", 300))))
    placement = decide(what, cluster(*[8] * 90)).result
    assert isinstance(placement, Placement)
    assert len(np.unique(placement.node)) == 75
    assert not placement.warnings
