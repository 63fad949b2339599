"""The policy that follows the design documents where releases of Volcano leave them.

tier 3              s6
                 /      \\
tier 2        s4          s5
             /  \\        /  \\
tier 1     s0    s1    s2    s3
          0 1    2 3   4 5   6 7
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.fabrics import document_tree
from workbench.control.cluster import EmbeddedCluster
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.placement import Placement, Refusal
from workbench.model.running_pod import RunningPod
from workbench.policies.departures import DEPARTURES, departures_for
from workbench.policies.registry import get_policy, list_policies

FULL = (0, 0, 0, 8)


def gang(n_pods: int = 1, tier: int | None = 3, mode: str = "hard", record: str = "", ready: int = 0) -> Gang:
    role = Role("w", n_pods, {"nvidia.com/gpu": 8}, container_gpus=(8,))
    constraint = TopologyConstraint(mode, tier)
    memory = VolcanoMemory(record=record)
    return Gang("d", "j", (role,), n_pods + ready, constraint=constraint, ready=ready, extras=extras_of(memory))


def place(cluster: Any, job: Gang, policy: str = "volcano-documents") -> Placement | Refusal:
    return get_policy(policy).schedule([job], cluster)[0].result


def nodes_of(result: Placement | Refusal) -> list[str]:
    assert isinstance(result, Placement)
    return [pod.node for pod in result.pods()]


def test_the_hypernode_nearest_to_the_record_wins() -> None:
    cluster = document_tree(used={"node0": FULL, "node1": FULL}, free_gpus={"node0": 0, "node1": 0})
    assert nodes_of(place(cluster, gang(record="s0"))) == ["node2"]
    assert nodes_of(place(cluster, gang(record="s3"))) == ["node6"]


def test_node_scores_do_not_overrule_the_lca() -> None:
    # s2 is the fullest HyperNode with room for the pod; the packing of HyperNodes likes it better than an empty s1.
    used = {"node0": (8_000, *FULL[1:]), "node1": (8_000, *FULL[1:]), "node4": (8_000, 0, 0, 6)}
    cluster = document_tree(used=used, free_gpus={"node0": 0, "node1": 0, "node4": 0b11})
    role = dataclasses.replace(gang().roles[0], requests={"cpu": 8_000, "nvidia.com/gpu": 8})
    job = dataclasses.replace(gang(record="s0"), roles=(role,))
    assert nodes_of(place(cluster, job)) == ["node2"]
    assert nodes_of(place(cluster, job, "volcano-1.15")) == ["node5"]


def test_the_scores_are_100_50_and_0() -> None:
    cluster = document_tree()
    explanation = get_policy("volcano-documents").explain(gang(record="s0"), cluster)
    scores = {one.name: one.parts["LCA tier"] for one in explanation.domains if one.kept}
    assert scores == {"s0": 100.0, "s1": 50.0, "s2": 0.0, "s3": 0.0}


def test_among_equals_the_one_with_most_tasks_wins() -> None:
    # A pod runs in s3 and two in s1; the record is their common HyperNode s6, from which all are equally far.
    at = document_tree().topology.node
    pods = [RunningPod("d", f"p{i}", at(name), {}, gang="d/j") for i, name in enumerate(["node6", "node2", "node2"])]
    cluster = dataclasses.replace(document_tree(), running=tuple(pods))
    assert nodes_of(place(cluster, gang(record="s6", ready=3)))[0] in ("node2", "node3")


@pytest.mark.parametrize("mode", ["hard", ""])
def test_a_constraint_without_tier_or_mode_is_hard_at_tier_1(mode: str) -> None:
    assert isinstance(place(document_tree(), gang(3, None, mode)), Refusal)
    assert len(nodes_of(place(document_tree(), gang(2, None, mode)))) == 2
    assert len(nodes_of(place(document_tree(), gang(3, None, mode), "volcano-1.15"))) == 3


def test_a_first_placement_has_no_lca_score_and_is_recorded() -> None:
    result = place(document_tree(), gang(2))
    assert isinstance(result, Placement) and result.records == {"d/j": "s0"}
    assert get_policy("volcano-documents").traits.annotates_group


def test_node_count_counts_all_nodes_below() -> None:
    from tests.control.manifests import small_cluster

    for policy, count in (("volcano-documents", 4), ("volcano-1.13", 2)):
        cluster = EmbeddedCluster(policy)
        cluster.submit(*small_cluster(4))
        cluster.settle()
        counts = {one["metadata"]["name"]: one["status"]["nodeCount"] for one in cluster.store.list("HyperNode")}
        assert counts == {"leaf0": 2, "leaf1": 2, "spine": count}


def test_the_policies_list_what_they_do_not_follow() -> None:
    listed = {info.name: info.departs for info in list_policies() if info.departs}
    assert listed == DEPARTURES


@pytest.mark.parametrize(
    ("policy", "job", "word"),
    [
        ("volcano-1.15", gang(record="s0"), "LCA"),
        ("volcano-1.15", gang(record="s0"), "highestTierAllowed, in the documents also for the LCA"),
        ("volcano-1.15", gang(tier=None), "highestTierAllowed"),
        ("volcano-1.15", gang(), ""),
        ("volcano-1.13", gang(record="s0"), ""),
        ("volcano-documents", gang(record="s0", tier=None), ""),
        ("gang", gang(record="s0", tier=None), ""),
    ],
)
def test_only_rules_that_concern_the_jobs_are_told(policy: str, job: Gang, word: str) -> None:
    told = departures_for(policy, [job])
    assert bool(told) is bool(word) and word in told
    assert ("volcano-documents" in told) is bool(word) and "\n" not in told


def test_a_soft_job_is_placed_as_by_1_13() -> None:
    one, other = (place(document_tree(), gang(3, mode="soft"), name) for name in ("volcano-documents", "volcano-1.13"))
    assert nodes_of(one) == nodes_of(other)
