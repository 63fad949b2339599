"""Rows of `cases/kueue-tas` about annotations and Kueue's own objects: requests, validation, admission, encoding."""

from __future__ import annotations

from typing import Any

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners import kueue_values as read
from workbench.errors import InputError
from workbench.model.kueue import TopologyRequest
from workbench.objects.admission import review
from workbench.objects.admission.kueue import kueue_change_findings
from workbench.objects.admission.kueue_annotations import AnnotatedPods, annotation_faults
from workbench.objects.kueue.annotations import topology_request
from workbench.objects.kueue.assignment import read_assignment

LAYERS = "TASMultiLayerTopology"

#: Gates that the rows name; the elastic one goes with the key `elastic`.
GATES = {LAYERS, "ElasticJobsViaWorkloadSlices"}

LABELS = ("pod_index_label", "sub_group_label", "sub_group_count")


def register(runners: Runners) -> None:
    """Register the operations of the files."""
    op = runners.op
    op("validate", "validate", given=("gates", "elastic", "pod_sets"), want=("error_count", "errors"))(validate)
    request = ("gates", "annotations", *LABELS)
    op("topology-request", "topology-request", given=request, want=("request", "error_contains"))(requested)
    answer = ("allowed", "error_contains")
    op("admit", "admit-topology", given=("levels", "old_levels"), want=answer)(admit_topology)
    flavor = ("topology", "node_labels", "old_topology")
    op("admit", "admit-flavor", given=flavor, want=answer)(admit_flavor)
    op("assignments", "decode-assignment", given=("encoded",), want=("assignment",))(decoded)


def _layers(gates: dict[str, bool]) -> bool:
    if gates.keys() - GATES:
        raise NotUnderstood(f"feature gates {', '.join(gates.keys() - GATES)}")
    return gates.get(LAYERS, True)


def validate(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Errors in the annotations of the pod sets of one job, in order; null: only their number is pinned."""
    pods = [AnnotatedPods(each["name"], each["annotations"], each["count"]) for each in given["pod_sets"]]
    found = annotation_faults(pods, elastic=given["elastic"], layers_allowed=_layers(given["gates"]))
    assert len(found) == want["error_count"], found
    for fault, error in zip(found, want["errors"] or (), strict=bool(want["errors"])):
        assert (fault.pods, fault.kind, fault.annotation) == (error["pod_set"], error["kind"], error["field"])
        assert error["text"] in fault.fault.text


def requested(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The topology request of a pod template, or the error; null: no request."""
    try:
        found = topology_request(
            given["annotations"],
            index_label=given["pod_index_label"],
            sub_group_label=given["sub_group_label"],
            sub_group_count=given["sub_group_count"],
            layers_allowed=_layers(given["gates"]),
        )
    except InputError as error:
        assert want["error_contains"] and want["error_contains"] in str(error)
        assert want["request"] is None
        return
    assert not want["error_contains"]
    assert (None if found is None else _written(found)) == want["request"]


def _written(found: TopologyRequest) -> dict[str, Any]:
    return {
        "required": found.required,
        "preferred": found.preferred,
        "unconstrained": found.unconstrained,
        "slices": [{"level": layer.level, "size": layer.size} for layer in found.slices],
        "pod_index_label": found.pod_index_label,
        "sub_group_label": found.sub_group_label,
        "sub_group_count": found.sub_group_count,
        "group": found.group,
    }


def _object(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "default"}, "spec": spec}


def _topology(levels: list[str]) -> dict[str, Any]:
    return _object("Topology", {"levels": [{"nodeLabel": level} for level in levels]})


def admit_topology(given: dict[str, Any], want: dict[str, Any]) -> None:
    """A new Topology, or its change."""
    old = given["old_levels"]
    _judge(_topology(given["levels"]), None if old is None else _topology(old), want)


def admit_flavor(given: dict[str, Any], want: dict[str, Any]) -> None:
    """A new ResourceFlavor, or its change."""

    def flavor(topology: str | None) -> dict[str, Any]:
        return _object("ResourceFlavor", {"topologyName": topology, "nodeLabels": given["node_labels"]})

    old = given["old_topology"]
    _judge(flavor(given["topology"]), None if old is None else flavor(old), want)


def _judge(data: dict[str, Any], before: dict[str, Any] | None, want: dict[str, Any]) -> None:
    if before is None:
        said = review(data).refusal
    else:
        said = "; ".join(one.text for one in kueue_change_findings(before, data))
    assert (not said) is want["allowed"]
    assert all(text in said for text in want["error_contains"])


def decoded(given: dict[str, Any], want: dict[str, Any]) -> None:
    """A topologyAssignment of v1beta2."""
    assert read.written(read_assignment(given["encoded"], "topologyAssignment")) == want["assignment"]
