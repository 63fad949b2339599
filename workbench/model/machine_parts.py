"""`MachineParts`: NICs and NUMA nodes of one machine, as a printout of its links (such as nvidia-smi topo)
gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import InputError
from workbench.model.value import Value

__all__ = ["MachineParts", "near_lines"]

#: Link types of `nvidia-smi topo` from the nearest to the farthest, in the order of its legend.
_NEAREST_FIRST = ("PIX", "PXB", "PHB", "NODE", "SYS")
#: Words of old releases.
_TODAY = {"SOC": "SYS", "PSB": "PIX"}
#: From here on a NIC is near to no GPU: its data cross the link between the sockets.
_FAR = _NEAREST_FIRST.index("SYS")


@dataclass(frozen=True)
class MachineParts(Value):
    """NICs and NUMA nodes of one machine.

    Raises InputError: NICs or NUMA nodes for different numbers of GPUs.

    `nics`: type of the link from each NIC to every GPU, in the order of the matrix. The types are those of `nvidia-smi
    topo`, from the nearest: ``PIX`` (one PCIe switch), ``PXB`` (several), ``PHB`` (a host bridge), ``NODE`` (several
    host bridges of a NUMA node), ``SYS`` (the link between NUMA nodes; ``SOC`` in old releases); others count as
    farther. `numa`: NUMA node of each GPU as printed; empty where the printout does not tell it.
    """

    nics: dict[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    numa: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sizes = {len(types) for types in self.nics.values()} | ({len(self.numa)} if self.numa else set())
        if len(sizes) > 1:
            got = ", ".join(map(str, sorted(sizes)))
            raise InputError("parts for different numbers of GPUs", source="parts", got=got, expected="one per GPU")

    @property
    def n_gpus(self) -> int:
        """Number of GPUs that the parts tell about; 0 without any part."""
        return len(self.numa) or next((len(types) for types in self.nics.values()), 0)

    def nearest(self, gpu: int) -> dict[str, str]:
        """The NICs nearest to a GPU, with the types of their links: no other NIC has a nearer link to the GPU.

        Empty where the nearest link is ``SYS`` or farther: a NIC behind the other socket is not near.
        """
        best = min((_distance(types[gpu]) for types in self.nics.values()), default=0)
        if best >= _FAR:
            return {}
        return {nic: types[gpu] for nic, types in self.nics.items() if _distance(types[gpu]) == best}

    def nearest_kind(self, nic: str) -> str:
        """Type of the nearest link that a NIC has to any GPU."""
        return min(self.nics[nic], key=_distance)

    def near(self, gpus: Iterable[int]) -> dict[str, Any]:
        """The NICs nearest to any of some GPUs, and the NUMA nodes of these GPUs, JSON-ready.

        Returns dict: ``near_nics``: NIC -> {number of a GPU to which it is nearest: link type}; ``numa_nodes``: names,
        ascending; ``gpus_without_near_nic``, only if there are any: numbers of the GPUs whose NICs are all ``SYS`` or
        farther.
        """
        gpus = tuple(gpus)
        nearest = {gpu: self.nearest(gpu) for gpu in gpus}
        found = {nic: {str(gpu): nearest[gpu][nic] for gpu in gpus if nic in nearest[gpu]} for nic in self.nics}
        nodes = {self.numa[gpu] for gpu in gpus} if self.numa else set()
        lonely = [gpu for gpu in gpus if self.nics and not nearest[gpu]]
        return {
            "near_nics": {nic: links for nic, links in found.items() if links},
            **({"gpus_without_near_nic": lonely} if lonely else {}),
            "numa_nodes": sorted(nodes, key=lambda name: (len(name), name)),
        }


def near_lines(near: Mapping[str, Any]) -> list[str]:
    """The answer of `MachineParts.near` in words: a line for NICs with the same links, then the NUMA nodes."""
    alike: dict[str, list[str]] = {}
    for nic, links in near.get("near_nics", {}).items():
        by_type: dict[str, list[str]] = {}
        for gpu, kind in links.items():
            by_type.setdefault(kind, []).append(gpu)
        text = ", ".join(f"GPU {', '.join(gpus)} ({kind})" for kind, gpus in by_type.items())
        alike.setdefault(text, []).append(nic)
    lines = [f"near NIC{'s' if len(nics) > 1 else ''} {', '.join(nics)}: {text}" for text, nics in alike.items()]
    if lonely := near.get("gpus_without_near_nic", []):
        lines.append(f"no NIC near GPU {', '.join(map(str, lonely))}: every NIC is behind another socket")
    nodes = near.get("numa_nodes", [])
    return [*lines, f"NUMA nodes: {', '.join(nodes)}"] if nodes else lines


def _distance(kind: str) -> int:
    kind = _TODAY.get(kind, kind)
    return _NEAREST_FIRST.index(kind) if kind in _NEAREST_FIRST else len(_NEAREST_FIRST)
