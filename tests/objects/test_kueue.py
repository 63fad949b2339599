"""Kueue's objects as they are read from manifests, and one line for each that is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench
from tests.objects.admission.test_kueue import RACK, kueue_object, topology
from workbench.errors import InputError
from workbench.formats.snapshot_record import snapshot_text
from workbench.model.kueue import TopologyAssignment, TopologyRequest
from workbench.model.kueue_queues import FlavorQuotas, QueueCheck, Quota
from workbench.model.kueue_request import KueueObjects, KueueRequest
from workbench.model.scenario import Scenario
from workbench.objects.kinds import ClusterObjects

HOST = "kubernetes.io/hostname"


def named(data: dict[str, Any], name: str) -> dict[str, Any]:
    return {**data, "metadata": {**data["metadata"], "name": name}}


def pod_set(count: int = 2, **more: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "example.invalid/x:1", "resources": {"requests": {"cpu": "500m"}}}
    return {"name": "main", "count": count, "template": {"spec": {"containers": [container]}}, **more}


def workload(*sets: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    data = kueue_object("Workload", {"queueName": "team", "podSets": list(sets) or [pod_set()], **spec})
    return {**data, "status": status} if status else data


def cluster_queue(**spec: Any) -> dict[str, Any]:
    resources = [{"name": "cpu", "nominalQuota": "5", "borrowingLimit": 1, "lendingLimit": "500m"}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "gpu", "resources": resources}]}
    return kueue_object("ClusterQueue", {"resourceGroups": [group], **spec})


def load(*objects: dict[str, Any]) -> Scenario:
    return workbench.load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def test_a_cluster_with_kueue_is_read_written_and_read_again() -> None:
    preemption = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    scenario = load(
        topology(RACK, HOST),
        kueue_object("ResourceFlavor", {"topologyName": "one", "nodeLabels": {"pool": "gpu"}}),
        cluster_queue(cohortName="all", preemption=preemption, admissionChecks=["one"], queueingStrategy="StrictFIFO"),
        kueue_object("LocalQueue", {"clusterQueue": "one"}),
        kueue_object("Cohort", {"parentName": "top"}),
        kueue_object("AdmissionCheck", {"controllerName": "kueue.x-k8s.io/provisioning-request"}),
    )
    found = scenario.snapshot.extra(KueueObjects)
    assert found.topologies == {"one": (RACK, HOST)}
    assert [(each.name, each.topology) for each in found.flavors] == [("one", "one")]
    (queue,) = found.cluster_queues
    assert (queue.cohort, queue.within_queue, queue.reclaim_in_cohort, queue.strict) == (
        "all",
        "LowerPriority",
        "Any",
        True,
    )
    assert queue.groups == ((FlavorQuotas("gpu", {"cpu": Quota(5000, 1000, 500)}),),)
    assert queue.checks == (QueueCheck("one"),) and found.provisioning == ("one",)
    assert found.local_queues == {"default/one": "one"}
    assert [(each.name, each.parent) for each in found.cohorts] == [("one", "top")]
    again = workbench.load("-", stdin=snapshot_text(scenario.snapshot)).snapshot
    assert again.extras == scenario.snapshot.extras


def test_a_pending_workload_is_a_gang() -> None:
    request = {"required": RACK, "podSetSliceRequiredTopology": HOST, "podSetSliceSize": 2}
    (gang,) = load(workload(pod_set(4, minCount=2, topologyRequest=request), priority=7)).gangs
    assert (gang.kind, gang.key, gang.n_pods, gang.min_available, gang.priority) == ("Workload", "default/one", 4, 2, 7)
    asked = gang.extra(KueueRequest)
    assert asked.queue == "team" and asked.workload == "default/one"
    found = asked.of("main").topology
    assert isinstance(found, TopologyRequest) and found.required == RACK
    assert [(layer.level, layer.size) for layer in found.slices] == [(HOST, 2)]
    assert asked.of("main").min_count == 2


@pytest.mark.parametrize(
    "over", [{"active": False}, {"status": {"conditions": [{"type": "Finished", "status": "True"}]}}]
)
def test_a_workload_that_cannot_be_admitted_is_none(over: dict[str, Any]) -> None:
    assert load(workload(**over)).gangs == ()


def test_a_workload_of_a_job_adds_to_the_gang_of_the_job() -> None:
    template = {**pod_set()["template"], "metadata": {}}
    template["spec"] = {**template["spec"], "restartPolicy": "Never"}
    tasks = [{"name": "main", "replicas": 2, "template": template}]
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"schedulerName": "volcano", "minAvailable": 2, "tasks": tasks},
    }
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "controller": True, "uid": "1"}
    made = workload(pod_set(topologyRequest={"preferred": RACK}))
    made["metadata"] = {**made["metadata"], "ownerReferences": [owner]}
    (gang,) = load(job, made).gangs
    assert gang.key == "default/train" and gang.kind == "Job"
    asked = gang.extra(KueueRequest).of("main").topology
    assert asked is not None and asked.preferred == RACK


def test_an_admitted_workload_holds_quota_and_waits_for_nothing() -> None:
    assignment = {
        "levels": [HOST],
        "slices": [
            {
                "domainCount": 2,
                "podCounts": {"universal": 1},
                "valuesPerLevel": [{"individual": {"prefix": "n", "roots": ["1", "2"]}}],
            }
        ],
    }
    sets = [{"name": "main", "count": 2, "flavors": {"cpu": "gpu"}, "resourceUsage": {"cpu": "1"}}]
    sets[0]["topologyAssignment"] = assignment
    reserved = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"}
    status = {"admission": {"clusterQueue": "one", "podSetAssignments": sets}, "conditions": [reserved]}
    scenario = load(workload(status=status))
    assert scenario.gangs == ()
    (held,) = scenario.snapshot.extra(KueueObjects).workloads
    assert held.admission is not None and held.cluster_queue == "one" and not held.admitted
    (admitted,) = held.admission.pod_sets
    assert dict(admitted.usage) == {"cpu": 1000}
    assert admitted.assignment == TopologyAssignment((HOST,), ((("n1",), 1), (("n2",), 1)))


def test_annotations_of_a_template_are_a_request() -> None:
    annotations = {"kueue.x-k8s.io/podset-preferred-topology": RACK}
    metadata = {"name": "p", "annotations": annotations, "labels": {"kueue.x-k8s.io/queue-name": "team"}}
    (gang,) = load(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_set()["template"]["spec"]}
    ).gangs
    asked = gang.extra(KueueRequest)
    assert asked.queue == "team"
    assert [each.topology and each.topology.preferred for each in asked.roles] == [RACK]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (workload(pod_set(), pod_set()), r"spec.podSets\[1\].name"),
        (kueue_object("Workload", {}), "spec.podSets in body should have at least 1 items"),
        (kueue_object("LocalQueue", {}), "spec.clusterQueue: the field is missing"),
        (cluster_queue(preemption={"withinClusterQueue": "Sometimes"}), "spec.preemption.withinClusterQueue"),
        (
            kueue_object(
                "ClusterQueue", {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "f"}]}]}
            ),
            "flavors must have the same number of resources as the coveredResources",
        ),
        (
            kueue_object(
                "ClusterQueue",
                {
                    "resourceGroups": [
                        {
                            "coveredResources": ["cpu"],
                            "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "many"}]}],
                        }
                    ]
                },
            ),
            r"spec.resourceGroups\[0\].flavors\[0\].resources\[0\].nominalQuota: not a quantity",
        ),
    ],
)
def test_a_wrong_object_is_one_line_with_the_field(data: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load(data)


def test_a_second_object_of_one_name_is_refused() -> None:
    cluster = ClusterObjects()
    cluster.add(cluster_queue())
    cluster.add(kueue_object("LocalQueue", {"clusterQueue": "one"}))
    with pytest.raises(InputError, match="the same ClusterQueue twice"):
        cluster.add(cluster_queue())
