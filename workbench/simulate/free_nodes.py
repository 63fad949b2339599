"""`free_nodes`: how many nodes were free in a simulation, and how many of them in one HyperNode of each tier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.model.gang import Gang
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import NO_DOMAIN
from workbench.simulate.result import Attempt, SimulationResult

if TYPE_CHECKING:
    import pandas

__all__ = ["free_nodes"]


def free_nodes(result: SimulationResult, snapshot: ClusterSnapshot) -> pandas.DataFrame:
    """Free nodes over time: what a job of whole nodes could have got, anywhere and inside one HyperNode.

    A node is free while no GPU of it is in use; broken nodes count as free, and pods without GPUs leave a node free.

    `snapshot` is the cluster at the start of the simulation.

    Returns: a row at time 0, and one per instant at which an attempt began or ended: time_s, free (nodes), and for each
    tier t a column ``tier t``: most free nodes in one of its HyperNodes. A row holds until the time of the next.
    """
    import pandas

    topology = snapshot.topology
    has = np.bitwise_count(snapshot.gpu_total).sum(axis=1) > 0
    busy = (np.bitwise_count(snapshot.gpu_total).sum(axis=1) > np.bitwise_count(snapshot.gpu_free).sum(axis=1)) * 1
    held = [_nodes_with_gpus(result.jobs[attempt.job].gang, attempt) for attempt in result.attempts]
    changes = sorted(
        [(attempt.start_s, 1, number) for number, attempt in enumerate(result.attempts)]
        + [
            (attempt.end_s, -1, number)
            for number, attempt in enumerate(result.attempts)
            if attempt.outcome not in ("running", "standing") or attempt.end_s < result.ended_s
        ]
    )
    domains = {tier: topology.domain_of_node(tier) for tier in topology.tiers}
    rows: list[tuple[float, ...]] = []

    def count(time_s: float) -> None:
        free = has & (busy == 0)
        most = []
        for of_node in domains.values():
            inside = of_node[free & (of_node != NO_DOMAIN)]
            most.append(int(np.bincount(inside).max()) if len(inside) else 0)
        rows.append((time_s, int(free.sum()), *most))

    if not changes or changes[0][0] > 0:
        count(0.0)
    for at, (time_s, by, number) in enumerate(changes):
        busy[held[number]] += by
        if at + 1 == len(changes) or changes[at + 1][0] != time_s:
            count(time_s)
    return pandas.DataFrame(rows, columns=["time_s", "free", *(f"tier {tier}" for tier in domains)])


def _nodes_with_gpus(gang: Gang, attempt: Attempt) -> NDArray[np.int64]:
    """The nodes on which pods of an attempt hold GPUs, each once."""
    asks = np.array([role.n_gpus > 0 or role.gpu_milli > 0 for role in gang.roles])[gang.role_of_pod]
    nodes = np.array(attempt.nodes, dtype=np.int64)
    return np.unique(nodes[asks & (nodes >= 0)])
