"""Resource vectors: which columns there are and in which unit.

Amounts are integers in base units (DESIGN decision 11): milli-CPU for ``cpu``, bytes for ``memory``,
``ephemeral-storage`` and huge pages, counts for everything else. Parsing of quantities is in `workbench.objects`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import MAX_QUANTITY

__all__ = [
    "CPU",
    "MAX_AMOUNT",
    "MEMORY",
    "PODS",
    "UNLIMITED",
    "is_gpu_resource",
    "request_rows",
    "request_vector",
    "resource_columns",
]

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"

# Amount of a resource that a node does not declare but that is not scarce either (its number of pods).
UNLIMITED = 1 << 40

#: Largest amount of one resource on a node, and of one pod; sums over nodes and pods may be larger.
MAX_AMOUNT = MAX_QUANTITY

_GPU_RESOURCES = frozenset({"nvidia.com/gpu", "amd.com/gpu", "gpu", "huawei.com/npu"})


@lru_cache(maxsize=256)
def is_gpu_resource(name: str) -> bool:
    """Whether a resource counts whole accelerators (GPUs or NPUs) that are chosen one by one."""
    return name in _GPU_RESOURCES or name.startswith("huawei.com/Ascend") or name.startswith("huawei.com/ascend")


def resource_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The columns of a snapshot: cpu, memory, pods first, every other name in byte order."""
    first = (CPU, MEMORY, PODS)
    return first + tuple(sorted(set(names) - set(first)))


@lru_cache(maxsize=64)
def _positions(columns: tuple[str, ...]) -> dict[str, int]:
    return {name: i for i, name in enumerate(columns)}


def request_vector(
    columns: tuple[str, ...], requests: Mapping[str, int]
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """One pod's request as a row, one pod counted.

    Returns
    -------
    row : ndarray of shape (len(columns),), int64
    missing : tuple of str
        Requested resources that no node of the snapshot has, in byte order.
    """
    row, missing = _row(_positions(columns), requests)
    return np.array(row, dtype=np.int64), missing


def request_rows(
    columns: tuple[str, ...], requests: Iterable[Mapping[str, int]]
) -> tuple[npt.NDArray[np.int64], tuple[tuple[str, ...], ...]]:
    """`request_vector` of several pods: an array of shape (pods, len(columns)), and what is missing for each."""
    position = _positions(columns)
    found = [_row(position, each) for each in requests]
    rows = np.array([row for row, _ in found], dtype=np.int64).reshape(len(found), len(columns))
    return rows, tuple(missing for _, missing in found)


def _row(position: Mapping[str, int], requests: Mapping[str, int]) -> tuple[list[int], tuple[str, ...]]:
    row = [0] * len(position)
    missing = []
    for name, amount in requests.items():
        if amount == 0:
            continue
        if name in position:
            row[position[name]] = amount
        else:
            missing.append(name)
    row[position[PODS]] = 1
    return row, tuple(sorted(missing)) if missing else ()
