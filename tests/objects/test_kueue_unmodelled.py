"""Fair sharing and other wishes that are not modelled: a notice wherever they are written, and none elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench
from tests.objects.admission.test_kueue import kueue_object
from workbench.errors import InputError
from workbench.formats.snapshot_record import snapshot_text
from workbench.model.kueue_request import KueueObjects
from workbench.objects.admission import refusal_of
from workbench.policies.registry import get_policy

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"allocatable": {"cpu": "4", "pods": "9"}},
}
CONFIGURATION = "config.kueue.x-k8s.io/v1beta2"


def answers(*objects: dict[str, Any]) -> list[str]:
    """Warnings of the answer to a workload of ClusterQueue `one`."""
    template = {"spec": {"containers": [{"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "1"}}}]}}
    pods = {"name": "main", "count": 1, "template": template}
    mine = [
        kueue_object("LocalQueue", {"clusterQueue": "one"}),
        kueue_object("Workload", {"queueName": "one", "podSets": [pods]}),
    ]
    items = [NODE, *mine, *objects]
    scenario = workbench.load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (decision,) = get_policy("kueue-0.19").schedule(scenario.gangs, scenario.snapshot)
    return [notice.message for notice in decision.result.warnings if notice.code == "weight-without-effect"]


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
            kueue_object("LocalQueue", {"clusterQueue": "q", "fairSharing": {"weight": 1}}),
            "LocalQueue default/one: spec.fairSharing: admission fair sharing is not modelled",
        ),
        (
            kueue_object("ClusterQueue", {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}),
            "ClusterQueue one: spec.admissionScope: admission fair sharing is not modelled",
        ),
        (
            configuration(admissionFairSharing={"usageHalfLifeTime": "10m"}),
            "Configuration kueue: admissionFairSharing: admission fair sharing is not modelled",
        ),
        (
            config_map(
                f"apiVersion: {CONFIGURATION}\nkind: Configuration\nadmissionFairSharing: {{usageHalfLifeTime: 1m}}\n"
            ),
            "Configuration kueue-system/kueue-manager-config: data[controller_manager_config.yaml], admissionFair",
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
            kueue_object("ClusterQueue", {"concurrentAdmissionPolicy": {"migration": {"mode": "RetainFirst"}}}),
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
        configuration(fairSharing={}),
        configuration(manageJobsWithoutQueueName=True),
        config_map("fairSharing: {}\n"),
        config_map("- fairSharing\n"),
        config_map(f"apiVersion: {CONFIGURATION}\nfeatureGates: {{A: true}}\n", "other.yaml"),
        {**configuration(featureGates={"A": True}), "apiVersion": "example.com/v1"},
        {**kueue_object("LocalQueue", {"fairSharing": {"weight": 2}}), "apiVersion": "example.com/v1"},
    ],
)
def test_nothing_is_told_of_what_nobody_asks_for(data: dict[str, Any]) -> None:
    assert told(data) == []


def test_equal_wishes_of_many_queues_are_told_once() -> None:
    queues = [kueue_object("LocalQueue", {"clusterQueue": "q", "fairSharing": {"weight": i}}) for i in range(3)]
    for i, queue in enumerate(queues):
        queue["metadata"] = {"name": f"q{i}", "namespace": "default"}
    (message,) = told(*queues)
    assert message.startswith("LocalQueue default/q0 and 2 more: spec.fairSharing:")


def test_a_configuration_that_is_no_yaml_is_an_error_that_names_the_file() -> None:
    with pytest.raises(InputError, match="stdin"):
        told(config_map("fairSharing: [\n"))


FAIR = {"fairSharing": {"weight": "500m"}}


@pytest.mark.parametrize(
    ("objects", "begins"),
    [
        ([kueue_object("ClusterQueue", FAIR)], "ClusterQueue one: the weight has no effect"),
        ([kueue_object("ClusterQueue", {}), kueue_object("Cohort", FAIR)], "Cohort one: the weight has no effect"),
        ([kueue_object("ClusterQueue", FAIR), kueue_object("Cohort", FAIR)], "ClusterQueue one and 1 more: the weight"),
        ([kueue_object("ClusterQueue", FAIR), configuration()], "ClusterQueue one: the weight has no effect"),
        (
            [kueue_object("ClusterQueue", FAIR), configuration(fairSharing={"enable": False})],
            "ClusterQueue one: the weight has no effect",
        ),
    ],
)
def test_a_weight_without_fair_sharing_is_told_with_the_answer(objects: list[dict[str, Any]], begins: str) -> None:
    (message,) = answers(*objects)
    assert message.startswith(begins)


OLD = {"apiVersion": "config.kueue.x-k8s.io/v1beta1", "kind": "Configuration"}


@pytest.mark.parametrize(
    ("given", "strategies"),
    [
        (configuration(fairSharing={}), ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]),
        (
            configuration(fairSharing={"preemptionStrategies": []}),
            ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
        ),
        (configuration(fairSharing={"preemptionStrategies": ["LessThanInitialShare"]}), ["LessThanInitialShare"]),
        (configuration(), []),
        ({**OLD, "fairSharing": {"enable": True}}, ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]),
        ({**OLD, "fairSharing": {}}, []),
        (
            config_map(f"apiVersion: {CONFIGURATION}\nkind: Configuration\nfairSharing: {{}}\n"),
            ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
        ),
    ],
)
def test_the_configuration_turns_fair_sharing_on(given: dict[str, Any], strategies: list[str]) -> None:
    items = [NODE, kueue_object("ClusterQueue", FAIR), given]
    scenario = workbench.load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    found = scenario.snapshot.extra(KueueObjects)
    assert list(found.fair_sharing) == strategies
    assert [queue.weight for queue in found.cluster_queues] == [0.5]
    read_again = workbench.load("-", stdin=snapshot_text(scenario.snapshot)).snapshot.extra(KueueObjects)
    assert read_again == found
    assert answers(kueue_object("ClusterQueue", FAIR), given) == [] or not strategies


def test_strategies_that_kueue_does_not_know_are_an_error() -> None:
    with pytest.raises(InputError, match=r"fairSharing\.preemptionStrategies"):
        told(
            configuration(fairSharing={"preemptionStrategies": ["LessThanInitialShare", "LessThanOrEqualToFinalShare"]})
        )


@pytest.mark.parametrize(("weight", "said"), [("-1", "must be greater than or equal to 0"), ("1n", "must be > 10e-9")])
def test_a_weight_that_kueue_refuses(weight: str, said: str) -> None:
    for kind in ("ClusterQueue", "Cohort"):
        assert said in refusal_of(kueue_object(kind, {"fairSharing": {"weight": weight}}))
    assert refusal_of(kueue_object("Cohort", {"fairSharing": {"weight": 0}})) == ""


def test_two_configurations_that_differ_are_an_error() -> None:
    """A copy of the ConfigMap, kept for later, must not add its strategies to those in force."""
    sharing = "{preemptionStrategies: [LessThanInitialShare]}"
    held = f"apiVersion: {CONFIGURATION}\nkind: Configuration\nfairSharing: {sharing}\n"
    given = configuration(fairSharing={})
    items = [NODE, kueue_object("ClusterQueue", FAIR), given]

    def load(*more: dict[str, Any]) -> workbench.Scenario:
        return workbench.load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, *more]}))

    with pytest.raises(InputError, match=r"two objects Configuration .*kueue and kueue-system/kueue-manager-config"):
        load(config_map(held))
    same = load(config_map(f"apiVersion: {CONFIGURATION}\nkind: Configuration\nfairSharing: {{}}\n"))
    assert same.snapshot.extra(KueueObjects).fair_sharing == load().snapshot.extra(KueueObjects).fair_sharing
