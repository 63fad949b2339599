"""NICs and NUMA nodes of one machine, as printouts of its links tell them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from workbench.model.value import Value

__all__ = ["MachineParts"]

#: Link types of nvidia-smi topo from the nearest to the farthest.
_NEAREST_FIRST = ("PIX", "PXB", "PHB", "NODE", "SYS")


@dataclass(frozen=True)
class MachineParts(Value):
    """What a machine has beside its GPUs.

    Attributes
    ----------
    nics : dict of str to tuple of str
        Type of the link from each NIC to every GPU, in the order of the matrix.
    numa : tuple of str
        NUMA node of each GPU as printed; empty where the printout does not tell it.
    """

    nics: dict[str, tuple[str, ...]] = field(hash=False)
    numa: tuple[str, ...] = ()

    def near(self, gpus: Iterable[int]) -> dict[str, Any]:
        """The NICs nearest to some GPUs, with the link type to each GPU by its number, and their NUMA nodes.

        A NIC is near if no other NIC has a nearer link to one of the GPUs.
        """
        gpus = tuple(gpus)
        best = {gpu: min((_distance(types[gpu]) for types in self.nics.values()), default=0) for gpu in gpus}
        near: dict[str, dict[str, str]] = {}
        for nic, types in self.nics.items():
            links = {str(gpu): types[gpu] for gpu in gpus if _distance(types[gpu]) == best[gpu]}
            if links:
                near[nic] = links
        return {"near_nics": near, "numa_nodes": sorted({self.numa[gpu] for gpu in gpus} if self.numa else ())}


def _distance(kind: str) -> int:
    return _NEAREST_FIRST.index(kind) if kind in _NEAREST_FIRST else len(_NEAREST_FIRST)
