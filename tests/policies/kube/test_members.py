"""Members of a PodGroup of scheduling.k8s.io that kube-scheduler counts: terminating ones until they are gone."""

from __future__ import annotations

import orjson
import pytest

from tests.policies.kube.test_order_of_arrival import GROUP, HOST, TWINS, decided, node, pod
from workbench.formats.load import load
from workbench.model.placement import Placement
from workbench.policies.registry import get_policy

RACK = "rack"


def in_rack(name, rack, cpu="8"):
    found = node(name, cpu)
    return {**found, "labels": {HOST: name, RACK: rack}}


def leaving(name, at, **more):
    return pod(name, node=at, terminating=True, **more)


@pytest.mark.parametrize("twin", TWINS)
def test_a_terminating_member_counts_towards_the_minimum(tmp_path, twin):
    found = decided(tmp_path, twin, [node("n0")], [pod("g-0")], {**GROUP, "gang": 2}, running=[leaving("g-1", "n0")])
    assert found == {"g-0": "n0"}


def test_a_terminating_member_pins_the_domain(tmp_path):
    nodes = [in_rack("n0", "r0"), in_rack("n1", "r1")]
    group = {**GROUP, "topology_key": RACK}
    pods = [pod("g-0")]
    assert decided(tmp_path, TWINS[1], nodes, pods, group) == {"g-0": "n0"}
    assert decided(tmp_path, TWINS[1], nodes, pods, group, running=[leaving("g-1", "n1")]) == {"g-0": "n1"}


def test_members_that_end_in_two_domains_are_an_error(tmp_path):
    nodes = [in_rack("n0", "r0"), in_rack("n1", "r1")]
    running = [leaving("g-1", "n0"), leaving("g-2", "n1")]
    assert decided(tmp_path, TWINS[1], nodes, [pod("g-0")], {**GROUP, "topology_key": RACK}, running=running) == {}


@pytest.mark.parametrize("twin", TWINS)
def test_a_terminating_pod_of_another_group_is_no_member(tmp_path, twin):
    other = {**GROUP, "name": "h"}
    running = [leaving("h-1", "n0", group="h")]
    assert decided(tmp_path, twin, [node("n0")], [pod("g-0")], {**GROUP, "gang": 2}, other, running=running) == {}


def member(name, phase, **more):
    """Manifest of a pod of the PodGroup g."""
    request = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "d"},
        "spec": {"schedulingGroup": {"podGroupName": "g"}, "containers": [{"name": "c", **request}], **more},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize(("phase", "places"), [("Running", True), ("Succeeded", False), ("Failed", False)])
def test_a_member_that_has_ended_is_unknown_to_the_scheduler(twin, phase, places):
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "d"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    machine = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n0"},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"}},
    }
    items = [machine, group, member("g-0", "Pending"), member("g-1", phase, nodeName="n0")]
    scenario = load("-", stdin=orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (gang,) = scenario.gangs
    assert isinstance(get_policy(twin).place(gang, scenario.snapshot.ledger()), Placement) == places
