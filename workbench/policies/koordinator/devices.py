"""Devices of one node as Koordinator's deviceshare plugin sees them: GPUs and NICs, their use, and a pod's request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "DeviceChoice",
    "DeviceRefusal",
    "DeviceRequest",
    "DeviceScore",
    "DeviceUse",
    "GpuShare",
    "Nic",
    "NodeDevice",
    "VfGroup",
]

#: Percent of a whole device.
WHOLE = 100


@dataclass(frozen=True)
class VfGroup:
    """Virtual functions of a NIC that carry the same `labels`; `bus_ids` names the functions."""

    labels: Mapping[str, str]
    bus_ids: tuple[str, ...]


@dataclass(frozen=True)
class NodeDevice:
    """A GPU or an RDMA NIC of one node.

    Attributes
    ----------
    kind : {"gpu", "rdma"}
    minor : int
        Minor number of the device on its node.
    numa_node : int
        NUMA node of the device.
    pcie : str
        PCIe root.
    healthy : bool
        Whether the device may be given to pods.
    labels : mapping of str to str
        Labels of the device, which requests can select.
    vf_groups : tuple of VfGroup
        Virtual functions of a NIC.
    """

    kind: Literal["gpu", "rdma"]
    minor: int
    numa_node: int
    pcie: str
    healthy: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    vf_groups: tuple[VfGroup, ...] = ()


@dataclass(frozen=True)
class GpuShare:
    """A pod's share of one GPU: the GPU's minor number, and percent of its cores (`core`) and of its memory."""

    minor: int
    core: int
    memory_ratio: int


@dataclass(frozen=True)
class Nic:
    """A pod's share of one NIC: minor number, percent (`quantity`), and bus ids of the pod's virtual functions."""

    minor: int
    quantity: int
    vfs: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeviceUse:
    """The shares of GPUs and NICs of a node that running pods hold."""

    gpus: tuple[GpuShare, ...] = ()
    nics: tuple[Nic, ...] = ()


@dataclass(frozen=True)
class DeviceScore:
    """Rule by which Koordinator compares devices: the least or the most allocated one, over weighted resources."""

    strategy: Literal["LeastAllocated", "MostAllocated"]
    weights: Mapping[str, int]


@dataclass(frozen=True)
class DeviceRequest:
    """Devices that a pod asks for.

    Attributes
    ----------
    gpus : int
        Number of GPUs; 0: none.
    core, memory_ratio : int
        Percent of each GPU.
    shared : bool
        Whether the pod asks for a part of a GPU.
    nic_quantity : int
        Percent of each NIC; 0: no NIC.
    nic_labels : mapping of str to str
        Labels that a NIC must have.
    vf_types : tuple of str
        Allowed values of the label ``type`` of a virtual function; empty: no virtual function is wanted.
    joint : tuple of str
        Kinds of devices that are chosen jointly, in this order; empty: each kind by itself.
    same_pcie : bool
        Whether the NICs must be on exactly the PCIe roots of the GPUs; if not, these roots are only preferred.
    scope : {"", "Node", "NUMANode", "PCIe", "Device"}
        Scope inside which all GPUs must be; empty: anywhere on the node.
    ring_bandwidth_gb_s : float, optional
        Least ring bus bandwidth of a partition.
    restricted : bool
        Whether only partitions of the first allocation score may be taken.
    """

    gpus: int = 0
    core: int = WHOLE
    memory_ratio: int = WHOLE
    shared: bool = False
    nic_quantity: int = 0
    nic_labels: Mapping[str, str] = field(default_factory=dict)
    vf_types: tuple[str, ...] = ()
    joint: tuple[str, ...] = ()
    same_pcie: bool = False
    scope: str = ""
    ring_bandwidth_gb_s: float | None = None
    restricted: bool = False


@dataclass(frozen=True)
class DeviceChoice:
    """Devices that a pod gets, in the order of the minor numbers."""

    gpus: tuple[GpuShare, ...] = ()
    nics: tuple[Nic, ...] = ()


@dataclass(frozen=True)
class DeviceRefusal:
    """Why the node cannot serve the pod, in Koordinator's words."""

    message: str
