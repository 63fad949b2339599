"""What admission says of Kueue's objects and of Kueue's annotations on pods."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.objects.admission import notes_of, refusal_of, review
from workbench.objects.admission.kueue import kueue_change_findings
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


def test_a_refused_pod_is_not_placed() -> None:
    cluster = ClusterObjects()
    cluster.add(pod(slice_size="4"))
    assert list(cluster.refused) == ["Pod default/p"]


def test_a_template_whose_pods_will_be_refused_warns() -> None:
    made = pod(slice_required_topology=RACK, slice_size="3")
    del made["metadata"]["name"]
    template = {"metadata": made["metadata"], "spec": {**made["spec"], "schedulerName": "volcano"}}
    data = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    (warning,) = review({**data, "spec": {"replicas": 2, "template": template}}).warnings
    assert warning.code == "pods-refused-by-admission"
    assert "must not be greater than pod set count 2" in warning.message


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
