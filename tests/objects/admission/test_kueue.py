"""What admission says of Kueue's objects and of Kueue's annotations on pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.objects.test_top_owners import (
    TEMPLATE,
    entry,
    group,
    job,
    job_set,
    leader_worker_set,
    manifest,
    ray_cluster,
    torch_job,
)
from workbench.model.kueue_request import KueueObjects
from workbench.model.release import Release
from workbench.objects.admission import Known, notes_of, refusal_of, review
from workbench.objects.admission.kueue import judge_of, kueue_change_findings
from workbench.objects.kinds import ClusterObjects

HOST, RACK = "kubernetes.io/hostname", "example.com/rack"
PREFIX = "kueue.x-k8s.io/"


def kueue_object(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "one"}, "spec": spec}


def topology(*labels: str) -> dict[str, Any]:
    return kueue_object("Topology", {"levels": [{"nodeLabel": label} for label in labels]})


def pod(**annotations: str) -> dict[str, Any]:
    names = {f"{PREFIX}podset-{name.replace('_', '-')}": text for name, text in annotations.items()}
    spec = {"containers": [{"name": "c", "image": "example.invalid/x:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": names}, "spec": spec}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (topology(RACK, HOST), ""),
        (topology(), "spec.levels: Invalid value: spec.levels in body should have at least 1 items"),
        (topology(RACK, RACK), 'spec.levels[1].nodeLabel: Invalid value: "example.com/rack": must be unique'),
        (topology("a b"), "spec.levels[0].nodeLabel in body should match"),
        (topology("x" * 317), "should have 1 to 316 characters"),
        (kueue_object("ResourceFlavor", {"topologyName": "default", "nodeLabels": {"pool": "gpu"}}), ""),
        (kueue_object("ResourceFlavor", {"topologyName": "default"}), "at least one nodeLabel is required"),
        (kueue_object("Workload", {}), "spec.podSets in body should have at least 1 items"),
        (
            kueue_object("Workload", {"podSets": [{"topologyRequest": {"podSetSliceRequiredTopology": RACK}}]}),
            "spec.podSets[0].topologyRequest.podSetSliceSize: Required value",
        ),
        (
            kueue_object("Workload", {"podSets": [{"topologyRequest": {"podSetSliceSize": 0}}]}),
            "podSetSliceSize: Invalid value: 0: must be greater than 0",
        ),
        (pod(required_topology=RACK), ""),
        (pod(required_topology=RACK, preferred_topology=RACK), "must not contain more than one topology annotation"),
        (pod(unconstrained_topology="yes"), '-topology]: Invalid value: "yes": must be a boolean value'),
    ],
)
def test_refusals_are_in_the_words_of_the_cluster(data: dict[str, Any], said: str) -> None:
    verdict = review(data)
    assert said in verdict.refusal
    assert verdict.allowed is (not said)
    assert refusal_of(data) == verdict.refusal
    assert notes_of(data) == []


def quotas(cpu: dict[str, str], **more: Any) -> dict[str, Any]:
    """A spec with one group of one flavor, which has a quota of cpu."""
    flavor = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "4", **cpu}]}
    return {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}], **more}


QUOTA = "spec.resourceGroups[0].flavors[0].resources[0]"
TAINT = {"key": "a", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        ("ClusterQueue", quotas({}), ""),
        ("ClusterQueue", quotas({"borrowingLimit": "2", "lendingLimit": "4"}, cohortName="all"), ""),
        (
            "ClusterQueue",
            quotas({"borrowingLimit": "2"}),
            f'{QUOTA}.borrowingLimit: Invalid value: "2": must be nil when cohort is empty',
        ),
        (
            "ClusterQueue",
            quotas({"lendingLimit": "5"}, cohortName="all"),
            f'{QUOTA}.lendingLimit: Invalid value: "5": must be less than or equal to the nominalQuota',
        ),
        (
            "ClusterQueue",
            quotas({"nominalQuota": "-1"}),
            f'{QUOTA}.nominalQuota: Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            "ClusterQueue",
            quotas({"name": "memory"}),
            'Invalid value: "memory": must match the name in coveredResources',
        ),
        (
            "ClusterQueue",
            {"resourceGroups": quotas({})["resourceGroups"] * 2},
            'spec.resourceGroups[1].coveredResources[0]: Duplicate value: "cpu"; '
            'spec.resourceGroups[1].flavors[0].name: Duplicate value: "f"',
        ),
        (
            "ClusterQueue",
            {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": []}]},
            "flavors in body should have at least 1 items",
        ),
        (
            "ClusterQueue",
            quotas({}, preemption={"borrowWithinCohort": {"policy": "LowerPriority"}}),
            "spec.preemption: Invalid value: reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
        ),
        (
            "ClusterQueue",
            quotas({}, preemption={"withinClusterQueue": "Any"}),
            'withinClusterQueue: Unsupported value: "Any": supported values: "Never", "LowerPriority"',
        ),
        ("ClusterQueue", quotas({}, cohortName="A B"), "spec.cohortName in body should match"),
        ("ClusterQueue", quotas({}, cohortName="a" * 254), "Too long: may not be more than 253 bytes"),
        (
            "ClusterQueue",
            quotas({}, admissionChecksStrategy={"admissionChecks": [{"name": "c", "onFlavors": ["g"]}]}),
            'admissionChecks[0].onFlavors[0]: Unsupported value: "g": supported values: "f"',
        ),
        ("Cohort", quotas({"lendingLimit": "5"}, parentName="all"), ""),
        ("Cohort", quotas({"lendingLimit": "5"}), 'Invalid value: "5": must be nil when parent is empty'),
        ("LocalQueue", {"clusterQueue": "one", "stopPolicy": "Hold"}, ""),
        ("LocalQueue", {"clusterQueue": "one", "stopPolicy": "Wait"}, 'spec.stopPolicy: Unsupported value: "Wait"'),
        ("AdmissionCheck", {}, "spec.controllerName in body should be at least 1 chars long"),
        ("ResourceFlavor", {"nodeTaints": [TAINT | {"value": "b"}], "tolerations": [{"operator": "Exists"}]}, ""),
        ("ResourceFlavor", {"nodeTaints": [TAINT] * 2}, "taints must be unique by key and effect pair"),
        ("ResourceFlavor", {"nodeTaints": [{"key": "a", "effect": "Never"}]}, "supported taint effect values"),
        ("ResourceFlavor", {"nodeTaints": [TAINT | {"key": f"a{i}"} for i in range(9)]}, "must have at most 8 items"),
        ("ResourceFlavor", {"tolerations": [{"operator": "Equal"}]}, "operator must be Exists when 'key' is empty"),
        ("ResourceFlavor", {"tolerations": [{"key": "a", "operator": "In"}]}, "supported toleration values"),
        (
            "ResourceFlavor",
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "b", "tolerationSeconds": 5}]},
            "a value must be empty when 'operator' is 'Exists'",
        ),
    ],
)
def test_queues_that_contradict_themselves_are_refused(kind: str, spec: dict[str, Any], said: str) -> None:
    verdict = review(kueue_object(kind, spec))
    assert said in verdict.refusal
    assert verdict.allowed is (not said)


@pytest.mark.parametrize(
    ("kind", "before", "after", "said"),
    [
        (
            "LocalQueue",
            {"clusterQueue": "a"},
            {"clusterQueue": "b"},
            "spec.clusterQueue: Invalid value: field is immutable",
        ),
        ("AdmissionCheck", {"controllerName": "a"}, {"controllerName": "b"}, "field is immutable"),
        (
            "ResourceFlavor",
            {"topologyName": "t", "nodeLabels": {"pool": "a"}},
            {"topologyName": "t", "nodeLabels": {"pool": "b"}},
            "nodeLabels are immutable when topologyName is set",
        ),
        ("ResourceFlavor", {"nodeLabels": {"pool": "a"}}, {"nodeLabels": {"pool": "b"}}, ""),
    ],
)
def test_changes_of_what_is_immutable(kind: str, before: dict[str, Any], after: dict[str, Any], said: str) -> None:
    found = kueue_change_findings(kueue_object(kind, before), kueue_object(kind, after))
    assert said in "; ".join(one.text for one in found)
    assert bool(found) is bool(said)


def test_a_refused_pod_is_not_placed() -> None:
    cluster = ClusterObjects()
    cluster.add(pod(slice_size="4"))
    assert list(cluster.refused) == ["Pod default/p"]


def test_a_template_whose_pods_kueue_refuses_is_refused_in_the_same_words() -> None:
    made = pod(slice_required_topology=RACK, slice_size="3")
    del made["metadata"]["name"]
    template = {"metadata": made["metadata"], "spec": {**made["spec"], "schedulerName": "volcano"}}
    said = "must not be greater than pod set count 2"
    data = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    data["spec"] = {"replicas": 2, "template": template}
    assert said in review(data).refusal and refusal_of(data) == review(data).refusal
    task = {"name": "w", "replicas": 2, "template": template}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}}
    job["spec"] = {"minAvailable": 2, "tasks": [task]}
    assert said in review(job).refusal and said in refusal_of(job)
    hyper = {"apiVersion": "training.volcano.sh/v1alpha1", "kind": "HyperJob", "metadata": {"name": "h"}}
    hyper["spec"] = {"replicatedJobs": [{"name": "a", "replicas": 1, "templateSpec": job["spec"]}]}
    assert said in review(hyper).refusal and said in refusal_of(hyper)
    (where,) = [one.path for one in review(hyper).findings if said in one.text]
    assert where.startswith("spec.replicatedJobs[0].templateSpec.tasks[0].template.metadata.annotations")
    replicas = {**data, "kind": "StatefulSet"}
    assert said in review(replicas).refusal and refusal_of(replicas) == review(replicas).refusal
    # A cluster that has stored it has accepted it.
    for one in (hyper, replicas):
        kept = {**one, "metadata": {**one["metadata"], "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}}
        assert said not in refusal_of(kept)
    stored = {**job, "metadata": {"name": "j", "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    assert said not in refusal_of(stored)


def test_a_top_owner_that_cannot_be_read_is_not_judged_by_volcano() -> None:
    broken = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "j"}}
    broken["spec"] = {"replicatedJobs": 5}
    assert not review(broken).allowed
    assert judge_of(broken, Release.V1_15) == "the checks of the fields that are read"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ((RACK, HOST), (HOST,), ""),
        ((RACK,), (RACK, HOST), "levels are mutable only when"),
        ((RACK,), (RACK,), ""),
    ],
)
def test_levels_change_only_above_the_host_name(before: tuple[str, ...], after: tuple[str, ...], said: str) -> None:
    found = "; ".join(one.text for one in kueue_change_findings(topology(*before), topology(*after)))
    assert said in found
    assert bool(found) is bool(said)


def annotated(**annotations: str) -> dict[str, Any]:
    return {**TEMPLATE, "metadata": pod(**annotations)["metadata"]}


BOTH = {"required_topology": RACK, "preferred_topology": RACK}
SIZED = {"slice_required_topology": RACK, "slice_size": "4"}


def ray_job(template: dict[str, Any]) -> dict[str, Any]:
    inner = ray_cluster(group(replicas=2, numOfHosts=1, template=template))["spec"]
    return manifest("ray.io/v1", "RayJob", {"rayClusterSpec": inner})


def mpi_job(template: dict[str, Any]) -> dict[str, Any]:
    replicas = {"Launcher": {"template": TEMPLATE}, "Worker": {"replicas": 2, "template": template}}
    return manifest("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": replicas})


#: An object of each kind with two pods of a template, and the path of the template.
OWNERS: list[tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = [
    (lambda template: job(template, parallelism=2), "spec.template"),
    (
        lambda template: job_set(entry(), entry("v", 2, template=template)),
        "spec.replicatedJobs[1].template.spec.template",
    ),
    (
        lambda template: leader_worker_set(leaderTemplate=TEMPLATE, workerTemplate=template),
        "spec.leaderWorkerTemplate.workerTemplate",
    ),
    (
        lambda template: ray_cluster(group(replicas=1, numOfHosts=2, template=template)),
        "spec.workerGroupSpecs[0].template",
    ),
    (ray_job, "spec.rayClusterSpec.workerGroupSpecs[0].template"),
    (
        lambda template: torch_job({"Master": {"template": TEMPLATE}, "Worker": {"replicas": 2, "template": template}}),
        "spec.pytorchReplicaSpecs.Worker.template",
    ),
    (mpi_job, "spec.mpiReplicaSpecs.Worker.template"),
]


@pytest.mark.parametrize(("make", "path"), OWNERS)
@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        (BOTH, ": Invalid value: must not contain more than one topology annotation: ["),
        ({"slice_size": "2"}, f"[{PREFIX}podset-slice-size]: Forbidden: may not be set when "),
        (SIZED, f'[{PREFIX}podset-slice-size]: Invalid value: "4": must not be greater than pod set count 2'),
        ({"unconstrained_topology": "yes"}, '-topology]: Invalid value: "yes": must be a boolean value'),
        ({"required_topology": RACK, "group_name": "g"}, "can only define groups of exactly 2 pod sets, got: 1"),
    ],
)
def test_annotations_of_every_kind_of_job_are_refused_where_they_contradict(
    make: Callable[[dict[str, Any]], dict[str, Any]], path: str, annotations: dict[str, str], said: str
) -> None:
    data = make(annotated(**annotations))
    verdict = review(data)
    assert verdict.refusal.startswith(f"{path}.metadata.annotations")
    assert said in verdict.refusal
    assert [one.path for one in verdict.findings] == [f"{path}.metadata.annotations"] * len(verdict.findings)
    assert refusal_of(data) == verdict.refusal


@pytest.mark.parametrize(("make", "path"), OWNERS)
def test_a_level_of_no_topology_is_told(make: Callable[[dict[str, Any]], dict[str, Any]], path: str) -> None:
    data = make(annotated(required_topology="example.com/row"))
    (told,) = review(data, known=Known(levels=[RACK, HOST])).warnings
    assert (told.code, told.subject) == ("unknown-level", f"{path}.metadata.annotations")
    assert "has the level example.com/row" in told.message
    assert not review(data).warnings
    assert not review(make(annotated(required_topology=RACK)), known=Known(levels=[RACK, HOST])).warnings


def test_an_object_that_is_refused_does_not_count() -> None:
    cluster = ClusterObjects()
    for data in (
        kueue_object("ResourceFlavor", {"topologyName": "one"}),
        {**topology("a b"), "metadata": {"name": "two"}},
        topology(RACK, HOST),
    ):
        cluster.add(data)
    found = cluster.extras[KueueObjects]
    assert isinstance(found, KueueObjects)
    assert (found.flavors, found.topologies) == ((), {"one": (RACK, HOST)})
    assert sorted(cluster.refused) == ["ResourceFlavor one", "Topology two"]
