"""Jobs of switch affinity after faults in an embedded cluster."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.control.manifests import hypernode, job, node, pods_of, small_cluster, task
from workbench.control.cluster import EmbeddedCluster
from workbench.errors import InputError
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


@pytest.mark.parametrize("action", ["RestartJob", "RestartPod"])
@pytest.mark.parametrize("way", ["file", "copy"])
def test_a_cluster_that_is_saved_amid_a_restart_goes_on_as_one_that_is_not(
    action: str, way: str, tmp_path: Path
) -> None:
    # n5 is the only free node: without it the job's restart has to wait, and its former nodes must not be forgotten.
    undisturbed = running(action)
    undisturbed.not_ready("n5")
    undisturbed.fail_node("n1")
    undisturbed.settle()
    before = undisturbed._controllers().former
    assert before
    if way == "file":
        undisturbed.save(tmp_path / "store.json")
        resumed = EmbeddedCluster("switch-affinity")
        resumed.resume(tmp_path / "store.json")
    else:
        resumed = copy.copy(undisturbed)
    assert resumed._controllers().former == before
    for cluster in (undisturbed, resumed):
        cluster.submit(node("n6"), hypernode("leaf3", 1, ["n6"]))
        cluster.settle()
    assert nodes(resumed) == nodes(undisturbed)
    assert resumed.store.contents() == undisturbed.store.contents()
    assert [str(line) for line in resumed.log] == [str(line) for line in undisturbed.log]


def test_a_file_of_an_older_release_remembers_no_former_pods(tmp_path: Path) -> None:
    path = tmp_path / "store.json"
    running("RestartPod").save(path)
    data = json.loads(path.read_text())
    del data["former"]
    path.write_text(json.dumps(data))
    resumed = EmbeddedCluster("switch-affinity")
    resumed.resume(path)
    assert resumed._controllers().former == ()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[]], "former[0]"),
        ([["PodGroup", "default", "g", "p", -1, "n", 0, False]], "former[0]"),
        ([["PodGroup", "default", "g", "p", 0, "n", 9, False]], "former[0]"),
        ([["PodGroup", "default", "g", "p", 0, "n", 0, 1]], "former[0]"),
        ([["PodGroup", "default", "g", "p", 0, None, 0, True]], "former[0]"),
        ({}, "former"),
    ],
)
def test_former_pods_that_cannot_be_read_are_named(tmp_path: Path, rows: object, said: str) -> None:
    path = tmp_path / "store.json"
    running("RestartPod").save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "former": rows}))
    with pytest.raises(InputError) as caught:
        EmbeddedCluster("switch-affinity").resume(path)
    assert said in str(caught.value) and "\n" not in str(caught.value)
