"""Amounts of resources that Kubernetes' validation of containers refuses."""

from __future__ import annotations

import pytest

from workbench.objects.admission.pod_resources import container_resource_findings


@pytest.mark.parametrize("amount", ["2.5", "7500m", 0.5, "2.0001"])
@pytest.mark.parametrize("name", ["nvidia.com/gpu", "huawei.com/Ascend910", "rdma/hca"])
def test_a_part_of_a_device_is_refused(amount: str | float, name: str) -> None:
    container = {"resources": {"limits": {name: amount}}}
    (found,) = container_resource_findings(container, "spec.containers[0]")
    assert found.path == f"spec.containers[0].resources.limits[{name}]"
    assert found.text.endswith(f'Invalid value: "{amount}": must be an integer')


@pytest.mark.parametrize(
    ("name", "amount"), [("nvidia.com/gpu", "2"), ("nvidia.com/gpu", "2000m"), ("cpu", "2.5"), ("memory", "1.5Gi")]
)
def test_whole_devices_and_parts_of_other_resources_are_accepted(name: str, amount: str) -> None:
    assert container_resource_findings({"resources": {"limits": {name: amount}}}, "spec.containers[0]") == []
