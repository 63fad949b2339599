"""The HyperNode in which a sub-job is allocated (its record): found from running pods when a session opens.

Source: docs/reference/volcano-topology.md, section 4. `TOP` is the virtual top, `NO_RECORD` an empty record.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import NO_RECORD
from workbench.model.topology import TOP, Topology

__all__ = ["join", "joined", "recover"]

Ints = npt.NDArray[np.int32]


def join(a: int, b: int, topology: Topology) -> int:
    """Lowest common ancestor of two HyperNodes; if one of them is `NO_RECORD`, the other.

    Parameters
    ----------
    a, b : int
        HyperNodes, or `NO_RECORD` for an empty record.
    topology : Topology
    """
    if a == NO_RECORD:
        return b
    return a if b == NO_RECORD else topology.lca(a, b)


def joined(records: Iterable[int], topology: Topology) -> int:
    """Lowest common ancestor of the given HyperNodes, leaving out `NO_RECORD`; `NO_RECORD` if no other is given."""
    found = NO_RECORD
    for record in records:
        found = join(found, record, topology)
    return found


def recover(running_nodes: Ints, topology: Topology, before: int = NO_RECORD) -> int:
    """HyperNode in which a sub-job is allocated when a session opens (its record), found from its running pods.

    Parameters
    ----------
    running_nodes : ndarray of int32
        Node of each running pod of the sub-job; -1: a node that the snapshot lacks.
    topology : Topology
    before : int
        The sub-job's record after the last session; kept while the sub-job has running pods.

    Returns
    -------
    int
        `NO_RECORD` if no pod runs; otherwise `before`, if it is not `NO_RECORD`. Otherwise the HyperNode of the lowest
        tier that holds all these nodes, or else the virtual top; ties: the smallest name. `NO_RECORD` if a pod runs on
        a node that the snapshot lacks, because no HyperNode holds that node.
    """
    if len(running_nodes) == 0:
        return NO_RECORD
    if before != NO_RECORD:
        return before
    nodes = np.unique(running_nodes)
    if nodes[0] < 0:
        return NO_RECORD
    start, domains = topology.node_domains
    common = domains[start[nodes[0]] : start[nodes[0] + 1]]
    for node in nodes[1:]:
        common = np.intersect1d(common, domains[start[node] : start[node + 1]], assume_unique=True)
    if len(common) == 0:
        return TOP
    return int(common[np.lexsort((common, topology.tier[common]))[0]])
