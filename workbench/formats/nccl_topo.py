"""Reader of NCCL's topology XML, which describes the GPUs, NICs and PCI switches inside one machine.

Computes the bandwidths that follow from it. As a network topology, the file is a single node with a bandwidth matrix
(`NCCL_TOPO`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, make_node
from workbench.formats.xml_input import parse_xml
from workbench.model.bandwidth import MAX_GPUS, BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.machine_parts import MachineParts
from workbench.model.notice import Notice
from workbench.model.number_text import whole_number

__all__ = ["NCCL_TOPO", "Machine", "PciDevice", "is_nccl_topo", "read_nccl_topo"]

_START = re.compile(r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<system\b", re.DOTALL)
_DEEPEST = 64

# NCCL's figures (src/graph/topo.h and xml.cc), in GB/s per direction; PCI in GB/s per lane.
_PCI_LANE = {"2.5": 0.1875, "5": 0.375, "8": 0.75, "16": 1.5, "32": 3.0, "64": 6.0}
_PCI_UNKNOWN = 0.75
_NVLINK_GB_S = ((100, 40.1), (90, 20.6), (86, 12.0), (80, 20.0), (70, 20.0), (60, 18.0))
# RCCL's (the same file of its own): GB/s of an XGMI link by the GPU's ``gcn``; others are Vega.
_XGMI_GB_S = {"910": 36.0, "gfx90a": 36.0, "gfx940": 48.0, "gfx941": 48.0, "gfx942": 48.0, "gfx950": 48.0}
_XGMI_ELSE = 24.0
_BETWEEN_CPUS = {"AuthenticAMD": 16.0, "GenuineIntel": 10.0, "IBM": 32.0}
_BETWEEN_CPUS_ELSE = 6.0

_NVSWITCH = "0x0680"
_KINDS = {"0x03": "gpu", "0x02": "nic"}
_BRIDGE = "0x0604"


@dataclass(frozen=True)
class PciDevice:
    """A GPU, NIC or PCI switch in NCCL's topology XML.

    Attributes
    ----------
    bus_id : str
        ``0001:00:00.0``, in lower case.
    kind : str
        ``gpu``, ``nic`` or ``switch``.
    names : tuple of str
        Network devices of a NIC, where the file names them.
    numa : int
        NUMA node of the device.
    switches : tuple of str
        Bus ids of the PCI switches above it, the closest first.
    bandwidth_gb_s : float
        Bandwidth of the device's own PCI link, per direction.
    """

    bus_id: str
    kind: str
    numa: int
    switches: tuple[str, ...]
    bandwidth_gb_s: float
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Machine:
    """The devices inside one machine and the links between them, as NCCL's topology XML describes them.

    Attributes
    ----------
    gpus : tuple of PciDevice
        In the order of the matrix: by the attribute ``dev`` if every GPU has it, else by bus id, as CUDA numbers them
        with ``CUDA_DEVICE_ORDER=PCI_BUS_ID``.
    nics, switches : tuple of PciDevice
        NICs and PCI switches, sorted by bus id.
    numa : tuple of int
        Numbers of the NUMA nodes that the devices belong to.
    matrix : BandwidthMatrix
        Nominal bandwidths in GB/s between GPUs, see `read_nccl_topo`, with the NICs and the NUMA node of each GPU.
    has_nvlink : bool
        Whether the file describes NVLinks (or AMD's XGMI).
    """

    gpus: tuple[PciDevice, ...]
    nics: tuple[PciDevice, ...]
    switches: tuple[PciDevice, ...]
    numa: tuple[int, ...]
    matrix: BandwidthMatrix
    has_nvlink: bool


def is_nccl_topo(text: str) -> bool:
    """Whether a text begins like NCCL's topology XML."""
    return _START.match(text) is not None


def read_nccl_topo(text: str, source: str) -> Machine:
    """Read the machine that a topology XML of NCCL or RCCL describes; `source` is the file's name.

    The bandwidth of a pair is the larger of its NVLinks (links times NCCL's speed of a link for the GPU's architecture;
    through NVSwitch the smaller of both GPUs' links) or XGMI links and its PCI path. A PCI path is as fast as its
    slowest link: each link has its width times NCCL's figure for its generation, and between NUMA nodes NCCL's figure
    for the processor counts. Raises InputError: no XML, declarations of entities or a document type, nested too deeply,
    too large, no GPU, a GPU twice; line and column where XML knows them.

    Notes
    -----
    Source: NCCL, src/graph/topo.h and topo.cc (figures), xml.cc (elements). The figures are nominal, for comparing
    pairs; measured ones belong into a matrix of their own (``--matrix``).
    """
    root = parse_xml(text, source, "system", "an NCCL topology")
    walk = list(_devices(root, source))
    found: dict[str, tuple[PciDevice, Any]] = {}
    for device, element in walk:
        if device.bus_id in found:
            raise InputError("the same device twice", source=source, where=f"pci busid {device.bus_id}")
        found[device.bus_id] = (device, element)
    gpus = sorted((pair for pair in found.values() if pair[0].kind == "gpu"), key=lambda pair: pair[0].bus_id)
    if not gpus:
        got = counted(len(found), "other device")
        raise InputError("no GPU in the topology", source=source, got=got, expected='pci with class="0x030200"')
    if len(gpus) > MAX_GPUS:
        raise InputError("too many GPUs", source=source, got=str(len(gpus)), expected=f"at most {MAX_GPUS}")
    numbers = [whole_number(gpu.get("dev", "")) for _, element in gpus for gpu in element.findall("gpu")]
    order = {number: i for i, number in enumerate(numbers)}
    if len(numbers) == len(gpus) and set(order) == set(range(len(gpus))):
        gpus = [gpus[order[number]] for number in range(len(gpus))]
    gb_s = _over_pci([device for device, _ in gpus], {bus: device for bus, (device, _) in found.items()}, root)
    links = _over_nvlink(gpus)
    others = sorted((device for device, _ in found.values()), key=lambda device: device.bus_id)
    nics = tuple(device for device in others if device.kind == "nic")
    parts = _parts([device for device, _ in gpus], nics)
    matrix = BandwidthMatrix(np.maximum(gb_s, links), source=source, parts=parts)
    return Machine(
        gpus=tuple(device for device, _ in gpus),
        nics=nics,
        switches=tuple(device for device in others if device.kind == "switch"),
        numa=tuple(sorted({device.numa for device in others})),
        matrix=matrix,
        has_nvlink=bool(links.any()),
    )


def _parts(gpus: Sequence[PciDevice], nics: Sequence[PciDevice]) -> MachineParts:
    """The links between NICs and GPUs as NCCL tells them (src/graph/topo.h, paths.cc), and the GPUs' NUMA nodes.

    A NIC is named by its network devices, or by its bus id where the file has none or another NIC has the same.
    """
    names = ["/".join(nic.names) for nic in nics]
    names = [nic.bus_id if not name or names.count(name) > 1 else name for name, nic in zip(names, nics, strict=True)]
    types = {name: tuple(_link_type(nic, gpu) for gpu in gpus) for name, nic in zip(names, nics, strict=True)}
    return MachineParts(types, tuple(str(gpu.numa) for gpu in gpus))


def _link_type(nic: PciDevice, gpu: PciDevice) -> str:
    if nic.switches[:1] == gpu.switches[:1] != ():
        return "PIX"
    if set(nic.switches) & set(gpu.switches):
        return "PXB"
    return "PHB" if nic.numa == gpu.numa else "SYS"


def _devices(root: Any, source: str) -> Iterator[tuple[PciDevice, Any]]:
    """GPUs, NICs and PCI switches of the XML in file order, each with its XML element."""
    for number, cpu in enumerate(root.findall("cpu")):
        numa = whole_number(cpu.get("numaid", ""))
        waiting: list[tuple[Any, tuple[str, ...]]] = [(element, ()) for element in reversed(cpu.findall("pci"))]
        while waiting:
            element, above = waiting.pop()
            if len(above) > _DEEPEST:
                raise InputError(
                    "nested too deeply", source=source, where=f"cpu {number}", expected=f"{_DEEPEST} levels"
                )
            bus = (element.get("busid") or "").lower()
            if not bus:
                raise InputError("a pci element without busid", source=source, where=f"cpu {number}")
            of_class = (element.get("class") or "").lower()
            inner = element.findall("pci")
            kind = "switch" if inner or of_class.startswith(_BRIDGE) else _KINDS.get(of_class[:4], "")
            if kind:
                speed = _pci_gb_s(element, source, bus)
                names = tuple(name for net in element.iterfind("nic/net") if (name := net.get("name")))
                yield PciDevice(bus, kind, number if numa is None else numa, above, speed, names), element
            waiting += [(child, (bus, *above)) for child in reversed(inner)]


def _pci_gb_s(element: Any, source: str, bus: str) -> float:
    text = (element.get("link_speed") or "").split(" ")[0].removesuffix(".0")
    width = whole_number(element.get("link_width") or "16")
    if width is None or not 0 <= width <= 64:
        where = f"pci busid {bus}, link_width"
        raise InputError("not a width", source=source, where=where, got=repr(element.get("link_width"))[:40])
    # NCCL takes an unknown width (0) for 16.
    return _PCI_LANE.get(text, _PCI_UNKNOWN) * (width or 16)


def _over_pci(gpus: list[PciDevice], by_bus: Mapping[str, PciDevice], root: Any) -> npt.NDArray[np.float64]:
    cpus = root.findall("cpu")
    between = min((_BETWEEN_CPUS.get(cpu.get("vendor") or "", _BETWEEN_CPUS_ELSE) for cpu in cpus), default=0.0)
    gb_s = np.zeros((len(gpus), len(gpus)))
    for i, a in enumerate(gpus):
        for j, b in enumerate(gpus[:i]):
            shared = set(a.switches) & set(b.switches)
            # Up to the first switch that both hang on; without one, over every switch up to the processor.
            ups = [bus for device in (a, b) for bus in device.switches if bus not in shared]
            way = [a.bandwidth_gb_s, b.bandwidth_gb_s, *(by_bus[bus].bandwidth_gb_s for bus in ups)]
            if not shared and a.numa != b.numa:
                way.append(between)
            gb_s[i, j] = gb_s[j, i] = min(way)
    return gb_s


def _over_nvlink(gpus: list[tuple[PciDevice, Any]]) -> npt.NDArray[np.float64]:
    index = {device.bus_id: i for i, (device, _) in enumerate(gpus)}
    gb_s = np.zeros((len(gpus), len(gpus)))
    switched = np.zeros(len(gpus))
    for i, (_, element) in enumerate(gpus):
        for gpu in element.findall("gpu"):
            generation = whole_number(gpu.get("sm", "")) or 0
            each = next((speed for least, speed in _NVLINK_GB_S if generation >= least), _NVLINK_GB_S[-1][1])
            for link in gpu.findall("nvlink"):
                speed = (whole_number(link.get("count", "")) or 0) * each
                target = (link.get("target") or "").lower()
                if (link.get("tclass") or "").lower().startswith(_NVSWITCH):
                    switched[i] += speed
                elif target in index and index[target] != i:
                    gb_s[i, index[target]] += speed
            for link in gpu.findall("xgmi"):
                target = (link.get("target") or "").lower()
                if target in index and index[target] != i:
                    each = _XGMI_GB_S.get((gpu.get("gcn") or "").split(":")[0], _XGMI_ELSE)
                    gb_s[i, index[target]] += (whole_number(link.get("count", "")) or 0) * each
    return np.maximum(gb_s, np.minimum.outer(switched, switched) * (1 - np.eye(len(gpus))))


def _read(text: str, source: str) -> FabricRecords:
    """Read NCCL's topology XML as a network topology of one node, named like the file without its extension."""
    machine = read_nccl_topo(text, source)
    name = PurePath(source).name.split(".")[0] or "machine"
    node = f"node {name}"
    text = f"{name}: the file has no NVLink, its matrix knows the ways over PCI only"
    notes = [] if machine.has_nvlink else [Notice("pci-only", text, node)]
    n_gpus = len(machine.gpus)
    switches, numa = len(machine.switches), len(machine.numa)
    text = (
        f"{name}: {counted(n_gpus, 'GPU')}, {counted(len(machine.nics), 'NIC')}, "
        f"{counted(switches, 'PCI switch', 'PCI switches')}, {counted(numa, 'NUMA node')}, nominal GB/s"
    )
    notes.append(Notice("nominal-bandwidth", text, node, {"gpus": n_gpus, "nics": len(machine.nics)}))
    nodes = (make_node(name, allocatable={"nvidia.com/gpu": n_gpus}),)
    return FabricRecords(nodes=nodes, matrices={name: machine.matrix}, notes=tuple(notes))


def _detect(sample: Sample) -> bool:
    return is_nccl_topo(sample.text)


NCCL_TOPO = FabricFormat("nccl-topo", "NCCL topology of one machine (XML)", detect=_detect, read=_read)
