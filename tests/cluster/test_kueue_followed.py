"""A cluster with Kueue that is followed: its objects and its gates, change by change, as if read anew."""

from __future__ import annotations

from typing import Any

import workbench
from tests.objects.admission.test_kueue import RACK, kueue_object, topology
from tests.objects.test_kueue import HOST, cluster_queue, named, pod_set, workload
from workbench.cluster.assemble import assemble
from workbench.cluster.changes import read_change
from workbench.cluster.state import ClusterState
from workbench.model.kueue_request import KueueObjects
from workbench.model.labels import Requirement
from workbench.objects.kinds import ClusterObjects


def gated_pod() -> dict[str, Any]:
    metadata = {
        "name": "p",
        "labels": {"kueue.x-k8s.io/podset": "main"},
        "annotations": {"kueue.x-k8s.io/workload": "held"},
    }
    spec = {**pod_set()["template"]["spec"], "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "schedulerName": "volcano"}}


def admitted(host: str) -> dict[str, Any]:
    assignment = {"levels": [HOST], "domains": [{"values": [host], "count": 1}]}
    sets = [{"name": "main", "count": 1, "flavors": {"cpu": "gpu"}, "topologyAssignment": assignment}]
    conditions = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
    status = {"admission": {"clusterQueue": "one", "podSetAssignments": sets}, "conditions": conditions}
    return named(workload(pod_set(1), status=status), "held")


def test_queues_and_gates_follow_every_change() -> None:
    start = [
        topology(RACK, HOST),
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4"}}},
    ]
    steps = [
        (cluster_queue(), False),
        (kueue_object("ResourceFlavor", {"topologyName": "one", "nodeLabels": {"pool": "a"}}), False),
        (kueue_object("ResourceFlavor", {"topologyName": "one", "nodeLabels": {"pool": "b"}}), False),
        (topology(HOST), False),
        (kueue_object("LocalQueue", {"clusterQueue": "one"}), False),
        (gated_pod(), False),
        (admitted("n1"), False),
        (admitted("n2"), False),
        (cluster_queue(), True),
        (admitted("n2"), True),
        (topology(HOST), True),
    ]
    first = ClusterObjects()
    for data in start:
        first.add(data)
    state = ClusterState(first)
    stored = {(data["kind"], data["metadata"]["name"]): data for data in start}
    told = []
    for data, gone in steps:
        change = read_change(data, gone=gone)
        assert change is not None
        state.apply([change])
        key = data["kind"], data["metadata"]["name"]
        if gone:
            del stored[key]
        else:
            stored[key] = data
        anew = ClusterObjects()
        for each in stored.values():
            anew.add(each)
        snapshot, read = assemble(anew)
        assert state.snapshot.extras == snapshot.extras
        assert [(gang.key, gang.roles) for gang in state.workload.gangs] == [
            (gang.key, gang.roles) for gang in read.gangs
        ]
        told.append([each.filter.required for gang in read.gangs for each in gang.roles])
    assert told == [
        *([],) * 6,
        [(Requirement(HOST, "In", ("n1",)),)],
        [(Requirement(HOST, "In", ("n2",)),)],
        [(Requirement(HOST, "In", ("n2",)),)],
        [],
        [],
    ]
    found = state.snapshot.extra(KueueObjects)
    assert found.local_queues == {"default/one": "one"} and found.topologies == {}
    assert [each.node_labels for each in found.flavors] == [{"pool": "b"}]


def test_a_changed_topology_changes_where_a_gang_goes() -> None:
    """Racks r0 with n0 and n1, r1 with n2 and n3: two pods that ask for a rack, then for one that no node names."""
    objects = ClusterObjects()
    for i in range(4):
        labels = {RACK: f"r{i // 2}", "example.com/row": f"row{i % 2}", HOST: f"n{i}", "pool": "gpu"}
        objects.add(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"n{i}", "labels": labels},
                "status": {"allocatable": {"cpu": "1", "pods": "9"}},
            }
        )
    resources = [{"name": "cpu", "nominalQuota": "9"}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "one", "resources": resources}]}]
    job = workload({**pod_set(2), "topologyRequest": {"required": RACK}}, queueName="one")
    for data in (
        topology(RACK, HOST),
        kueue_object("ResourceFlavor", {"topologyName": "one", "nodeLabels": {"pool": "gpu"}}),
        kueue_object("ClusterQueue", {"resourceGroups": groups}),
        kueue_object("LocalQueue", {"clusterQueue": "one"}),
        job,
    ):
        objects.add(data)
    state = ClusterState(objects)

    def placed() -> bool:
        (decision,) = workbench.schedule(state.workload.gangs, state.snapshot, "kueue-0.19")
        return decision.placed

    assert placed()
    for data, want in ((topology("example.com/row", HOST), False), (topology(RACK, HOST), True)):
        change = read_change(data)
        assert change is not None and change.key == "kueue/one"
        state.apply([change])
        assert placed() is want
    gone = read_change(topology(RACK, HOST), gone=True)
    assert gone is not None
    state.apply([gone])
    assert not placed()
