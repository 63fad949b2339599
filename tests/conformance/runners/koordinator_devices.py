"""Runner of Koordinator's choice of devices: `koordinator_deviceshare`, with the tables of `koordinator_devices`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.conformance.registry import Runners
from tests.reference.koordinator_devices import (
    HOPPER_MODELS,
    DeviceRefusal,
    DeviceRequest,
    DeviceScore,
    DeviceUse,
    GpuShare,
    Nic,
    NodeDevice,
    VfGroup,
    choose_devices,
)
from workbench.kernels.gpu_sets import indices_of
from workbench.policies.koordinator.partition_policy import HOPPER_TABLE

__all__ = ["register"]

FILE = "koordinator_deviceshare"

TABLES = Path(__file__).parents[1] / "cases" / "gpu" / "koordinator_devices.json"


def register(runners: Runners) -> None:
    """Add the operation of `koordinator_deviceshare`."""
    runners.op(
        FILE,
        "allocate",
        given=(
            *("device", "model", "partition_policy", "gpu_request", "rdma_request", "rdma_wanted", "rdma_selector"),
            *("vf_types", "joint", "required_scope", "rdma_exclusive", "score", "assigned"),
        ),
        want=("gpu", "rdma", "error"),
    )(_allocate)


@cache
def tables() -> dict[str, Any]:
    """The look-up file that the rows name."""
    found: dict[str, Any] = json.loads(TABLES.read_text("utf-8"))
    built_in = {str(size): [list(indices_of(mask)) for mask in parts] for size, parts in HOPPER_TABLE.items()}
    assert built_in == found["hopper_partitions"]
    return found


def _allocate(given: dict[str, Any], want: dict[str, Any]) -> None:
    gpus, joint = given["gpu_request"], given["joint"]
    count = gpus["count"]
    # Upstream reads the exclusive policy of NICs and drops it: it changes nothing.
    assert given["rdma_exclusive"] in (None, "PCIeLevel")
    assert joint is None or joint.keys() <= {"device_types", "required_scope"}
    request = DeviceRequest(
        gpus=count,
        core=gpus["core"] // max(count, 1),
        memory_ratio=gpus["memory_ratio"] // max(count, 1),
        shared=gpus["shared"],
        nic_quantity=given["rdma_request"] or 0,
        nic_labels=given["rdma_selector"] or {},
        vf_types=tuple(given["vf_types"] or ()),
        joint=tuple(joint["device_types"]) if joint else (),
        same_pcie=bool(joint) and joint["required_scope"] == "SamePCIe",
        scope=given["required_scope"] or "",
    )
    score = given["score"]
    found = choose_devices(
        [_device(entry) for entry in tables()["devices"][given["device"]]],
        request,
        _use(given["assigned"]),
        given["model"] in HOPPER_MODELS,
        given["partition_policy"] == "Honor",
        DeviceScore(score["type"], score["resources"]) if score else None,
    )
    assert isinstance(found, DeviceRefusal) == want["error"], found
    if isinstance(found, DeviceRefusal):
        assert (want["gpu"], want["rdma"]) == (None, None)
        return
    expected = _use(want)
    assert found.gpus == expected.gpus
    assert found.nics == expected.nics
    if given["rdma_wanted"] is not None and request.nic_quantity:
        assert len(found.nics) == given["rdma_wanted"]


def _device(entry: dict[str, Any]) -> NodeDevice:
    groups = tuple(VfGroup(group["labels"], tuple(group["bus"])) for group in entry["vf_groups"])
    assert all(amount == "100" for name, amount in entry["resources"].items() if not name.endswith("gpu-memory"))
    place = (entry["node"], entry["pcie"], entry["health"])
    return NodeDevice(entry["type"], entry["minor"], *place, entry["labels"], groups)


def _use(entry: dict[str, Any]) -> DeviceUse:
    return DeviceUse(
        tuple(GpuShare(gpu["minor"], gpu["core"], gpu["memory_ratio"]) for gpu in entry["gpu"]),
        tuple(Nic(nic["minor"], nic["quantity"], tuple(nic["vf"])) for nic in entry["rdma"]),
    )
