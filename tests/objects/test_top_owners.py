"""The readers of JobSet, LeaderWorkerSet, Ray's and Kubeflow's kinds and the Job of Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notices import codes
from workbench.errors import InputError
from workbench.objects.batch_job import read_batch_job
from workbench.objects.job_set import read_job_set
from workbench.objects.kinds import ClusterObjects
from workbench.objects.kubeflow_job import read_kubeflow_job
from workbench.objects.leader_worker_set import read_leader_worker_set
from workbench.objects.ray_cluster import read_ray_cluster, read_ray_job

TEMPLATE = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}


def manifest(version: str, kind: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x", **metadata}, "spec": spec}


def job(template: dict[str, Any] = TEMPLATE, **spec: Any) -> dict[str, Any]:
    return manifest("batch/v1", "Job", {"template": template, **spec})


def entry(name: str = "w", replicas: int = 1, **spec: Any) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, "template": {"spec": {"template": TEMPLATE, **spec}}}


def job_set(*entries: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return manifest("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": list(entries), **spec})


def leader_worker_set(**group: Any) -> dict[str, Any]:
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": TEMPLATE, **group}}
    return manifest("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)


def group(name: str = "g", **more: Any) -> dict[str, Any]:
    return {"groupName": name, "template": TEMPLATE, **more}


def ray_cluster(*groups: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    inner = {"headGroupSpec": {"template": TEMPLATE}, "workerGroupSpecs": list(groups), **spec}
    return manifest("ray.io/v1", "RayCluster", inner, labels=labels or {})


def torch_job(replicas: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return manifest("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": replicas, **spec})


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        ({}, 1),
        ({"parallelism": 4}, 4),
        ({"parallelism": 4, "completions": 2}, 2),
        ({"parallelism": 2, "completions": 9}, 2),
        ({"completions": 9}, 1),
        ({"parallelism": 0, "completions": 9}, 0),
        ({"parallelism": 3, "completions": 3, "completionMode": "Indexed"}, 3),
    ],
)
def test_a_job_runs_parallelism_pods_but_no_more_than_completions(spec: dict[str, Any], pods: int) -> None:
    assert read_batch_job(job(**spec)).spec.pods == pods


@pytest.mark.parametrize(
    ("condition", "finished"), [("Complete", True), ("Failed", True), ("Suspended", False), ("FailureTarget", True)]
)
def test_a_job_is_finished_by_its_conditions(condition: str, finished: bool) -> None:
    status = {"conditions": [{"type": condition, "status": "True"}]}
    assert read_batch_job({**job(), "status": status}).finished is finished


def test_an_object_without_a_name_stands_by_the_beginning_of_it() -> None:
    data = job()
    data["metadata"] = {"generateName": "train-"}
    read = read_batch_job(data)
    assert (read.metadata.name, codes(read.notes)) == ("train", ("generated-name",))


def test_a_sketch_without_a_template_says_that_nothing_is_requested() -> None:
    data = manifest("batch/v1", "Job", {"parallelism": 3, "completions": 3})
    (note,) = read_batch_job(data).notes
    assert (note.code, note.subject) == ("no-containers", "spec.template.spec.containers")


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no name": (read_batch_job, {**job(), "metadata": {}}, r"metadata\.name: the field is missing"),
    "negative": (read_batch_job, job(parallelism=-1), r"spec\.parallelism: .*found a number -1, expected 0 or more"),
    "indexed without completions": (
        read_batch_job,
        job(parallelism=2, completionMode="Indexed"),
        r"spec\.completions: an Indexed Job needs",
    ),
    "unknown mode": (read_batch_job, job(completionMode="indexed"), r"spec\.completionMode: .*Indexed or NonIndexed"),
    "a template that is a list": (read_batch_job, job(template=[]), r"spec\.template: .*expected a mapping"),  # type: ignore[arg-type]
    "no entries": (read_job_set, job_set(), r"spec\.replicatedJobs: .*at least one entry"),
    "an entry twice": (read_job_set, job_set(entry(), entry()), r"spec\.replicatedJobs\[1\]\.name: two entries"),
    "an entry without a name": (read_job_set, job_set(entry("")), r"spec\.replicatedJobs\[0\]\.name: .*a name"),
    "too many pods": (
        read_job_set,
        job_set(entry(replicas=10_000, parallelism=1_000)),
        r"spec\.replicatedJobs: .*at most 1000000 pods in all",
    ),
    "size 0": (
        read_leader_worker_set,
        leader_worker_set(size=0),
        r"spec\.leaderWorkerTemplate\.size: .*expected 1 or more",
    ),
    "a wrong leader": (
        read_leader_worker_set,
        leader_worker_set(leaderTemplate={"spec": {"containers": {}}}),
        r"spec\.leaderWorkerTemplate\.leaderTemplate\.spec\.containers: .*expected a list",
    ),
    "fewer than at least": (
        read_ray_cluster,
        ray_cluster(group(minReplicas=3, maxReplicas=2)),
        r"spec\.workerGroupSpecs\[0\]\.maxReplicas: .*at least the minReplicas 3",
    ),
    "a group twice": (
        read_ray_cluster,
        ray_cluster(group(), group()),
        r"spec\.workerGroupSpecs\[1\]\.groupName: two groups",
    ),
    "a group called head": (read_ray_cluster, ray_cluster(group("head")), r"groupName: the name of the head's group"),
    "a tier that is no number": (
        read_ray_cluster,
        ray_cluster(
            labels={
                "volcano.sh/network-topology-mode": "hard",
                "volcano.sh/network-topology-highest-tier-allowed": "two",
            }
        ),
        r"metadata\.labels\['volcano\.sh/network-topology-highest-tier-allowed'\]: .*whole number",
    ),
    "a RayJob without a cluster": (
        read_ray_job,
        manifest("ray.io/v1", "RayJob", {"entrypoint": "python x.py"}),
        r"spec\.rayClusterSpec: the field is missing",
    ),
    "no replicas": (read_kubeflow_job, torch_job({}), r"spec\.pytorchReplicaSpecs: .*at least one type"),
    "types that differ in capitals": (
        read_kubeflow_job,
        torch_job({"Worker": {"template": TEMPLATE}, "worker": {"template": TEMPLATE}}),
        r"spec\.pytorchReplicaSpecs\.worker: two types",
    ),
    "a placeholder": (
        read_kubeflow_job,
        torch_job({"Worker": {"replicas": "$NUM_NODES", "template": TEMPLATE}}),
        r"spec\.pytorchReplicaSpecs\.Worker\.replicas: a placeholder that nobody has filled in .*\$NUM_NODES",
    ),
    "a placeholder in braces": (
        read_batch_job,
        job(parallelism="${NODES}"),
        r"spec\.parallelism: a placeholder that nobody has filled in",
    ),
    "a negative minimum": (
        read_kubeflow_job,
        torch_job(
            {"Worker": {"template": TEMPLATE}}, runPolicy={"schedulingPolicy": {"minAvailable": -1}}
        ),
        r"spec\.runPolicy\.schedulingPolicy\.minAvailable: .*0 or more",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_bad_input_is_one_error_with_the_field(case: str) -> None:
    read, data, want = REFUSED[case]
    with pytest.raises(InputError, match=want) as caught:
        read(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "replicas", "least"),
    [
        ({"replicas": 3}, 3, 0),
        ({"minReplicas": 2}, 2, 2),
        ({"replicas": 1, "minReplicas": 2, "maxReplicas": 4}, 2, 2),
        ({"replicas": 9, "minReplicas": 2, "maxReplicas": 4}, 4, 2),
        ({"replicas": 9, "minReplicas": 2, "suspend": True}, 0, 0),
        ({}, 0, 0),
    ],
)
def test_replicas_of_a_ray_group_stay_between_its_limits(fields: dict[str, Any], replicas: int, least: int) -> None:
    (found,) = read_ray_cluster(ray_cluster(group(**fields))).groups
    assert (found.replicas, found.min_replicas) == (replicas, least)


def test_a_job_on_a_cluster_that_exists_makes_no_pods() -> None:
    spec = {"clusterSelector": {"ray.io/cluster": "shared"}}
    read = read_ray_job(manifest("ray.io/v1", "RayJob", spec))
    assert (read.finished, read.notes) == (True, ())


def test_leading_replicas_of_kubeflow_come_first() -> None:
    types = ("Worker", "Evaluator", "PS", "Chief")
    spec = {"tfReplicaSpecs": {one: {"template": TEMPLATE} for one in types}}
    read = read_kubeflow_job(manifest("kubeflow.org/v1", "TFJob", spec))
    assert [one.type for one in read.replicas] == ["chief", "ps", "worker", "evaluator"]


def test_an_object_of_each_kind_is_kept_under_its_kind_and_name() -> None:
    cluster = ClusterObjects()
    objects = [job(), job_set(entry()), leader_worker_set(), ray_cluster(), torch_job({"Worker": {}})]
    for data in objects:
        cluster.add(data)
    kinds = ["BatchJob", "JobSet", "LeaderWorkerSet", "RayCluster", "PyTorchJob"]
    assert list(cluster.top_owners) == [f"{kind} default/x" for kind in kinds]
    with pytest.raises(InputError, match="the same JobSet twice"):
        cluster.add(job_set(entry()))
    assert not cluster.ignored
