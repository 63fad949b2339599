"""Read what functions of `workbench` are asked about: a scenario, or gangs and a snapshot."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable

from workbench.errors import InputError
from workbench.model.gang import Gang
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["gang_of", "session_of", "snapshot_of"]


def snapshot_of(given: object) -> ClusterSnapshot:
    """The snapshot that an argument is or has.

    Raises InputError: neither.
    """
    if isinstance(given, Scenario):
        return given.snapshot
    if not isinstance(given, ClusterSnapshot):
        expected = "a ClusterSnapshot, such as scenario.snapshot, or a Scenario"
        raise InputError("not a snapshot", source="snapshot", got=reprlib.repr(given), expected=expected)
    return given


def gang_of(gang: object, cluster: object) -> tuple[Gang, ClusterSnapshot]:
    """The gang and the snapshot that two arguments mean.

    `gang`: a gang, or the name of one of the scenario's. `cluster`: both arguments may also be given in the other
    order. Raises InputError: no gang, a name without a scenario, or no snapshot; UnknownNameError: the scenario has no
    gang of this name.
    """
    if isinstance(gang, Scenario) or (isinstance(gang, ClusterSnapshot) and isinstance(cluster, Gang)):
        gang, cluster = cluster, gang
    if isinstance(gang, str) and isinstance(cluster, Scenario):
        gang = cluster.gang(gang)
    if not isinstance(gang, Gang):
        expected = "a Gang, such as scenario.gang('name'), or the name of one together with its Scenario"
        raise InputError("not a gang", source="gang", got=reprlib.repr(gang), expected=expected)
    return gang, snapshot_of(cluster)


def session_of(gangs: object, cluster: object = None) -> tuple[tuple[Gang, ...], ClusterSnapshot]:
    """The gangs and the snapshot that two arguments mean.

    `gangs`: names are accepted in place of gangs together with a scenario; a scenario alone stands for all of its
    gangs. `cluster`, if None: the cluster of the scenario that `gangs` is. Raises InputError: no sequence of gangs, or
    no snapshot; UnknownNameError: the scenario has no gang of a name.
    """
    if isinstance(gangs, Scenario):
        return gangs.gangs, gangs.snapshot if cluster is None else snapshot_of(cluster)
    if isinstance(gangs, Gang | str | ClusterSnapshot) or not isinstance(gangs, Iterable):
        expected = "a list of gangs, such as scenario.gangs, or a Scenario"
        raise InputError("no list of gangs", source="gangs", got=reprlib.repr(gangs), expected=expected)
    snapshot = snapshot_of(cluster)
    return tuple(gang_of(gang, cluster)[0] for gang in gangs), snapshot
