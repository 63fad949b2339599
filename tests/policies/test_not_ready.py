"""Nodes whose condition Ready is not True, under every policy."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.fabrics import document_tree
from workbench.model.gang import Gang, Role
from workbench.model.placement import Placement, Refusal
from workbench.policies.registry import get_policy, list_policies

POLICIES = [info.name for info in list_policies() if info.kind != "gpu"]
WHOLE = document_tree()


def with_not_ready(*names: str):
    nodes = [WHOLE.topology.node(name) for name in names]
    return dataclasses.replace(WHOLE, not_ready=np.isin(np.arange(WHOLE.n_nodes), nodes))


def gang(n_pods: int) -> Gang:
    return Gang("d", "j", (Role("w", n_pods, {"cpu": 1000, "nvidia.com/gpu": 8}),), n_pods)


@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_places_a_pod_on_a_node_that_is_not_ready(name):
    cluster = with_not_ready("node0", "node3", "node5")
    policy = get_policy(name)
    placed = policy.schedule([gang(2)], cluster)[0].result
    if isinstance(placed, Placement):
        assert not cluster.not_ready[placed.node[placed.node >= 0]].any()
    in_stream = policy.stream(cluster).place(gang(2))
    assert type(in_stream) is type(placed)
    assert isinstance(policy.schedule([gang(6)], cluster)[0].result, Refusal)


@pytest.mark.parametrize("name", ["volcano-1.13", "volcano-1.15", "allocate", "gang", "binpack"])
def test_the_refusal_says_how_many_nodes_are_not_ready(name):
    cluster = with_not_ready("node0", "node3", "node5")
    refusal = get_policy(name).schedule([gang(6)], dataclasses.replace(cluster, used=cluster.allocatable))[0].result
    assert isinstance(refusal, Refusal)
    assert any("3 node(s) were not ready" in reason.message for reason in refusal.reasons)
