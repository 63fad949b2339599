"""An upper bound on the GPU thousandths that any policy can allocate when a cluster is filled with given pods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.pod_trace import PodTrace
from workbench.model.resources import CPU

__all__ = ["allocation_bound"]

Longs = npt.NDArray[np.int64]


def allocation_bound(trace: PodTrace, arrivals: Longs) -> int:
    """GPU thousandths that no choice of nodes and GPUs can exceed, be all arrivals known beforehand.

    Parameters
    ----------
    trace : PodTrace
    arrivals : ndarray of shape (a,), int64
        Positions in ``trace.gangs``.

    Returns
    -------
    int
        The smaller of two numbers: what the arrivals ask for, and the sum over groups of nodes that accept the same
        pods of what such a group can hold. A group holds at most as much as its GPUs, each filled with the sizes of
        pods that come closest to a whole GPU, and at most what its CPUs feed: all pods that it accepts are offered to
        it, cut into pieces, those with the least CPU per GPU first.

    Notes
    -----
    The bound forgets that a pod runs once, on one node, and that memory is limited. It is therefore loose; the distance
    of a policy from it is an upper bound on what is left to gain.
    """
    asked = trace.gpu_milli[arrivals]
    conditions = {gang.roles[0].filter for gang, shape in zip(trace.gangs, trace.shapes, strict=True) if shape.gpus}
    masks = {condition: trace.snapshot.filters.mask(condition) for condition in conditions}
    table = np.stack(list(masks.values()), axis=1) if masks else np.zeros((trace.snapshot.n_nodes, 0), dtype=np.bool_)
    number = {condition: i for i, condition in enumerate(masks)}
    of_pod = np.array([number.get(gang.roles[0].filter, -1) for gang in trace.gangs])[arrivals]
    cpu = np.array([shape.cpu_milli for shape in trace.shapes], dtype=np.int64)[arrivals]
    sizes = np.array([shape.gpu_milli for shape in trace.shapes], dtype=np.int64)[arrivals]
    gpus = np.bitwise_count(trace.snapshot.gpu_total).sum(axis=1, dtype=np.int64)
    cpus = trace.snapshot.allocatable[:, trace.snapshot.resources.index(CPU)]
    groups, of_node = np.unique(table, axis=0, return_inverse=True)
    total = 0
    for g, accepts in enumerate(groups):
        nodes = of_node.reshape(-1) == g
        fits = (asked > 0) & accepts[of_pod] if len(accepts) else np.zeros(len(asked), dtype=np.bool_)
        by_gpus = int(gpus[nodes].sum()) * _fullest(np.unique(sizes[fits]).tolist())
        total += min(by_gpus, _fed(asked[fits], cpu[fits], int(cpus[nodes].sum())))
    return min(total, int(asked.sum()))


def _fullest(sizes: Sequence[int]) -> int:
    """The largest sum of sizes, each taken as often as wanted, that does not exceed a whole GPU."""
    reached = 1
    for size in sizes:
        for _ in range(WHOLE_GPU // size):
            reached |= reached << size
    return (reached & ((1 << (WHOLE_GPU + 1)) - 1)).bit_length() - 1


def _fed(asked: Longs, cpu: Longs, cpus: int) -> int:
    """GPU thousandths of the pods that need the least CPU for each, as many as the CPUs feed; the last one in part."""
    order = np.argsort(cpu / asked, kind="stable")
    used = np.cumsum(cpu[order])
    whole = int(np.searchsorted(used, cpus, side="right"))
    fed = int(asked[order][:whole].sum())
    if whole < len(order):
        left = cpus - (int(used[whole - 1]) if whole else 0)
        fed += int(asked[order][whole] * left // int(cpu[order][whole]))
    return fed
