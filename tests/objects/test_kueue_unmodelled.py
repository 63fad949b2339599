"""Fair sharing and other wishes that are not modelled: a notice wherever they are written, and none elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench
from tests.objects.admission.test_kueue import kueue_object
from workbench.errors import InputError
from workbench.policies.registry import get_policy

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"allocatable": {"cpu": "4", "pods": "9"}},
}
CONFIGURATION = "config.kueue.x-k8s.io/v1beta2"


def told(*objects: dict[str, Any]) -> list[str]:
    """What is told of what is not modelled, with the answers to a job, too."""
    items = [NODE, *objects]
    scenario = workbench.load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    notices = [notice.message for notice in scenario.snapshot.gaps if notice.code == "not-modelled"]
    assert [notice.message for notice in scenario.notes if notice.code == "not-modelled"] == notices
    return notices


def configuration(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": CONFIGURATION, "kind": "Configuration", **fields}


def config_map(text: str, key: str = "controller_manager_config.yaml") -> dict[str, Any]:
    metadata = {"name": "kueue-manager-config", "namespace": "kueue-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: text}}


@pytest.mark.parametrize(
    ("data", "begins"),
    [
        (
            kueue_object("ClusterQueue", {"fairSharing": {"weight": "2"}}),
            "ClusterQueue one: spec.fairSharing: fair sharing is",
        ),
        (
            kueue_object("ClusterQueue", {"fairSharing": {"weight": 0}}),
            "ClusterQueue one: spec.fairSharing: fair sharing is",
        ),
        (
            kueue_object("Cohort", {"fairSharing": {"weight": 1}}),
            "Cohort one: spec.fairSharing: fair sharing is not modelled",
        ),
        (
            kueue_object("LocalQueue", {"clusterQueue": "q", "fairSharing": {"weight": 1}}),
            "LocalQueue default/one: spec.fairSharing: admission fair sharing is not modelled",
        ),
        (
            kueue_object("ClusterQueue", {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}),
            "ClusterQueue one: spec.admissionScope: admission fair sharing is not modelled",
        ),
        (
            configuration(fairSharing={"preemptionStrategies": ["LessThanInitialShare"]}),
            "Configuration kueue: fairSharing: fair sharing is not modelled",
        ),
        (configuration(fairSharing={"enable": True}), "Configuration kueue: fairSharing: fair sharing is not modelled"),
        (
            configuration(admissionFairSharing={"usageHalfLifeTime": "10m"}),
            "Configuration kueue: admissionFairSharing: admission fair sharing is not modelled",
        ),
        (
            config_map(f"apiVersion: {CONFIGURATION}\nkind: Configuration\nfairSharing:\n  preemptionStrategies: []\n"),
            "Configuration kueue-system/kueue-manager-config: fairSharing: fair sharing is not modelled",
        ),
        (
            configuration(featureGates={"TASBalancedPlacement": True}),
            "Configuration kueue: featureGates: feature gates are",
        ),
        (
            configuration(resources={"transformations": [{"input": "nvidia.com/gpu"}]}),
            "Configuration kueue: resources.transformations: resource transformations are not modelled",
        ),
        (
            configuration(resources={"excludeResourcePrefixes": ["networking.example.com/"]}),
            "Configuration kueue: resources.excludeResourcePrefixes: excluded resources are not modelled",
        ),
        (
            kueue_object("LocalQueue", {"clusterQueue": "q", "stopPolicy": "Hold"}),
            "LocalQueue default/one: spec.stopPolicy: a stopped LocalQueue is not modelled",
        ),
        (
            kueue_object(
                "ClusterQueue", {"concurrentAdmissionPolicy": {"migration": {"mode": "RetainFirstAdmission"}}}
            ),
            "ClusterQueue one: spec.concurrentAdmissionPolicy: concurrent admission is not modelled",
        ),
    ],
)
def test_it_is_told_wherever_it_is_written(data: dict[str, Any], begins: str) -> None:
    (message,) = told(data)
    assert message.startswith(begins)


@pytest.mark.parametrize(
    "data",
    [
        kueue_object("ClusterQueue", {"admissionScope": {"admissionMode": "NoAdmissionFairSharing"}}),
        kueue_object("ClusterQueue", {}),
        kueue_object("LocalQueue", {"clusterQueue": "q", "stopPolicy": "None"}),
        configuration(fairSharing={"enable": False}),
        configuration(manageJobsWithoutQueueName=True),
        config_map("fairSharing: {}\n"),
        config_map("- fairSharing\n"),
        config_map(f"apiVersion: {CONFIGURATION}\nfairSharing: {{enable: true}}\n", "other.yaml"),
        {**configuration(fairSharing={"enable": True}), "apiVersion": "example.com/v1"},
        {**kueue_object("ClusterQueue", {"fairSharing": {"weight": 2}}), "apiVersion": "example.com/v1"},
    ],
)
def test_nothing_is_told_of_what_nobody_asks_for(data: dict[str, Any]) -> None:
    assert told(data) == []


def test_equal_wishes_of_many_queues_are_told_once() -> None:
    queues = [kueue_object("ClusterQueue", {"fairSharing": {"weight": i}}) for i in range(3)]
    for i, queue in enumerate(queues):
        queue["metadata"] = {"name": f"q{i}"}
    (message,) = told(*queues)
    assert message.startswith("ClusterQueue q0 and 2 more: spec.fairSharing:")


def test_a_configuration_that_is_no_yaml_is_an_error_that_names_the_key() -> None:
    with pytest.raises(InputError, match="stdin"):
        told(config_map("fairSharing: [\n"))


def test_the_answer_is_that_without_fair_sharing() -> None:
    def answer(**more: Any) -> list[str]:
        resources = [{"name": "cpu", "nominalQuota": "1"}]
        group = {"coveredResources": ["cpu"], "flavors": [{"name": "one", "resources": resources}]}
        template = {"spec": {"containers": [{"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "1"}}}]}}
        pods = {"name": "main", "count": 1, "template": template}
        objects = [
            NODE,
            kueue_object("ResourceFlavor", {}),
            kueue_object("ClusterQueue", {"resourceGroups": [group], **more}),
            kueue_object("LocalQueue", {"clusterQueue": "one"}),
            kueue_object("Workload", {"queueName": "one", "podSets": [pods]}),
        ]
        scenario = workbench.load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        decisions = get_policy("kueue-0.19").schedule(scenario.gangs, scenario.snapshot)
        return [str(decision.result.node) for decision in decisions]  # type: ignore[union-attr]

    assert answer(fairSharing={"weight": "3"}) == answer()
