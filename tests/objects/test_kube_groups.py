"""PodGroup, CompositePodGroup and Workload of scheduling.k8s.io in manifests."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import InputError
from workbench.jobs.gangs import read_workload
from workbench.model.kube_group import KubeGroup, KubeParent
from workbench.objects.kinds import ClusterObjects


def manifest(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def pod(name: str, group: str) -> dict[str, Any]:
    container = {"name": "main", "image": "example.invalid/train:1", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingGroup": {"podGroupName": group}, "containers": [container]},
    }


def objects(*manifests: dict[str, Any]) -> ClusterObjects:
    cluster = ClusterObjects()
    for each in manifests:
        cluster.add(each)
    return cluster


def gang(minimum: int, key: str = "minCount") -> dict[str, Any]:
    return {"gang": {key: minimum}}


def test_pods_of_a_group_are_one_gang():
    group = manifest(
        "PodGroup",
        "train",
        schedulingPolicy=gang(2),
        schedulingConstraints={"topology": [{"key": "rack"}]},
        priority=7,
        disruptionMode="all",
    )
    (made,) = read_workload(objects(group, *(pod(f"train-{i}", "train") for i in range(3)))).gangs
    assert (made.key, made.min_available, made.n_pods, made.priority) == ("default/train", 2, 3, 7)
    assert made.extra(KubeGroup) == KubeGroup(given=True, topology_key="rack", priority=7, falls_whole=True)
    assert made.notes == ()


def test_a_basic_group_needs_one_pod():
    group = manifest("PodGroup", "train", schedulingPolicy={"basic": {}})
    (made,) = read_workload(objects(group, pod("train-0", "train"))).gangs
    assert made.min_available == 1
    assert made.extra(KubeGroup).basic


def test_a_gang_knows_the_composites_above_it():
    manifests = [
        manifest("CompositePodGroup", "root", schedulingPolicy=gang(2, "minGroupCount")),
        manifest(
            "CompositePodGroup",
            "half",
            schedulingPolicy={"basic": {}},
            schedulingConstraints={"topology": [{"key": "zone"}]},
            parentCompositePodGroupName="root",
        ),
        manifest("PodGroup", "train", schedulingPolicy=gang(1), parentCompositePodGroupName="half"),
        pod("train-0", "train"),
    ]
    (made,) = read_workload(objects(*manifests)).gangs
    assert made.extra(KubeGroup).parents == (KubeParent("half", None, "zone", parent="root"), KubeParent("root", 2))


def test_fields_that_a_group_does_not_have_are_told():
    policy, topology = {"gang": {"minCount": 2, "minMember": 3}}, [{"key": "zone", "level": 2}]
    group = manifest(
        "PodGroup", "train", schedulingPolicy=policy, schedulingConstraints={"topology": topology}, priorityClass="high"
    )
    (made,) = read_workload(objects(group, pod("train-0", "train"))).gangs
    assert [(note.code, note.message) for note in made.notes] == [
        ("unknown-field", "spec.schedulingPolicy.gang.minMember is unknown and not read"),
        ("unknown-field", "spec.schedulingConstraints.topology[0].level is unknown and not read"),
        ("unknown-field", "spec.priorityClass is unknown and not read (did you mean priorityClassName?)"),
    ]


def test_composites_in_a_circle_are_told_once_each():
    def composite(name, parent):
        policy = gang(1, "minGroupCount")
        return manifest("CompositePodGroup", name, schedulingPolicy=policy, parentCompositePodGroupName=parent)

    group = manifest("PodGroup", "train", schedulingPolicy=gang(1), parentCompositePodGroupName="a")
    (made,) = read_workload(objects(composite("a", "b"), composite("b", "a"), group, pod("train-0", "train"))).gangs
    assert [each.name for each in made.extra(KubeGroup).parents] == ["a", "b"]


def test_a_volcano_group_of_the_same_name_is_kept():
    ours = manifest("PodGroup", "train", schedulingPolicy=gang(2))
    volcano = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"minMember": 1},
    }
    for order in ((ours, volcano), (volcano, ours)):
        cluster = objects(*order)
        assert cluster.pod_groups["default/train"].kube is None
        assert cluster.ignored == {"PodGroup of Kubernetes beside Volcano's": 1}


def test_a_workload_is_checked_and_makes_no_gang():
    templates = [{"name": "workers", "schedulingPolicy": gang(2)}]
    assert read_workload(objects(manifest("Workload", "train", podGroupTemplates=templates))).gangs == ()


@pytest.mark.parametrize(
    ("kind", "spec", "where"),
    [
        ("PodGroup", {}, "spec.schedulingPolicy"),
        ("PodGroup", {"schedulingPolicy": {"basic": {}, "gang": {"minCount": 1}}}, "spec.schedulingPolicy"),
        ("PodGroup", {"schedulingPolicy": {"gang": {"minCount": 0}}}, "spec.schedulingPolicy.gang.minCount"),
        ("PodGroup", {"schedulingPolicy": {"gang": {}}}, "spec.schedulingPolicy.gang.minCount"),
        (
            "PodGroup",
            {
                "schedulingPolicy": {"basic": {}},
                "schedulingConstraints": {"topology": [{"key": "rack"}, {"key": "zone"}]},
            },
            "spec.schedulingConstraints.topology",
        ),
        (
            "PodGroup",
            {"schedulingPolicy": {"basic": {}}, "schedulingConstraints": {"topology": [{}]}},
            "spec.schedulingConstraints.topology[0].key",
        ),
        ("PodGroup", {"schedulingPolicy": {"basic": {}}, "disruptionMode": "some"}, "spec.disruptionMode"),
        ("PodGroup", {"schedulingPolicy": {"basic": {}}, "preemptionPolicy": "Maybe"}, "spec.preemptionPolicy"),
        ("CompositePodGroup", {"schedulingPolicy": {"gang": {"minCount": 2}}}, "spec.schedulingPolicy"),
        ("Workload", {}, "spec"),
        ("Workload", {"podGroupTemplates": [{"name": "a"}], "compositePodGroupTemplates": [{"name": "b"}]}, "spec"),
        ("Workload", {"podGroupTemplates": [{"name": f"t{i}"} for i in range(9)]}, "spec.podGroupTemplates"),
        ("Workload", {"podGroupTemplates": [{}]}, "spec.podGroupTemplates[0].name"),
    ],
)
def test_a_bad_field_is_one_error_that_names_it(kind: str, spec: dict[str, Any], where: str):
    with pytest.raises(InputError, match="expected") as error:
        objects(manifest(kind, "train", **spec))
    assert where in str(error.value)
