"""Objects that an embedded cluster refuses when they are submitted, and those that it warns of."""

from __future__ import annotations

from typing import Any

import pytest

from tests.control.manifests import cluster_with, job, phase_of, small_cluster, task
from workbench.control.cluster import EmbeddedCluster
from workbench.errors import InputError


def pod_group(queue: str) -> dict[str, Any]:
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    return {**kind, "metadata": {"name": "g"}, "spec": {"queue": queue}}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (job(queue="missing"), 'queue.scheduling.volcano.sh "missing" not found'),
        (pod_group("missing"), 'unable to find queue: queue.scheduling.volcano.sh "missing" not found'),
        (job(tasks=[task(), task()]), "duplicated"),
        (job(plugins={"nonsense": []}), "nonsense"),
        (job(plugins={"svc": ["--nonsense"]}), "spec.plugins.svc[0]"),
        (job(tasks=[task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]})]), "DAG"),
        (job("a" * 70), "must be no more than"),
        (job("Train"), "RFC 1123"),
    ],
)
def test_a_refused_object_is_told_and_nothing_of_the_submission_is_stored(bad: dict[str, Any], said: str) -> None:
    cluster = EmbeddedCluster()
    with pytest.raises(InputError) as caught:
        cluster.submit(*small_cluster(), job("good"), bad)
    assert said in str(caught.value) and str(caught.value).startswith("object 9: ")
    assert cluster.store.contents() == [] and cluster.warnings == ()


@pytest.mark.parametrize(
    ("kind", "version", "fields", "said"),
    [
        ("Deployment", "apps/v1", {"spec": {"replicas": "x"}}, "spec.replicas"),
        ("StatefulSet", "apps/v1", {"spec": {"replicas": "x"}}, "spec.replicas"),
        ("ReplicaSet", "apps/v1", {"spec": {"template": {"spec": {"containers": 5}}}}, "containers"),
        ("Command", "bus.volcano.sh/v1alpha1", {"target": "train"}, "target"),
        ("Service", "v1", {"spec": []}, "spec"),
        ("Node", "v1", {"status": {"allocatable": {"cpu": "many"}}}, "cpu"),
    ],
)
def test_a_field_of_the_wrong_type_is_refused_before_a_controller_reads_it(
    kind: str, version: str, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match="object 1: ") as caught:
        EmbeddedCluster().submit({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **fields})
    assert said in str(caught.value)


def test_owners_that_are_no_list_are_refused() -> None:
    with pytest.raises(InputError, match="ownerReferences"):
        EmbeddedCluster().submit(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "ownerReferences": 5}}
        )


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_an_owner_of_pods_may_lack_its_spec(kind: str) -> None:
    cluster = EmbeddedCluster()
    cluster.submit({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}})
    cluster.settle()
    assert cluster.store.list(kind)


def test_a_field_that_no_kind_has_is_a_warning() -> None:
    cluster = cluster_with(job(netwrokTopology={"mode": "hard"}))
    assert phase_of(cluster) == "Running"
    (warning,) = [notice for _, notice in cluster.warnings]
    assert "netwrokTopology" in warning.message


def test_a_generated_name_is_refused_by_the_name_of_its_field() -> None:
    nameless = job()
    nameless["metadata"] = {"generateName": "train-"}
    with pytest.raises(InputError, match=r"metadata.name: Required value; generateName is not supported"):
        cluster_with(nameless)
