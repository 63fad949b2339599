"""Runner of the rules of the Koordinator proposal (`document_rules`), by the policy, its plan cache and its readers."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

import workbench
from tests.conformance.registry import Runners
from tests.fabrics import snapshot
from workbench.jobs.pods import gangs_of_lone_pods
from workbench.jobs.roles import Priorities
from workbench.kernels.gpu_sets import indices_of, mask_of
from workbench.model.extras import GpuGroup, GpuPlan, KoordinatorWish, PlannedPod, extras_of
from workbench.model.gang import Gang, Role
from workbench.model.gpu_annotation import GPU_ANNOTATION, container_environment
from workbench.model.placement import Placement, Refusal
from workbench.model.snapshot import gpu_words
from workbench.objects.admission import refuse_gpu_group
from workbench.objects.metadata import Metadata
from workbench.objects.pod import Pod, PodSpec
from workbench.policies import get_policy
from workbench.policies.koordinator.plan_cache import PlanCache, node_scores, plan_action

__all__ = ["register"]

FILE = "document_rules"


def register(runners: Runners) -> None:
    """Add the operations of `document_rules`."""
    runners.op(
        FILE,
        "annotation",
        given=("container_gpus", "group_gpus_on_node"),
        want=("annotation_key", "annotation_value"),
    )(_annotation)
    runners.op(
        FILE,
        "environment",
        given=("annotation_value", "container"),
        want=("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES_host_index"),
    )(_environment)
    runners.op(FILE, "groups", given=("pods",), want=("groups",))(_groups)
    runners.op(FILE, "scores", given=("plan_node", "nodes"), want=("scores",))(_scores)
    runners.op(FILE, "node-set", given=("pods", "free"), want=("feasible", "node_count", "nodes", "left"))(_node_set)
    runners.op(FILE, "plan-action", given=("group", "bound", "planned_node_feasible"), want=("action",))(_plan_action)
    runners.op(FILE, "free-for-others", given=("free", "plans"), want=("free_for_others",))(_free_for_others)
    runners.op(FILE, "best-subset", given=("matrix", "symmetrise", "available", "k"), want=("subset", "bottleneck"))(
        _best_subset
    )
    runners.op(FILE, "gang-check", given=("labels", "annotations"), want=("consistent",))(_gang_check)


def group_of(pods: list[int]) -> Gang:
    """A GPU group that needs all its pods, one role per pod."""
    roles = tuple(Role(f"p{i}", 1, {"nvidia.com/gpu": gpus}, (gpus,)) for i, gpus in enumerate(pods))
    return Gang(
        "default", "j", roles, len(pods), extras=extras_of(KoordinatorWish(GpuGroup("j", len(pods)))), kind="GpuGroup"
    )


def _annotation(given: dict[str, Any], want: dict[str, Any]) -> None:
    """One pod with these containers, placed on one node beside a pod that has the group's other GPUs."""
    containers = {int(index): gpus for index, gpus in given["container_gpus"].items()}
    counts = tuple(len(containers.get(i, ())) for i in range(max(containers) + 1))
    own = mask_of(gpu for gpus in containers.values() for gpu in gpus)
    other = mask_of(given["group_gpus_on_node"]) & ~own
    assert all(sorted(gpus) == gpus for gpus in containers.values())
    cluster = snapshot(["n"], gpus=16)
    group = group_of([sum(counts), 1])
    role = Role("p0", 1, {"nvidia.com/gpu": sum(counts)}, counts)
    gang = Gang("default", "j", (role, group.roles[1]), 2, extras=extras_of(group.extra(KoordinatorWish)))
    placed = Placement(
        gang,
        cluster.topology,
        "koordinator-gpu",
        {},
        node=np.zeros(2, dtype=np.int32),
        gpu_words=gpu_words([own, other]),
    )
    found = placed.pod(0).annotations
    assert list(found) == [want["annotation_key"]] == [GPU_ANNOTATION]
    assert json.loads(found[GPU_ANNOTATION]) == json.loads(want["annotation_value"])


def _environment(given: dict[str, Any], want: dict[str, Any]) -> None:
    container = int(given["container"])
    host = container_environment(given["annotation_value"], container, "host")
    assert host["NVIDIA_VISIBLE_DEVICES"] == want["NVIDIA_VISIBLE_DEVICES"]
    assert host["CUDA_VISIBLE_DEVICES"] == want["CUDA_VISIBLE_DEVICES_host_index"]
    inside = container_environment(given["annotation_value"], container)
    visible = inside["NVIDIA_VISIBLE_DEVICES"].split(",")
    back = [visible[int(position)] for position in inside["CUDA_VISIBLE_DEVICES"].split(",")]
    assert ",".join(back) == want["CUDA_VISIBLE_DEVICES_host_index"]


def _groups(given: dict[str, Any], want: dict[str, Any]) -> None:
    pods = [
        Pod(Metadata(f"pod-{i}", "default", labels=labels), PodSpec({"nvidia.com/gpu": 1}, (1,)))
        for i, labels in enumerate(given["pods"])
    ]
    gangs = gangs_of_lone_pods(pods, Priorities({}))
    found = [sorted(int(pod.name.removeprefix("pod-")) for pod in gang.pods()) for gang in gangs]
    assert sorted(found) == sorted(sorted(group) for group in want["groups"])


def _scores(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert node_scores(given["plan_node"], given["nodes"]) == want["scores"]


def _node_set(given: dict[str, Any], want: dict[str, Any]) -> None:
    free = given["free"]
    most = max(free.values())
    cluster = snapshot(sorted(free), gpus=most, free_gpus={name: (1 << count) - 1 for name, count in free.items()})
    result = get_policy("koordinator-gpu").place(group_of(given["pods"]), cluster.ledger())
    assert isinstance(result, Placement) == want["feasible"]
    if isinstance(result, Refusal):
        assert (want["node_count"], want["nodes"], want["left"]) == (None, None, None)
        return
    used = sorted({cluster.topology.node_names[node] for node in result.node})
    assert used == sorted(want["nodes"])
    assert len(used) == want["node_count"]
    assert sum(free[name] for name in used) - sum(given["pods"]) == want["left"]


def _plan_action(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert given["bound"] <= given["group"]
    assert plan_action(given["bound"], given["planned_node_feasible"]) == want["action"]


def _free_for_others(given: dict[str, Any], want: dict[str, Any]) -> None:
    free = mask_of(given["free"])
    plans = [
        GpuPlan("default", GpuGroup(f"g{i}", 1), (PlannedPod("p", "n", mask_of(gpus)),))
        for i, gpus in enumerate(given["plans"])
    ]
    cluster = snapshot(["n"], gpus=free.bit_length(), free_gpus={"n": free})
    left = cluster.gpu_free & ~PlanCache(tuple(plans)).reserved(cluster)
    assert list(indices_of(int(left[0, 0]))) == sorted(want["free_for_others"])


def _best_subset(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The one pod of a node whose free GPUs are these, placed by the policy itself."""
    matrix = workbench.BandwidthMatrix(given["matrix"])
    cluster = snapshot(["n"], gpus=len(matrix), free_gpus={"n": mask_of(given["available"])}, matrices={"n": matrix})
    policy = get_policy("koordinator-gpu", symmetric=given["symmetrise"])
    placed = policy.place(group_of([given["k"]]), cluster.ledger())
    assert isinstance(placed, Placement)
    value = matrix.solver(given["symmetrise"]).value
    for subset in (placed.gpu_mask(0), mask_of(want["subset"])):
        assert value(subset) == (math.inf if want["bottleneck"] is None else want["bottleneck"])
    # Which of several best sets is chosen is the tie-break's affair (docs/decisions.md, decision 1).
    best = workbench.best_gpus(matrix, given["k"], free=given["available"], symmetric=given["symmetrise"])
    assert placed.gpu_mask(0) == mask_of(best.gpus)
    assert tuple(sorted(want["subset"])) in best.ties


def _gang_check(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert (refuse_gpu_group(given["labels"], given["annotations"]) == "") == want["consistent"]
