"""Koordinator's deviceshare plugin on one node: chooses GPUs by partition table, scope or score, and NICs.

The product has no devices of this kind: its snapshots hold no NICs, PCIe roots or shares of GPU cores by node, so that
no policy can ask. The rows of `koordinator_deviceshare` run against these rules.

Source: Koordinator, deviceshare device allocator; docs/reference/gpu-topology.md, part (b). Templates of shared
resources (Huawei NPUs), NUMA hints, reservations and preemption are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from workbench.kernels.gpu_sets import indices_of
from workbench.policies.koordinator.partition_policy import HOPPER_TABLE, choose_partition

#: Models that have the built-in partition table (label node.koordinator.sh/gpu-model).
HOPPER_MODELS = frozenset({"H100", "H800", "H20"})

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


@dataclass(frozen=True)
class DeviceChoice:
    """Devices that a pod gets, in the order of the minor numbers."""

    gpus: tuple[GpuShare, ...] = ()
    nics: tuple[Nic, ...] = ()


@dataclass(frozen=True)
class DeviceRefusal:
    """Why the node cannot serve the pod, in Koordinator's words."""

    message: str


#: Narrower scopes have higher levels.
SCOPE_LEVEL: Mapping[str, int] = {"": 0, "Node": 1, "NUMANode": 2, "PCIe": 3, "Device": 4}


@dataclass(frozen=True)
class Scope:
    """A part of a machine (node, NUMA node or PCIe root): its level, minor numbers of its GPUs, and its own parts."""

    level: int
    minors: tuple[int, ...]
    parts: tuple[Scope, ...] = ()


@dataclass(frozen=True)
class _GpuSet:
    depth: int
    in_use: int
    score: int
    minors: tuple[int, ...]


def scope_tree(gpus: Sequence[NodeDevice]) -> Scope:
    """Tree of a machine's scopes: the node, below it its NUMA nodes by number, below them their PCIe roots by name."""

    def minors(some: Sequence[NodeDevice]) -> tuple[int, ...]:
        return tuple(sorted(gpu.minor for gpu in some))

    numa = []
    for number in sorted({gpu.numa_node for gpu in gpus}):
        here = [gpu for gpu in gpus if gpu.numa_node == number]
        roots = sorted({gpu.pcie for gpu in here})
        parts = tuple(Scope(SCOPE_LEVEL["PCIe"], minors([g for g in here if g.pcie == root])) for root in roots)
        numa.append(Scope(SCOPE_LEVEL["NUMANode"], minors(here), parts))
    return Scope(SCOPE_LEVEL["Node"], minors(gpus), tuple(numa))


def choose_in_scope(
    tree: Scope,
    count: int,
    fits: Callable[[int], bool],
    used: int,
    required_level: int = 0,
    score: Callable[[int], int] | None = None,
) -> tuple[int, ...] | None:
    """Choose ``count`` GPUs with room inside the best scope (part of the machine): the deepest one that has enough.

    Parameters
    ----------
    tree : Scope
        The scopes of the machine, as `scope_tree` makes them.
    count : int
        GPUs wanted.
    fits : callable
        Whether a GPU has room for the request.
    used : int
        Mask of the GPUs that pods use wholly or in part.
    required_level : int
        Smallest level of a scope that may be chosen; a wider scope has a smaller level.
    score : callable, optional
        Given for a request of a part of one GPU: score of a GPU by its minor number. The GPU with the highest score is
        chosen; ties: the lowest number.

    Returns
    -------
    tuple of int or None
        Minor numbers of the chosen GPUs, ascending; None if no allowed scope has enough GPUs with room.

    Notes
    -----
    The deepest scope wins; of equal ones that with more scopes in use on the way to it (bin packing), then the higher
    score, then the first by NUMA node and PCIe root. Bandwidth of pairs is never looked at.
    """
    found = _descend(tree, count, fits, used, required_level, score, 0, 0)
    return None if found is None else found.minors


def _descend(
    scope: Scope,
    count: int,
    fits: Callable[[int], bool],
    used: int,
    required_level: int,
    score: Callable[[int], int] | None,
    depth: int,
    in_use: int,
) -> _GpuSet | None:
    if len(scope.minors) < count:
        return None
    depth += 1
    in_use += any(used >> minor & 1 for minor in scope.minors)
    best: _GpuSet | None = None
    for part in scope.parts:
        found = _descend(part, count, fits, used, required_level, score, depth, in_use)
        if found is not None and (best is None or _rank(found) > _rank(best)):
            best = found
    if best is not None or required_level > scope.level:
        return best
    minors = [minor for minor in scope.minors if fits(minor)]
    if score is None:
        return _GpuSet(depth, in_use, -1, tuple(minors[:count])) if len(minors) >= count else None
    if not minors:
        return None
    chosen = max(minors, key=score)
    return _GpuSet(depth, in_use, score(chosen), (chosen,))


def _rank(found: _GpuSet) -> tuple[int, int, int]:
    return (found.depth, found.in_use, found.score)


CORE, MEMORY_RATIO = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio"


def choose_devices(
    devices: Sequence[NodeDevice],
    request: DeviceRequest,
    use: DeviceUse = DeviceUse(),
    partitioned: bool = False,
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
    partitioned : bool
        Whether the GPU model has the built-in partition table.
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
        chosen = _choose_gpus(devices, request, use, partitioned, honor, score)
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
    partitioned: bool,
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
        chosen = choose_partition(request.gpus, used, present) if partitioned else None
        if chosen is not None:
            return shares(indices_of(chosen))
        if honor:
            return DeviceRefusal(_no_partition(partitioned, request.gpus))
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


def _no_partition(partitioned: bool, count: int) -> str:
    if not partitioned:
        return "node(s) missing GPU Partition Table"
    return (
        "Insufficient Partitioned GPU Devices"
        if count in HOPPER_TABLE
        else "node(s) Unsupported number of GPU requests"
    )


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
