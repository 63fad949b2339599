from __future__ import annotations

import dataclasses

import pytest

from workbench.policies.koordinator.device_share import choose_devices
from workbench.policies.koordinator.devices import (
    DeviceRefusal,
    DeviceRequest,
    DeviceScore,
    DeviceUse,
    GpuShare,
    Nic,
    NodeDevice,
    VfGroup,
)
from workbench.policies.koordinator.gpu_partitions import HOPPER_TABLE


def machine():
    """Eight GPUs, two per PCIe root; one NIC per root with two virtual functions."""
    gpus = [NodeDevice("gpu", i, i // 4, str(i // 2)) for i in range(8)]
    nics = [
        NodeDevice(
            "rdma", i, i // 2, str(i), labels={"net": "ib"}, vf_groups=(VfGroup({"type": "a"}, (f"{i}.2", f"{i}.1")),)
        )
        for i in range(4)
    ]
    return [*gpus, *nics]


BOTH = DeviceRequest(gpus=4, nic_quantity=1, nic_labels={"net": "ib"}, vf_types=("a",), joint=("gpu", "rdma"))


def gpus_of(found):
    return [share.minor for share in found.gpus]


def nics_of(found):
    return [nic.minor for nic in found.nics]


def test_a_nic_on_each_pcie_root_of_the_gpus_with_its_lowest_free_function():
    found = choose_devices(machine(), BOTH, DeviceUse((GpuShare(0, 100, 100),), (Nic(2, 1, ("2.1",)),)))
    assert gpus_of(found) == [4, 5, 6, 7]
    assert found.nics == (Nic(2, 1, ("2.2",)), Nic(3, 1, ("3.1",)))


def test_the_same_roots_can_be_demanded():
    use = DeviceUse(nics=(Nic(0, 100), Nic(1, 1, ("1.1", "1.2"))))
    preferred = choose_devices(machine(), BOTH, use)
    assert (gpus_of(preferred), nics_of(preferred)) == ([0, 1, 2, 3], [2, 3])
    demanded = choose_devices(machine(), dataclasses.replace(BOTH, same_pcie=True), use)
    assert demanded == DeviceRefusal("node(s) Device Joint-Allocate rules violation")
    none_left = DeviceUse(nics=tuple(Nic(i, 100) for i in range(3)))
    assert choose_devices(machine(), dataclasses.replace(BOTH, same_pcie=True), none_left) == DeviceRefusal(
        "Insufficient rdma devices"
    )


def test_without_a_joint_choice_one_nic_is_enough():
    assert nics_of(choose_devices(machine(), dataclasses.replace(BOTH, joint=()))) == [0]
    assert nics_of(choose_devices(machine(), dataclasses.replace(BOTH, gpus=0))) == [0]


def test_nics_are_told_apart_by_label_health_and_room():
    other = dataclasses.replace(BOTH, gpus=0, nic_labels={"net": "roce"})
    assert choose_devices(machine(), other) == DeviceRefusal("Insufficient rdma devices")
    sick = [dataclasses.replace(d, healthy=d.kind == "gpu" or d.minor > 1) for d in machine()]
    assert nics_of(choose_devices(sick, dataclasses.replace(BOTH, gpus=0))) == [2]
    whole = dataclasses.replace(BOTH, gpus=0, nic_quantity=100, vf_types=())
    assert choose_devices(machine(), whole, DeviceUse(nics=(Nic(0, 1),))).nics == (Nic(1, 100),)


def test_the_table_comes_first_and_is_all_there_is_where_it_is_honoured():
    three = DeviceRequest(gpus=3)
    assert gpus_of(choose_devices(machine(), three, table=HOPPER_TABLE)) == [0, 1, 2]
    refused = choose_devices(machine(), three, table=HOPPER_TABLE, honor=True)
    assert refused == DeviceRefusal("node(s) Unsupported number of GPU requests")
    assert choose_devices(machine(), three, honor=True).message == "node(s) missing GPU Partition Table"
    busy = DeviceUse((GpuShare(0, 1, 1), GpuShare(4, 1, 1)))
    four = DeviceRequest(gpus=4)
    assert choose_devices(machine(), four, busy, HOPPER_TABLE, True).message == "Insufficient Partitioned GPU Devices"
    assert choose_devices(machine(), four, busy, HOPPER_TABLE).gpus[0].minor == 1


def test_a_sick_gpu_is_given_to_nobody():
    sick = [dataclasses.replace(d, healthy=d.minor != 1) for d in machine()]
    assert gpus_of(choose_devices(sick, DeviceRequest(gpus=2))) == [2, 3]
    assert choose_devices(sick, DeviceRequest(gpus=8)).message == "Insufficient GPU Devices"
    assert choose_devices(sick, DeviceRequest(gpus=8, scope="Node")).message.startswith("Insufficient Topology Scoped")


HALF = DeviceRequest(gpus=1, core=50, memory_ratio=50, shared=True)
MOST = DeviceScore("MostAllocated", {"koordinator.sh/gpu-memory-ratio": 1})
LEAST = DeviceScore("LeastAllocated", {"koordinator.sh/gpu-memory-ratio": 1})


@pytest.mark.parametrize(("score", "want"), [(MOST, 3), (LEAST, 2), (None, 2)])
def test_a_shared_gpu_goes_where_the_score_says(score, want):
    use = DeviceUse((GpuShare(3, 30, 30),))
    assert gpus_of(choose_devices(machine(), HALF, use, score=score)) == [want]


def test_parts_of_several_gpus_are_taken_outside_every_scope():
    several = dataclasses.replace(HALF, gpus=2)
    use = DeviceUse((GpuShare(5, 30, 30), GpuShare(6, 60, 60)))
    assert gpus_of(choose_devices(machine(), several, use, score=MOST)) == [0, 5]
    assert gpus_of(choose_devices(machine(), several, use)) == [0, 1]
    assert choose_devices(machine(), dataclasses.replace(several, scope="Node")).message.endswith("Multi-Shared GPU")
