"""NICs and NUMA nodes in hwloc's XML, told as `nvidia-smi topo` tells them.

Sources: hwloc manual, "I/O Devices" (PCI devices stand below their bridges, the outermost of which is the host bridge,
and these below the object that they are close to) and "Terms and Definitions" (a NUMA node is a memory child of the
object whose memory it is); the legend of `nvidia-smi topo -m` for the link types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.model.machine_parts import MachineParts

__all__ = ["hwloc_parts"]

#: PCI class of network controllers, Ethernet and InfiniBand.
_NETWORK = "02"
_HOST_BRIDGE = "0-1"


@dataclass(frozen=True)
class _Place:
    """Where an object stands: its ancestors, the closest first."""

    element: Any
    above: tuple[Any, ...]

    @property
    def bridges(self) -> list[Any]:
        return [element for element in self.above if element.get("type") == "Bridge"]

    @property
    def numa(self) -> str:
        """NUMA nodes of the closest object that has any, joined by commas."""
        for element in self.above:
            nodes = [e for e in element.iter("object") if e.get("type") == "NUMANode"]
            # Memory of a GPU may be a NUMA node, too, which is near to no other device.
            if nodes := [e.get("os_index", "") for e in nodes if e.get("subtype") != "GPUMemory"]:
                return ",".join(nodes)
        return ""


def hwloc_parts(root: Any, gpus: Sequence[str]) -> MachineParts | None:
    """The NICs and NUMA nodes of a topology.

    `root`: ``<topology>``. `gpus`: GPUs of the matrix by their ``gp_index``, with or without ``OSDev:`` before it.
    Returns None if a GPU of the matrix is missing in the topology.
    """
    places = list(_places(root))
    by_index = {place.element.get("gp_index"): place for place in places if place.element.get("type") == "OSDev"}
    found = [by_index.get(name.removeprefix("OSDev:")) for name in gpus]
    at = [place for place in found if place is not None]
    if len(at) < len(gpus):
        return None
    cards = [place for place in places if place.element.get("pci_type", "").startswith(_NETWORK)]
    nics = {_name(card): tuple(_link_type(card, gpu) for gpu in at) for card in cards}
    numa = tuple(place.numa for place in at)
    return MachineParts(nics, numa if all(numa) else ()) if nics or all(numa) else None


def _places(root: Any) -> Iterator[_Place]:
    """Every object with its ancestors, in the order of the file."""
    waiting: list[tuple[Any, tuple[Any, ...]]] = [(element, ()) for element in reversed(root.findall("object"))]
    while waiting:
        element, above = waiting.pop()
        yield _Place(element, above)
        waiting += [(child, (element, *above)) for child in reversed(element.findall("object"))]


def _name(card: _Place) -> str:
    """Names of the network devices of a card, such as ``ib0/mlx5_0``, or its place on the bus."""
    names = [e.get("name", "") for e in card.element.findall("object") if e.get("type") == "OSDev"]
    return "/".join(filter(None, names)) or card.element.get("pci_busid", "")


def _link_type(card: _Place, gpu: _Place) -> str:
    """Type of the way between a card and a GPU, as in the legend of `nvidia-smi topo -m`.

    A PCIe switch is two bridges in hwloc, its upstream port and a downstream port below it: below the port that two
    devices of one switch share, each has at most its own downstream port.
    """
    ways = (card.bridges, gpu.bridges)
    shared = next((bridge for bridge in ways[0] if any(bridge is other for other in ways[1])), None)
    if shared is None:
        return "NODE" if card.numa == gpu.numa != "" else "SYS"
    if shared.get("bridge_type") == _HOST_BRIDGE:
        return "PHB"
    below = (next(i for i, bridge in enumerate(way) if bridge is shared) for way in ways)
    return "PIX" if max(below) <= 1 else "PXB"
