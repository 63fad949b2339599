from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import InputError
from workbench.model.labels import NODE_NAME_FIELD, NodeFilter, Requirement, Toleration
from workbench.objects.pod import PodSpec, read_pod, read_pod_spec

GI = 1 << 30


def container(
    requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests, "limits": limits}, **more}


def spec(*containers: dict[str, Any], **more: Any) -> PodSpec:
    return read_pod_spec({"containers": list(containers), **more}, "spec")


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(spec(container({"cpu": 1}), container({"cpu": "500m"})), {"cpu": 1500}, id="containers add up"),
        pytest.param(
            spec(container({"cpu": 1}, {"cpu": 2, "memory": "1Gi"})), {"cpu": 1000, "memory": GI}, id="limits fill in"
        ),
        pytest.param(
            spec(container({"cpu": 1}), initContainers=[container({"cpu": 3}), container({"memory": "1Gi"})]),
            {"cpu": 3000, "memory": GI},
            id="an init container may need more",
        ),
        pytest.param(
            spec(
                container({"cpu": 1}),
                initContainers=[
                    container({"cpu": 2}, restartPolicy="Always"),
                    container({"cpu": 4}),
                ],
            ),
            {"cpu": 6000},
            id="a side-car runs beside later init containers",
        ),
        pytest.param(
            spec(container({"cpu": 1}), initContainers=[container({"cpu": 2}, restartPolicy="Always")]),
            {"cpu": 3000},
            id="a side-car runs beside the containers",
        ),
        pytest.param(spec(container({"cpu": 1}), overhead={"cpu": "250m"}), {"cpu": 1250}, id="overhead"),
        pytest.param(spec(container()), {}, id="best effort"),
    ],
)
def test_requests_of_a_pod(pod: PodSpec, want: dict[str, int]) -> None:
    assert pod.requests == want


def test_gpus_of_each_container() -> None:
    pod = spec(
        container(limits={"nvidia.com/gpu": 2}), container({"cpu": 1}), container(limits={"nvidia.com/gpu": "1"})
    )
    assert pod.container_gpus == (2, 0, 1)
    assert pod.requests["nvidia.com/gpu"] == 3


def test_selector_affinity_and_tolerations_become_one_filter() -> None:
    terms = [
        {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["3"]}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
        {},
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod = spec(
        nodeSelector={"b": "2", "a": "1"},
        affinity={"nodeAffinity": required},
        tolerations=[{"operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoSchedule"}],
    )
    assert pod.filter == NodeFilter(
        required=(Requirement("a", "In", ("1",)), Requirement("b", "In", ("2",))),
        any_of=((Requirement("gen", "Gt", ("3",)),), (Requirement(NODE_NAME_FIELD, "In", ("n1",)),), ()),
        tolerations=(Toleration("", "Exists"), Toleration("k", "Equal", "v", "NoSchedule")),
    )
    assert pod.not_read == ()


def test_what_is_not_modelled_is_named() -> None:
    pod = spec(
        container(ports=[{"containerPort": 1, "hostPort": 80}]),
        affinity={"podAntiAffinity": {"required": []}},
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone"}],
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}],
    )
    assert pod.not_read == (
        "affinity.podAntiAffinity",
        "topologySpreadConstraints",
        "hostPort",
        "persistentVolumeClaim",
    )


@pytest.mark.parametrize(
    ("broken", "where"),
    [
        ({"containers": {}}, "spec.containers"),
        ({"containers": [{"resources": []}]}, "spec.containers[0].resources"),
        (
            {"containers": [{"resources": {"requests": {"cpu": "many"}}}]},
            "spec.containers[0].resources.requests['cpu']",
        ),
        ({"nodeSelector": {"a": 1}}, "spec.nodeSelector['a']"),
        ({"tolerations": [{"key": 1}]}, "spec.tolerations[0].key"),
        ({"priority": "high"}, "spec.priority"),
        ({"nodeName": 5}, "spec.nodeName"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(broken: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as caught:
        read_pod({"metadata": {"name": "p"}, "spec": broken})
    assert caught.value.where == where
    assert caught.value.got and caught.value.expected


def test_an_operator_that_node_affinity_lacks_is_bad_input() -> None:
    term = {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    with pytest.raises(InputError, match=r"nodeSelectorTerms\[0\].matchExpressions\[0\].operator"):
        spec(affinity=affinity)


@pytest.mark.parametrize(
    ("phase", "node", "holds"),
    [
        ("Running", "n", True),
        ("Pending", "n", True),
        ("Pending", "", False),
        ("Succeeded", "n", False),
        ("Failed", "n", False),
    ],
)
def test_which_pods_hold_resources(phase: str, node: str, holds: bool) -> None:
    pod = read_pod({"metadata": {"name": "p"}, "spec": {"nodeName": node}, "status": {"phase": phase}})
    assert pod.holds_resources is holds
