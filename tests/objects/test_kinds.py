from __future__ import annotations

import pytest

from workbench.errors import CapacityError, InputError
from workbench.objects import kinds
from workbench.objects.deployment import read_deployment
from workbench.objects.kinds import ClusterObjects, kind_label, meant_kind


def test_objects_go_to_their_kind_and_the_rest_is_counted() -> None:
    cluster = ClusterObjects()
    metadata = {"name": "x", "namespace": "a"}
    cluster.add({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    cluster.add({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata})
    cluster.add({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata})
    cluster.add({"apiVersion": "v1", "kind": "Service", "metadata": metadata})
    cluster.add({"apiVersion": "v1", "kind": "Service"})
    cluster.add({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"}, "value": 5})
    cluster.add(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "q"},
            "spec": {"weight": 4, "capability": {"cpu": 2}},
        }
    )
    assert list(cluster.nodes) == ["n"]
    assert list(cluster.jobs) == ["a/x"]
    assert list(cluster.top_owners) == ["BatchJob a/x"]
    assert cluster.ignored == {"Service": 2}
    assert cluster.priority_classes["p"].value == 5
    assert (cluster.queues["q"].weight, cluster.queues["q"].capability) == (4, {"cpu": 2000})


@pytest.mark.parametrize("data", [{}, {"kind": "Node"}, {"apiVersion": "v1"}, {"apiVersion": 1, "kind": "Node"}])
def test_an_object_without_kind_or_version_is_bad_input(data: dict[str, object]) -> None:
    with pytest.raises(InputError, match="apiVersion and kind"):
        ClusterObjects().add(data)


def test_the_same_object_twice_is_bad_input() -> None:
    cluster = ClusterObjects()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    cluster.add(node)
    with pytest.raises(InputError, match="the same Node twice"):
        cluster.add(node)


def test_an_object_given_twice_names_the_place_of_the_first() -> None:
    cluster = ClusterObjects()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    cluster.add(node, "a.yaml: document 2 (line 7)")
    with pytest.raises(InputError, match=r"the same Node twice, first in a\.yaml: document 2 \(line 7\) \(found n,"):
        cluster.add(node, "b.yaml: document 1")


def test_more_objects_of_a_kind_than_any_cluster_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "MOST_OBJECTS", 2)
    cluster = ClusterObjects()
    for kind in ("Node", "Pod"):
        for name in "ab":
            cluster.add({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}})
    with pytest.raises(CapacityError, match="more than 2 objects of the kind Pod"):
        cluster.add({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c"}})
    assert len(cluster.pods) == 2


@pytest.mark.parametrize(("text", "want"), [("2", 2), ("-1", 1), ("1.5", 1), ("99999999999", 1), ("0", 0), (None, 1)])
def test_minimum_of_a_deployment(text: str | None, want: int) -> None:
    annotations = {} if text is None else {"scheduling.volcano.sh/group-min-member": text}
    metadata = {"name": "d", "annotations": annotations}
    assert read_deployment({"metadata": metadata, "spec": {}}).min_member == want


def test_more_replicas_than_anybody_means_are_bad_input() -> None:
    with pytest.raises(InputError, match=r"spec.replicas.*1000000"):
        read_deployment({"metadata": {"name": "d"}, "spec": {"replicas": 2_000_000_000}})


MEANT = {
    "one letter too many": ("v1", "Jobb", "Jobb", "Job"),
    "another case": ("v1", "hypernode", "hypernode", "HyperNode"),
    "a letter missing in the API group": (
        "batch.volcno.sh/v1alpha1",
        "Job",
        "Job (batch.volcno.sh/v1alpha1)",
        "Job of batch.volcano.sh",
    ),
    "the Job of Kubernetes is itself": ("batch/v1", "Job", "Job (batch/v1)", ""),
    "another kind is itself": ("jobset.x-k8s.io/v1", "JobSet", "JobSet", ""),
    "a cron job is itself": ("batch/v1", "CronJob", "CronJob", ""),
    "a known kind has its name alone": ("batch.volcano.sh/v1alpha1", "Job", "Job", ""),
    "a core kind with a version that does not exist": ("v7", "Pod", "Pod", ""),
}


@pytest.mark.parametrize("case", MEANT, ids=str)
def test_a_misspelt_kind_or_group_is_told_apart_from_other_kinds(case: str) -> None:
    version, kind, want_label, want_meant = MEANT[case]
    label = kind_label(version, kind)
    assert (label, meant_kind(label)) == (want_label, want_meant)
