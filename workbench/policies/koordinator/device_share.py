"""Koordinator's deviceshare plugin on one node: chooses GPUs by partition table, scope or score, and NICs.

Source: Koordinator, deviceshare device allocator; docs/reference/gpu-topology.md, part (b). Templates of shared
resources (Huawei NPUs), NUMA hints, reservations and preemption are not modelled.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from workbench.kernels.bottleneck import indices_of
from workbench.policies.koordinator.device_scopes import SCOPE_LEVEL, choose_in_scope, scope_tree
from workbench.policies.koordinator.devices import (
    WHOLE,
    DeviceChoice,
    DeviceRefusal,
    DeviceRequest,
    DeviceScore,
    DeviceUse,
    GpuShare,
    Nic,
    NodeDevice,
)
from workbench.policies.koordinator.gpu_partitions import PartitionTable, choose_partition

__all__ = ["choose_devices"]

CORE, MEMORY_RATIO = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio"


def choose_devices(
    devices: Sequence[NodeDevice],
    request: DeviceRequest,
    use: DeviceUse = DeviceUse(),  # noqa: B008 - frozen
    table: PartitionTable | None = None,
    honor: bool = False,
    score: DeviceScore | None = None,
) -> DeviceChoice | DeviceRefusal:
    """Choose the GPUs and NICs of one node for one pod.

    Parameters
    ----------
    devices : sequence of NodeDevice
        The node's GPUs and NICs.
    request : DeviceRequest
        What the pod asks for.
    use : DeviceUse
        The parts of the devices that other pods hold.
    table : PartitionTable, optional
        Partition table of the Device object, or else of the GPU model; None: there is none.
    honor : bool
        Whether the node gives out whole GPUs only as partitions of the table; if not, partitions are tried first.
    score : DeviceScore, optional
        Rule for comparing parts of GPUs, and devices outside every scope; None: they are taken by minor number.

    Returns
    -------
    DeviceChoice or DeviceRefusal
    """
    gpus: tuple[GpuShare, ...] = ()
    nics: tuple[Nic, ...] = ()
    if request.gpus:
        chosen = _choose_gpus(devices, request, use, table, honor, score)
        if isinstance(chosen, DeviceRefusal):
            return chosen
        gpus = chosen
    joint = bool(request.joint and request.gpus and request.nic_quantity)
    if request.nic_quantity:
        # The first kind is chosen first and draws the second; GPUs let nothing draw them.
        drawn = joint and request.joint[0] == "gpu"
        roots = _roots(devices, "gpu", {gpu.minor for gpu in gpus}) if drawn else frozenset()
        beside = _choose_nics(devices, request, use, roots)
        if isinstance(beside, DeviceRefusal):
            return beside
        nics = beside
    if joint and request.same_pcie:
        roots = _roots(devices, "gpu", {gpu.minor for gpu in gpus})
        if _roots(devices, "rdma", {nic.minor for nic in nics}) != roots:
            return DeviceRefusal("node(s) Device Joint-Allocate rules violation")
    return DeviceChoice(tuple(sorted(gpus, key=lambda gpu: gpu.minor)), tuple(sorted(nics, key=lambda nic: nic.minor)))


def _roots(devices: Sequence[NodeDevice], kind: str, minors: Collection[int]) -> frozenset[str]:
    return frozenset(device.pcie for device in devices if device.kind == kind and device.minor in minors)


def _choose_gpus(
    devices: Sequence[NodeDevice],
    request: DeviceRequest,
    use: DeviceUse,
    table: PartitionTable | None,
    honor: bool,
    score: DeviceScore | None,
) -> tuple[GpuShare, ...] | DeviceRefusal:
    gpus = [device for device in devices if device.kind == "gpu"]
    healthy = {gpu.minor for gpu in gpus if gpu.healthy}
    used = sum(1 << minor for minor in {share.minor for share in use.gpus})
    free = {gpu.minor: {CORE: WHOLE, MEMORY_RATIO: WHOLE} for gpu in gpus}
    for share in use.gpus:
        free[share.minor][CORE] -= share.core
        free[share.minor][MEMORY_RATIO] -= share.memory_ratio
    wanted = {CORE: request.core, MEMORY_RATIO: request.memory_ratio}

    def fits(minor: int) -> bool:
        return minor in healthy and all(free[minor][name] >= amount for name, amount in wanted.items())

    def shares(minors: Sequence[int]) -> tuple[GpuShare, ...]:
        return tuple(GpuShare(minor, request.core, request.memory_ratio) for minor in minors)

    if not request.shared:
        present = sum(1 << minor for minor in healthy)
        bandwidth = request.ring_bandwidth_gb_s
        chosen = choose_partition(table or {}, request.gpus, used, present, bandwidth, request.restricted)
        if chosen is not None:
            return shares(indices_of(chosen))
        if honor:
            return DeviceRefusal(_no_partition(table, request.gpus))
    if request.shared and request.gpus > 1:
        if request.scope:
            return DeviceRefusal("node(s) Unsupported Multi-Shared GPU")
        whole = {CORE: WHOLE, MEMORY_RATIO: WHOLE}
        order = sorted(filter(fits, healthy), key=lambda minor: (-_score(score, wanted, whole, free[minor]), minor))
        if len(order) < request.gpus:
            return DeviceRefusal("Insufficient gpu devices")
        return shares(order[: request.gpus])

    def in_use(minor: int) -> int:
        # Upstream hands what is free and the whole over in each other's place: a GPU in use counts as full.
        return _score(score, wanted, free[minor], {CORE: WHOLE, MEMORY_RATIO: WHOLE})

    found = choose_in_scope(
        scope_tree(gpus), request.gpus, fits, used, SCOPE_LEVEL[request.scope], in_use if request.shared else None
    )
    if found is not None:
        return shares(found)
    return DeviceRefusal("Insufficient Topology Scoped GPU Devices" if request.scope else "Insufficient GPU Devices")


def _no_partition(table: PartitionTable | None, count: int) -> str:
    if table is None:
        return "node(s) missing GPU Partition Table"
    return "Insufficient Partitioned GPU Devices" if count in table else "node(s) Unsupported number of GPU requests"


def _score(
    score: DeviceScore | None, wanted: Mapping[str, int], total: Mapping[str, int], free: Mapping[str, int]
) -> int:
    """Score of a device, a whole number from 0 to 100; 0 without the rule ``score``.

    ``wanted``, ``total`` and ``free`` are amounts by resource; only resources that the rule weighs and the device has
    count.
    """
    weighed = {name: weight for name, weight in score.weights.items() if total.get(name)} if score else {}
    if score is None or not sum(weighed.values()):
        return 0
    sum_ = 0
    for name, weight in weighed.items():
        requested = total[name]
        if total[name] >= free[name]:
            requested = total[name] - free[name] + wanted.get(name, 0)
        part = min(requested, total[name]) * 100 // total[name]
        if score.strategy == "LeastAllocated":
            part = 0 if requested > total[name] else (total[name] - requested) * 100 // total[name]
        sum_ += weight * part
    return sum_ // sum(weighed.values())


def _choose_nics(
    devices: Sequence[NodeDevice], request: DeviceRequest, use: DeviceUse, preferred: Collection[str]
) -> tuple[Nic, ...] | DeviceRefusal:
    """Choose a NIC for each preferred PCIe root, at least one.

    NICs on preferred roots come first, one of each root in turn, then the others by number.
    """
    most = max(1, len(preferred))
    least = most if request.same_pcie else 1
    chosen: list[Nic] = []
    for nic in _in_turns(devices, preferred):
        wrong = any(nic.labels.get(key) != value for key, value in request.nic_labels.items())
        taken = sum(other.quantity for other in use.nics if other.minor == nic.minor)
        if wrong or not nic.healthy or WHOLE - taken < request.nic_quantity:
            continue
        vfs: tuple[str, ...] = ()
        if request.vf_types:
            held = {bus for other in use.nics if other.minor == nic.minor for bus in other.vfs}
            open_ = [
                bus
                for group in nic.vf_groups
                if group.labels.get("type") in request.vf_types
                for bus in group.bus_ids
                if bus not in held
            ]
            if not open_:
                continue
            vfs = (min(open_),)
        chosen.append(Nic(nic.minor, request.nic_quantity, vfs))
        if len(chosen) == most:
            break
    return tuple(chosen) if len(chosen) >= least else DeviceRefusal("Insufficient rdma devices")


def _in_turns(devices: Sequence[NodeDevice], preferred: Collection[str]) -> list[NodeDevice]:
    """NICs in the order of choice: the first of each preferred PCIe root, then the second, then other roots.

    Within a root by number.
    """
    turn: dict[str, int] = {}
    order = []
    for nic in sorted((device for device in devices if device.kind == "rdma"), key=lambda nic: nic.minor):
        number = turn[nic.pcie] = turn.get(nic.pcie, 0) + 1
        order.append((nic.pcie not in preferred, number if nic.pcie in preferred else 0, nic.minor, nic))
    return [nic for *_, nic in sorted(order, key=lambda entry: entry[:3])]
