"""`closed_nodes`: nodes on which none of some jobs can place a pod, whatever is free there."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workbench.model.gang import Gang, Role
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["closed_nodes"]


def closed_nodes(snapshot: ClusterSnapshot, gangs: Iterable[Gang]) -> dict[int, str]:
    """Nodes on which none of the jobs can place a pod, each with the reason.

    Parameters
    ----------
    snapshot : ClusterSnapshot
    gangs : iterable of Gang
        Taints count if there is a job, and none tolerates them.

    Returns
    -------
    dict of int to str
        ``not ready``, ``cordoned`` or ``tainted`` by the index of the node.
    """
    states = [("not ready", np.asarray(snapshot.not_ready)), ("cordoned", np.asarray(snapshot.unschedulable))]
    tolerations = {role.filter.tolerations for gang in gangs for role in _roles(gang)}
    if tolerations:
        states.append(("tainted", ~np.logical_or.reduce([snapshot.taints.mask(each) for each in tolerations])))
    found: dict[int, str] = {}
    for word, nodes in states:
        for node in np.flatnonzero(nodes).tolist():
            found.setdefault(node, word)
    return dict(sorted(found.items()))


def _roles(gang: Gang) -> Iterable[Role]:
    yield from gang.roles
    for part in gang.jobs:
        if part.gang is not None:
            yield from _roles(part.gang)
