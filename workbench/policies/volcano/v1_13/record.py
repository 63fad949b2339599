"""The HyperNode in which Volcano 1.13 considers a job allocated (its record): reading, scoring, widening.

Source: docs/reference/volcano-topology.md, section 4.
"""

from __future__ import annotations

from workbench.kernels.domains import NO_RECORD
from workbench.model.topology import TOP, Topology

__all__ = ["NO_RECORD", "UNKNOWN_RECORD", "read_record", "to_score", "widen"]

#: A record whose name is no HyperNode.
UNKNOWN_RECORD = -3


def read_record(name: str, topology: Topology) -> int:
    """Index of the HyperNode called `name`, the recorded name of the HyperNode in which a job is allocated.

    `NO_RECORD` if `name` is empty, `UNKNOWN_RECORD` if no such HyperNode exists.
    """
    if not name:
        return NO_RECORD
    return topology.domain(name) if topology.has_domain(name) else UNKNOWN_RECORD


def to_score(record: int) -> int:
    """HyperNode by whose closeness nodes are scored, given the HyperNode in which the job is allocated (`record`).

    It is `record` itself; for `UNKNOWN_RECORD` the virtual top, to which no node counts as close.
    """
    return TOP if record == UNKNOWN_RECORD else record


def widen(record: int, domain: int, topology: Topology) -> int:
    """HyperNode to store as the job's record after a hard job was placed: the LCA of the old record and the new domain.

    Parameters
    ----------
    record : int
        The old record: a HyperNode, or `NO_RECORD` if the job had none; the answer is then `domain`. It is never
        `UNKNOWN_RECORD`, because a hard job with that record is not placed.
    domain : int
        HyperNode where the job was placed.

    Returns
    -------
    int
        `NO_RECORD` if no HyperNode holds both.
    """
    if record == NO_RECORD:
        return domain
    common = topology.lca(domain, record)
    return NO_RECORD if common < 0 else common
