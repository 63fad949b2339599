from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.errors import InputError
from workbench.objects.device_info import DeviceInfo, FaultyNpus, faulty_npus, npu_names
from workbench.objects.kinds import ClusterObjects

UNHEALTHY, NETWORK = "huawei.com/Ascend910-Unhealthy", "huawei.com/Ascend910-NetworkUnhealthy"


def config_map(text: Any, name: str = "mindx-dl-deviceinfo-n0") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"DeviceInfoCfg": text}}


def payload(**listed: str) -> str:
    return json.dumps({"DeviceInfo": {"DeviceList": listed, "UpdateTime": 1}, "SuperPodID": -2, "CheckCode": "0"})


def test_the_config_map_of_a_node_lists_its_faulty_npus() -> None:
    cluster = ClusterObjects()
    listed = {
        "huawei.com/Ascend910": "Ascend910-0,Ascend910-1",
        "huawei.com/Ascend910-Fault": '[{"npu_name": "Ascend910-4"}]',
        "huawei.com/Ascend910-Recovering": "Ascend910-2",
        UNHEALTHY: "Ascend910-4, Ascend910-5",
        NETWORK: "",
    }
    cluster.add(config_map(payload(**listed)))
    assert cluster.device_infos == {"n0": DeviceInfo("n0", {UNHEALTHY: ("Ascend910-4", "Ascend910-5"), NETWORK: ()})}
    assert not cluster.ignored


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", "data.DeviceInfoCfg"),
        ("{", "data.DeviceInfoCfg: not JSON"),
        ("[]", "data.DeviceInfoCfg: not the NPUs of a node .*a list of 0"),
        ('{"DeviceInfo": []}', "data.DeviceInfoCfg"),
        ('{"DeviceInfo": {"DeviceList": []}}', "data.DeviceInfoCfg.DeviceInfo.DeviceList"),
        ('{"DeviceInfo": {"DeviceList": {"a": 1}}}', r"DeviceList\['a'\]"),
        ("[" * 100_000, "data.DeviceInfoCfg: not JSON"),
    ],
)
def test_a_damaged_config_map_is_refused_in_one_line(text: str, want: str) -> None:
    with pytest.raises(InputError, match=want) as caught:
        ClusterObjects().add(config_map(text))
    assert "\n" not in str(caught.value)


def test_a_config_map_without_a_node_in_its_name_is_refused() -> None:
    with pytest.raises(InputError, match=r"metadata\.name"):
        ClusterObjects().add(config_map(payload(), "mindx-dl-deviceinfo-"))


def test_two_config_maps_of_one_node_are_refused() -> None:
    cluster = ClusterObjects()
    cluster.add(config_map(payload()))
    with pytest.raises(InputError, match="the same ConfigMap twice"):
        cluster.add(config_map(payload()))


@pytest.mark.parametrize(
    ("annotated", "reported", "want_unhealthy", "want_network", "want_unknown"),
    [
        ({}, {}, set(), set(), 0),
        ({UNHEALTHY: "Ascend910-4,5"}, {}, {4, 5}, set(), 0),
        # A key of the ConfigMap counts, also where it is empty; the others stay.
        ({UNHEALTHY: "Ascend910-4", NETWORK: "Ascend910-1"}, {UNHEALTHY: ""}, set(), {1}, 0),
        ({UNHEALTHY: "Ascend910-4", NETWORK: "Ascend910-4,Ascend910-6"}, {}, {4}, {6}, 0),
        # Beyond the last NPU, a virtual NPU, no number.
        ({UNHEALTHY: "Ascend910-8,Ascend910-2c-100-1,Ascend910-x,Ascend910-7"}, {}, {7}, set(), 3),
        ({"huawei.com/npu-Unhealthy": "npu-0"}, {}, {0}, set(), 0),
    ],
)
def test_which_npus_are_faulty(
    annotated: dict[str, str],
    reported: dict[str, str],
    want_unhealthy: set[int],
    want_network: set[int],
    want_unknown: int,
) -> None:
    found = faulty_npus(npu_names(annotated), npu_names(reported), 8)
    assert found == FaultyNpus(frozenset(want_unhealthy), frozenset(want_network), want_unknown)
