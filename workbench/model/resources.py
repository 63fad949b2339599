"""Resource vectors: which resources are the columns of an array, and in which unit.

Amounts are integers in base units (docs/decisions.md, decision 11): milli-CPU for ``cpu``, bytes for ``memory``,
``ephemeral-storage`` and huge pages, counts for everything else. Parsing of quantities is in `workbench.objects`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import MAX_QUANTITY

__all__ = [
    "ASSUMED",
    "CPU",
    "MAX_AMOUNT",
    "MEMORY",
    "PODS",
    "UNLIMITED",
    "amount_text",
    "is_gpu_resource",
    "quantity_text",
    "request_rows",
    "request_vector",
    "resource_columns",
]

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"

#: Resources of which some scores assume an amount where a container does not say how much it needs.
ASSUMED = (CPU, MEMORY)

# Amount of a resource that a node does not declare but that is not scarce either (its number of pods).
UNLIMITED = 1 << 40

#: Largest amount of one resource on a node, and of one pod; sums over nodes and pods may be larger.
MAX_AMOUNT = MAX_QUANTITY

_BYTES = (MEMORY, "ephemeral-storage")

#: Resources counted in thousandths: cpu, and the names by which quotas and PodGroups count it.
THOUSANDTHS = frozenset({CPU, f"requests.{CPU}", f"limits.{CPU}"})

_GPU_RESOURCES = frozenset({"nvidia.com/gpu", "amd.com/gpu", "gpu", "huawei.com/npu"})


@lru_cache(maxsize=256)
def is_gpu_resource(name: str) -> bool:
    """Whether a resource name stands for whole accelerators (GPUs or NPUs), which are assigned individually."""
    return name in _GPU_RESOURCES or name.startswith("huawei.com/Ascend") or name.startswith("huawei.com/ascend")


def amount_text(resource: str, amount: int) -> str:
    """An amount in base units as text for people: CPU in cores, resources measured in bytes in GiB, others
    as a number.
    """
    if resource == CPU:
        return f"{amount / 1000:,g}"
    if resource not in _BYTES and not resource.startswith("hugepages-"):
        return f"{amount:,}"
    gib = amount / 2**30
    # A whole cluster has tens of thousands, which `g` would write as 1.638e+04.
    return f"{gib:,.0f} GiB" if gib >= 1000 else f"{gib:,.4g} GiB"


def quantity_text(resource: str, amount: int) -> str:
    """Write an amount in base units as a Kubernetes quantity: ``150m`` for 150 of cpu, ``2`` for 2 of any other
    resource.
    """
    if resource not in THOUSANDTHS:
        return str(amount)
    return f"{amount}m" if amount % 1000 else str(amount // 1000)


def resource_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The resource names of a snapshot's arrays in column order: cpu, memory and pods, then all others in
    byte order.
    """
    first = (CPU, MEMORY, PODS)
    return first + tuple(sorted(set(names) - set(first)))


def request_vector(
    columns: tuple[str, ...], requests: Mapping[str, int]
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """One pod's request as a row of the resource columns, with 1 in the column ``pods``.

    Returns
    -------
    row : ndarray of shape (len(columns),), int64
    missing : tuple of str
        Requested resources that no node of the snapshot has, in byte order.
    """
    row = np.array([requests.get(name, 0) for name in columns], dtype=np.int64)
    row[columns.index(PODS)] = 1
    return row, _missing(requests, frozenset(columns))


def request_rows(
    columns: tuple[str, ...], requests: Iterable[Mapping[str, int]]
) -> tuple[npt.NDArray[np.int64], tuple[tuple[str, ...], ...]]:
    """Requests of several pods as an array of shape (pods, len(columns)), int64, and the missing resources of each pod.

    Each row and each tuple of missing resources is as `request_vector` returns them.
    """
    requests, known = tuple(requests), frozenset(columns)
    # One flat list: numpy takes a list of lists apart slowly.
    amounts = [1 if name == PODS else each.get(name, 0) for each in requests for name in columns]
    rows = np.array(amounts, dtype=np.int64).reshape(len(requests), len(columns))
    return rows, tuple([() if each.keys() <= known else _missing(each, known) for each in requests])


def _missing(requests: Mapping[str, int], known: Set[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name, amount in requests.items() if amount and name not in known))
