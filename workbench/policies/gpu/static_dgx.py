"""`gpu-static-dgx`: NVIDIA's fixed tables of the sets of GPUs that a DGX gives to pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.kernels.gpu_sets import mask_of
from workbench.policies.gpu.base import NodeGpus, PerPodGpuPolicy
from workbench.policies.parameters import parameter

__all__ = ["TABLES", "GpuStaticDgx", "StaticDgxParameters", "static_set"]


def _aligned(n: int, size: int) -> tuple[int, ...]:
    """Masks of the sets of ``size`` neighbouring GPUs of a machine of n: 0 to size - 1, then the next, and so on."""
    return tuple(mask_of(range(first, first + size)) for first in range(0, n, size))


def _table(n: int, *sizes: int, pairs: tuple[tuple[int, int], ...] = ()) -> dict[int, tuple[int, ...]]:
    sets = {size: _aligned(n, size) for size in (1, *sizes)}
    if pairs:
        sets[2] = tuple(mask_of(pair) for pair in pairs)
    return sets


#: Masks of the sets by machine and size, in the order in which they are tried.
TABLES: Mapping[str, Mapping[int, tuple[int, ...]]] = {
    "dgx1-pascal": _table(8, 4, 8, pairs=((0, 2), (1, 3), (4, 6), (5, 7))),
    "dgx1-volta": _table(8, 4, 8, pairs=((0, 3), (1, 2), (4, 7), (5, 6))),
    "dgx2": _table(16, 2, 4, 8, 16),
}


@dataclass(frozen=True)
class StaticDgxParameters:
    """Parameters of `gpu-static-dgx`."""

    machine: str = parameter(
        "dgx1-volta",
        "whose table of sets",
        choices=tuple(TABLES),
        source="NVIDIA go-gpuallocator, staticdgx_policies.go",
    )


class GpuStaticDgx(PerPodGpuPolicy):
    """GPU policy that gives a pod the first set of the machine's table that is free, for 1, 2, 4, 8 (DGX-2: 16) GPUs.

    Requests for any other number of GPUs are refused. Source: NVIDIA go-gpuallocator, staticdgx_policies.go. (Its
    constructor for DGX-2 answers with the table of the DGX-1; here the table of the DGX-2 is used as written
    there.)
    """

    name = "gpu-static-dgx"
    counts_only = False

    _parameters: StaticDgxParameters

    def choose_one(self, gpus: NodeGpus, count: int) -> int | None:
        return static_set(self._parameters.machine, gpus.free, 0, count) or None


def static_set(machine: str, available: int, required: int, size: int) -> int:
    """The first set of a machine's table that is available and holds the required GPUs, as a mask.

    Returns mask of the set; 0 if the table has no such set.

    `machine`: key of `TABLES`. `available`: mask of the free GPUs. `required`: mask of the GPUs that must be in the
    set. `size`: GPUs wanted.
    """
    for row in TABLES[machine].get(size, ()):
        if not row & ~available and not required & ~row:
            return row
    return 0
