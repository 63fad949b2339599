"""Tests that a cluster followed change by change equals one read as a whole, at a cost that fits the change."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.changing import MATRIX, changes, compare_with_rebuild
from tests.profiles import max_examples
from tests.survival import differences
from workbench.cluster import state as state_module
from workbench.cluster.assemble import assemble
from workbench.cluster.changes import ObjectChange, added, deleted
from workbench.cluster.state import ClusterState
from workbench.errors import InputError
from workbench.model.notice import Notice
from workbench.objects.hypernode import HyperNode, Member
from workbench.objects.job import Job, Task
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.objects.pod import Pod, PodSpec, PodTemplate
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION, PodGroup
from workbench.objects.selectors import Selector

SETTINGS = st.sampled_from([{}, {}, {}, {"matrices": (("n1", MATRIX),)}, {"any_scheduler": True}, {"gpus_per_node": 4}])


@pytest.mark.slow
@max_examples(60)
@given(
    SETTINGS,
    st.lists(changes, min_size=10, max_size=50),
    st.lists(st.lists(changes, min_size=1, max_size=3), min_size=3, max_size=15),
)
def test_every_change_makes_what_a_rebuild_makes(
    settings: dict[str, Any], before: list[ObjectChange], batches: list[list[ObjectChange]]
) -> None:
    cluster = ClusterObjects()
    for change in before:
        change.apply_to(cluster)
    state = ClusterState(cluster, **settings)
    assert compare_with_rebuild(state, **settings) == []
    for batch in batches:
        try:
            state.apply(batch)
        except InputError:
            assert "matrices" in settings
        assert compare_with_rebuild(state, **settings) == []


# Four nodes in two racks; on each node a pod with two GPUs, of one gang in which a fifth pod waits.
#
#     rack-0         rack-1
#     n0    n1       n2    n3
#     p0    p1       p2    p3          p4


def node(number: int, gpus: int = 4, **more: Any) -> Node:
    labels = {"rack": f"rack-{number // 2}"}
    return Node(Metadata(f"n{number}", labels=labels), {"cpu": 8_000, "pods": 10, "nvidia.com/gpu": gpus}, **more)


def pod(number: int, name: str = "", phase: str = "Running", gpus: int = 2) -> Pod:
    metadata = Metadata(f"p{number}", "ns", annotations={GROUP_NAME_ANNOTATION: "gang"})
    return Pod(metadata, PodSpec({"cpu": 1_000, "nvidia.com/gpu": gpus}, (gpus,), node_name=name), phase)


def cluster() -> ClusterObjects:
    objects = ClusterObjects()
    objects.nodes.update((f"n{i}", node(i)) for i in range(4))
    for rack in range(2):
        members = tuple(Member("Node", Selector(exact=f"n{i}")) for i in (2 * rack, 2 * rack + 1))
        objects.hypernodes[f"rack-{rack}"] = HyperNode(Metadata(f"rack-{rack}"), 1, "", members)
    objects.pods.update((f"ns/p{i}", pod(i, f"n{i}")) for i in range(4))
    objects.pods["ns/p4"] = pod(4, phase="Pending")
    return objects


def fails(*arguments: object, **more: object) -> Any:
    raise AssertionError("this reads every node")


@pytest.mark.parametrize(
    ("change", "shared"),
    [
        pytest.param(
            added(pod(0, "n0", phase="Succeeded")),
            {"topology", "allocatable", "labels", "taints", "unschedulable", "gpu_total", "node_matrix", "queues"},
            id="a pod ends",
        ),
        pytest.param(
            added(node(0, unschedulable=True)),
            {"topology", "allocatable", "labels", "taints", "used", "gpu_free", "running", "queues"},
            id="a node is cordoned",
        ),
        pytest.param(
            added(replace(node(1), metadata=Metadata("n1", labels={"rack": "rack-0", "zone": "z"}))),
            {"topology", "allocatable", "taints", "unschedulable", "used", "gpu_free", "running", "queues"},
            id="a node gets a label by which no HyperNode selects",
        ),
        pytest.param(
            added(replace(node(1), allocatable={"cpu": 9_000, "pods": 10, "nvidia.com/gpu": 4})),
            {"topology", "labels", "taints", "unschedulable", "gpu_total", "used", "gpu_free", "running", "queues"},
            id="a node offers more of what it offered",
        ),
    ],
)
def test_a_change_reads_no_other_node_and_shares_what_it_does_not_concern(
    monkeypatch: pytest.MonkeyPatch, change: ObjectChange, shared: set[str]
) -> None:
    state = ClusterState(cluster())
    before = state.snapshot
    with monkeypatch.context() as without:
        without.setattr(state_module, "read_nodes", fails)
        without.setattr("workbench.cluster.node_table.read_nodes", fails)
        after, _ = state.apply([change])
    assert {name for name in shared if getattr(before, name) is not getattr(after, name)} == set()
    assert compare_with_rebuild(state) == []


def test_a_node_that_was_replaced_or_changed_has_its_new_identity() -> None:
    read = cluster()
    read.nodes["n2"] = replace(node(2), metadata=replace(node(2).metadata, uid="a", resource_version="11"))
    state = ClusterState(read)
    assert state.snapshot.node_uids[2] == "a"
    metadata = replace(node(2).metadata, uid="b", resource_version="12")
    after = state.apply([added(replace(node(2), metadata=metadata))])[0]
    assert after.node_uids == ("", "", "b", "") and after.node_resource_versions == ("", "", "12", "")


def test_a_pod_that_ends_leaves_the_running_pods_of_other_nodes_alone() -> None:
    state = ClusterState(cluster())
    before = state.snapshot.running
    after = state.apply([added(pod(0, "n0", phase="Succeeded"))])[0].running
    assert [pod.name for pod in after] == ["p1", "p2", "p3"]
    assert all(one is other for one, other in zip(before[1:], after, strict=True))


def test_a_snapshot_does_not_change_with_the_cluster() -> None:
    state = ClusterState(cluster())
    before = state.snapshot
    kept = copy.deepcopy(before)
    state.apply([added(pod(0, "n1")), added(node(2, unschedulable=True)), deleted("Node", "n3")])
    assert list(differences(before, kept)) == []


def test_what_follows_from_shared_fields_is_not_worked_out_again() -> None:
    state = ClusterState(cluster())
    before = state.snapshot
    worked_out = before.domain_allocatable, before.filters
    assert before.domain_used[0].tolist() != before.domain_used[-1].tolist()
    after, _ = state.apply([added(pod(0, "n0", phase="Succeeded"))])
    assert (after.domain_allocatable, after.filters) == worked_out
    rebuilt = assemble(state.objects)[0]
    assert after.domain_used.tolist() == rebuilt.domain_used.tolist() != before.domain_used.tolist()
    cordoned, _ = state.apply([added(node(0, unschedulable=True))])
    assert cordoned.filters is not after.filters
    assert cordoned.domain_used is after.domain_used


def test_news_that_is_known_already_changes_nothing() -> None:
    state = ClusterState(cluster())
    before, workload = state.snapshot, state.workload
    after, again = state.apply([added(pod(0, "n0")), added(node(1)), deleted("Pod", "ns/p9"), deleted("Node", "n9")])
    assert list(differences(before, after)) == []
    assert after.running is before.running
    assert again.gangs is workload.gangs


def test_a_pod_group_that_goes_and_is_back_at_once_comes_last() -> None:
    objects = cluster()
    objects.jobs["ns/gang"] = Job(Metadata("gang", "ns", uid="0-0-0-0-1"), (), 1)
    first, last = (
        PodGroup(Metadata(name, "ns"), 1, {}, "default", "", None, phase=phase)
        for name, phase in (("gang", "Inqueue"), ("gang-0-0-0-0-1", "Running"))
    )
    objects.pod_groups.update({first.metadata.key: first, last.metadata.key: last})
    state = ClusterState(objects)
    assert {pod.group_phase for pod in state.snapshot.running} == {"Running"}
    snapshot, _ = state.apply([deleted("PodGroup", first.metadata.key), added(first)])
    assert {pod.group_phase for pod in snapshot.running} == {"Inqueue"}
    snapshot, _ = state.apply([added(replace(last, queue="q"))])
    assert {pod.group_phase for pod in snapshot.running} == {"Inqueue"}
    assert compare_with_rebuild(state) == []


def test_a_note_about_the_pod_group_of_a_job_stands_at_the_gang_of_the_job() -> None:
    objects = cluster()
    tasks = (Task("t", 9, None, PodTemplate(PodSpec({"cpu": 1}), {}, {})),)
    objects.jobs["ns/gang"] = Job(Metadata("gang", "ns"), tasks, 1)
    state = ClusterState(objects)
    group = PodGroup(Metadata("gang", "ns"), 1, {}, "default", "", None)
    note = Notice("constraint-without-effect", "says less than it seems to", "PodGroup ns/gang")
    _, workload = state.apply([added(group, notes=(note,))])
    told = replace(note, message="PodGroup gang: says less than it seems to")
    assert (told,) in [gang.notes for gang in workload.gangs]
    assert workload.notes == ()
    assert compare_with_rebuild(state) == []


def test_a_change_that_makes_no_snapshot_is_told_until_another_one_mends_it() -> None:
    matrices = (("n1", MATRIX),)
    state = ClusterState(cluster(), matrices)
    assert state.snapshot.node_matrix.tolist() == [-1, 0, -1, -1]
    for _ in range(2):
        with pytest.raises(InputError, match="another number of GPUs than node n1"):
            state.apply([added(node(1, gpus=8)), added(pod(1, "n1", phase="Succeeded"))])
    with pytest.raises(InputError, match="another number of GPUs than node n1"):
        _ = state.workload
    snapshot, _ = state.apply([added(node(1, gpus=4))])
    assert [pod.name for pod in snapshot.running] == ["p0", "p2", "p3"]
    assert compare_with_rebuild(state, matrices) == []


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_copy_goes_its_own_way(way: Callable[[ClusterState], ClusterState]) -> None:
    state = ClusterState(cluster(), source="somewhere")
    state.apply([deleted("Pod", "ns/p0")], taken_at="2026-01-01T00:00:00Z")
    copied = way(state)
    assert list(differences(copied.snapshot, state.snapshot)) == []
    copied.apply([deleted("Pod", "ns/p1")])
    assert [pod.name for pod in state.snapshot.running] == ["p1", "p2", "p3"]
    assert [pod.name for pod in copied.snapshot.running] == ["p2", "p3"]
    assert compare_with_rebuild(copied) == []


def test_the_objects_handed_in_stay_as_they_are() -> None:
    given_objects = cluster()
    ClusterState(given_objects).apply([deleted("Pod", "ns/p0")])
    assert "ns/p0" in given_objects.pods
