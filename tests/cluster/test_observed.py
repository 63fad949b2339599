"""Gangs that run, taken off their nodes one at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.changing import changes, compare_with_rebuild
from tests.profiles import max_examples
from tests.survival import differences
from workbench.cluster.assemble import assemble
from workbench.cluster.changes import ObjectChange, added
from workbench.cluster.observed import observed_gangs
from workbench.cluster.state import ClusterState
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.objects.pod import Pod, PodSpec
from workbench.objects.pod_group import ALLOCATED_HYPERNODE_ANNOTATION, GROUP_NAME_ANNOTATION, PodGroup


@pytest.mark.slow
@max_examples(60)
@given(st.lists(changes, min_size=10, max_size=60))
def test_afterwards_the_cluster_is_as_before(before: list[ObjectChange]) -> None:
    state = ClusterState(ClusterObjects())
    state.apply(before)
    for one in observed_gangs(state):
        running = {name: node for name, node in one.nodes.items() if node is not None}
        assert running.keys() <= {pod.name for pod in one.gang.pods()}
        assert running and all(pod.gang != one.gang.key or pod.terminating for pod in one.snapshot.running)
    assert compare_with_rebuild(state) == []


def pod(name: str, node: str, group: str = "", gpus: int = 1, scheduler: str = "") -> Pod:
    annotations = {GROUP_NAME_ANNOTATION: group} if group else {}
    metadata = Metadata(name, "default", uid=name, annotations=annotations)
    requests = {"cpu": 1000, "nvidia.com/gpu": gpus}
    spec = PodSpec(requests, container_gpus=(gpus,), node_name=node, scheduler=scheduler)
    return Pod(metadata, spec, "Running" if node else "Pending")


def cluster(*pods: Pod) -> ClusterState:
    objects = ClusterObjects()
    for name in ("a", "b"):
        added(Node(Metadata(name), {"cpu": 8000, "pods": 110, "nvidia.com/gpu": 8}, (), False, "")).apply_to(objects)
    record = {ALLOCATED_HYPERNODE_ANNOTATION: "rack"}
    added(PodGroup(Metadata("g", "default", annotations=record), 2, {}, "default", "", None)).apply_to(objects)
    for one in pods:
        added(one).apply_to(objects)
    return ClusterState(objects, any_scheduler=True)


def test_each_gang_comes_with_the_cluster_without_it() -> None:
    state = cluster(pod("g-w-0", "a", "g"), pod("g-w-1", "b", "g"), pod("g-w-2", "", "g"), pod("alone", "a"))
    alone, gang = observed_gangs(state)
    assert (alone.gang.key, alone.nodes) == ("default/alone", {"alone": "a"})
    assert sorted(one.gang for one in alone.snapshot.running) == ["default/g", "default/g"]
    assert (gang.gang.key, gang.nodes) == ("default/g", {"g-w-0": "a", "g-w-1": "b", "g-w-2": None})
    assert [one.node for one in gang.snapshot.running] == [0]


def test_it_is_the_cluster_that_has_the_pods_without_nodes() -> None:
    pods = [pod("g-w-0", "a", "g"), pod("g-w-1", "b", "g"), pod("alone", "a")]
    (_, found) = observed_gangs(cluster(*pods))
    unbound = [replace(one, spec=replace(one.spec, node_name=""), phase="Pending") for one in pods[:2]]
    objects = cluster(*unbound, pods[2]).objects
    bare = replace(objects.pod_groups["default/g"], metadata=Metadata("g", "default"))
    added(bare).apply_to(objects)
    snapshot, workload = assemble(objects, any_scheduler=True)
    assert list(differences(found.snapshot, snapshot)) == []
    assert list(differences(found.gang, next(one for one in workload.gangs if one.name == "g"))) == []


def test_the_scheduler_of_the_pods_is_told() -> None:
    state = cluster(pod("x", "a", scheduler="default-scheduler"), pod("y", "a", scheduler="volcano"))
    assert [one.scheduler for one in observed_gangs(state)] == ["default-scheduler", "volcano"]


def test_a_pod_that_is_terminating_stays_where_it_is() -> None:
    ending = replace(pod("g-w-0", "a", "g"), deleted=True)
    assert list(observed_gangs(cluster(ending))) == []


def test_a_pod_that_is_alone_and_has_no_gpus_is_left_out() -> None:
    told: list[tuple[int, int, str]] = []
    state = cluster(pod("daemon", "a", gpus=0), pod("train", "b"))
    assert [one.gang.key for one in observed_gangs(state, lambda *step: told.append(step))] == ["default/train"]
    assert told == [(0, 1, "default/train")]


def test_one_who_stops_early_finds_the_cluster_as_before() -> None:
    state = cluster(pod("g-w-0", "a", "g"), pod("g-w-1", "b", "g"), pod("alone", "a"))
    before = state.snapshot
    gangs = observed_gangs(state)
    _ = next(gangs), next(gangs)
    assert len(state.snapshot.running) == 1
    gangs.close()
    assert list(differences(state.snapshot, before, "snapshot")) == []


def test_a_gang_is_back_when_the_next_one_is_off_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    state = cluster(pod("a0", "a"), pod("b0", "b"), pod("c0", "a"))
    steps = []
    apply = ClusterState.apply

    def counted(self: ClusterState, changes: list[ObjectChange]) -> object:
        steps.append(len(changes))
        return apply(self, changes)

    monkeypatch.setattr(ClusterState, "apply", counted)
    for one in observed_gangs(state):
        assert {pod.name for pod in one.snapshot.running} == {"a0", "b0", "c0"} - {one.gang.name}
        assert compare_with_rebuild(state, any_scheduler=True) == []
    assert steps == [1, 2, 2, 1]
