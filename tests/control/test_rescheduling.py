"""Jobs of switch affinity after faults in an embedded cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.control.manifests import job, pods_of, small_cluster, task
from workbench.control.cluster import EmbeddedCluster
from workbench.model.switches import EXCLUSIVE, SHARED


def large(action: str, replicas: int = 5) -> dict[str, Any]:
    policies = [{"event": "PodEvicted", "action": action}, {"event": "PodFailed", "action": action}]
    made = job(tasks=[task(replicas=replicas)], policies=policies, minAvailable=replicas)
    made["metadata"]["labels"] = {"tor-affinity": "large-model-schema"}
    return made


def running(action: str) -> EmbeddedCluster:
    """Two leaves taken whole, and one node of the third."""
    cluster = EmbeddedCluster("switch-affinity")
    cluster.submit(*small_cluster(6), large(action))
    cluster.settle()
    return cluster


def nodes(cluster: EmbeddedCluster) -> dict[str, str]:
    return {pod.name: pod.node for pod in cluster.pods()}


@pytest.mark.parametrize("action", ["RestartJob", "RestartPod"])
def test_only_the_pod_of_the_faulty_node_moves(action: str) -> None:
    cluster = running(action)
    before = nodes(cluster)
    (hit,) = [name for name, node in before.items() if node == "n1"]
    cluster.fail_node("n1")
    cluster.settle()
    after = nodes(cluster)
    assert after.pop(hit) == "n5"
    assert after == {name: node for name, node in before.items() if name != hit}
    assert set(pods_of(cluster).values()) == {"Running"}


@pytest.mark.parametrize("action", ["RestartJob", "RestartPod"])
def test_the_switches_keep_their_states(action: str) -> None:
    cluster = running(action)
    cluster.fail_node("n1")
    cluster.settle()
    book = cluster.snapshot.ledger().switches
    assert book is not None
    states = dict(zip(book.table.names, book.states().state.tolist(), strict=True))
    assert states == {"leaf0": EXCLUSIVE, "leaf1": EXCLUSIVE, "leaf2": SHARED}


def test_pods_that_wait_for_a_node_leave_the_votes_of_the_others() -> None:
    cluster = running("RestartPod")
    cluster.not_ready("n5")
    cluster.fail_node("n1")
    cluster.settle()
    assert sorted(pods_of(cluster).values()).count("Pending") == 1
    book = cluster.snapshot.ledger().switches
    assert book is not None and book.states().state.tolist() == [EXCLUSIVE, EXCLUSIVE, SHARED]
