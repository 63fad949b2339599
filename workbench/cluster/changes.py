"""`ObjectChange`: one change of a cluster's objects, as a Kubernetes watch reports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import UnknownNameError
from workbench.model.notice import Notice
from workbench.model.snapshot import Queue
from workbench.objects.cluster_part import ClusterPart
from workbench.objects.deployment import Deployment
from workbench.objects.device import Device
from workbench.objects.device_info import DeviceInfo
from workbench.objects.gang_request import GangRequest
from workbench.objects.hyper_job import HyperJob
from workbench.objects.hypernode import HyperNode
from workbench.objects.job import Job
from workbench.objects.kinds import ClusterObjects
from workbench.objects.level_topology import LevelTopology
from workbench.objects.node import Node
from workbench.objects.pod import Pod
from workbench.objects.pod_group import PodGroup
from workbench.objects.queue import PriorityClass
from workbench.objects.top_owner import TopOwner

__all__ = ["ClusterObject", "ObjectChange", "added", "deleted", "read_change"]

ClusterObject = (
    Node
    | HyperNode
    | Device
    | DeviceInfo
    | Pod
    | PodGroup
    | Queue
    | PriorityClass
    | Job
    | HyperJob
    | Deployment
    | GangRequest
    | ClusterPart
    | LevelTopology
    | TopOwner
)

# The objects that a snapshot and its gangs are made of: where `ClusterObjects` keeps each kind.
_FIELDS: dict[str, str] = {
    "Node": "nodes",
    "HyperNode": "hypernodes",
    "Device": "devices",
    "DeviceInfo": "device_infos",
    "Pod": "pods",
    "PodGroup": "pod_groups",
    "Queue": "queues",
    "PriorityClass": "priority_classes",
    "Job": "jobs",
    "HyperJob": "hyper_jobs",
    "Deployment": "deployments",
    "GangRequest": "requests",
    "ClusterPart": "cluster_parts",
    "LevelTopology": "level_topologies",
    "TopOwner": "top_owners",
}


@dataclass(frozen=True)
class ObjectChange:
    """The new state or the deletion of one object of a cluster; made by `added`, `deleted` and `read_change`.

    Attributes
    ----------
    kind : str
        One of Node, HyperNode, Device, DeviceInfo (a ConfigMap), Pod, PodGroup, Queue, PriorityClass, Job, HyperJob,
        Deployment, GangRequest, ClusterPart, LevelTopology and TopOwner.
    key : str
        ``namespace/name``, or the name of a cluster-scoped object; of a DeviceInfo the name of its node, of a
        LevelTopology ``owner/name`` (``kueue/default``); of a GangRequest, ClusterPart and TopOwner its kind, too
        (``JobSet namespace/name``).
    value : ClusterObject, optional
        The object as it is now; None if it was deleted.
    refused : str
        Why admission refuses the object; empty: it accepts it.
    notes : tuple of Notice
        As in `ClusterObjects.notes`.
    """

    kind: str
    key: str
    value: ClusterObject | None
    refused: str = ""
    notes: tuple[Notice, ...] = ()

    def apply_to(self, cluster: ClusterObjects) -> bool:
        """Apply the change to the objects of a cluster; returns False if nothing differs afterwards.

        An object that exists keeps its place among those of its kind, and a new one comes last. Deleting an object that
        does not exist changes nothing, and neither does adding an object that exists in the same state.
        """
        objects: dict[str, ClusterObject] = getattr(cluster, _FIELDS[self.kind])
        name = _name(self.kind, self.key)
        differs = objects.get(self.key) != self.value
        if self.value is None:
            objects.pop(self.key, None)
        elif differs:
            objects[self.key] = self.value
        differs |= _set(cluster.refused, name, self.refused)
        return _set(cluster.notes, name, self.notes) or differs


def added(value: ClusterObject, refused: str = "", notes: tuple[Notice, ...] = ()) -> ObjectChange:
    """The change for a watch event ADDED or MODIFIED.

    `value`: the object as it is now. `refused`, `notes`: as in `ObjectChange`.
    """
    if isinstance(value, GangRequest):
        kind = value.kind if isinstance(value, ClusterPart) else type(value).__name__
        return ObjectChange("GangRequest", f"{kind} {value.metadata.key}", value, refused, notes)
    if isinstance(value, ClusterPart):
        return ObjectChange("ClusterPart", f"{value.kind} {value.metadata.key}", value, refused, notes)
    if isinstance(value, LevelTopology):
        return ObjectChange("LevelTopology", f"{value.owner}/{value.metadata.key}", value, refused, notes)
    if isinstance(value, TopOwner):
        return ObjectChange("TopOwner", value.key, value, refused, notes)
    key = value.name if isinstance(value, Queue | PriorityClass | DeviceInfo) else value.metadata.key
    return ObjectChange(type(value).__name__, key, value, refused, notes)


def deleted(kind: str, key: str) -> ObjectChange:
    """The change for a watch event DELETED.

    Raises UnknownNameError: the kind is not one of those that snapshots are made of.

    `kind`, `key`: as in `ObjectChange`.
    """
    if kind not in _FIELDS:
        raise UnknownNameError("kind", kind, list(_FIELDS))
    return ObjectChange(kind, key, None)


def read_change(data: Mapping[str, Any], *, gone: bool = False) -> ObjectChange | None:
    """Convert the object of a watch event to a change.

    Raises InputError: as `ClusterObjects.add`.

    `data`: the parsed manifest of the event's object. `gone`: the event is DELETED; by default it is ADDED or MODIFIED.
    Returns None if the object's kind plays no part in a snapshot.
    """
    cluster = ClusterObjects()
    cluster.add(data)
    for kind, room in _FIELDS.items():
        for key, value in getattr(cluster, room).items():
            name = _name(kind, key)
            return (
                deleted(kind, key)
                if gone
                else ObjectChange(kind, key, value, cluster.refused.get(name, ""), cluster.notes.get(name, ()))
            )
    return None


def _name(kind: str, key: str) -> str:
    """Name of an object in `ClusterObjects.refused` and `ClusterObjects.notes`."""
    if kind == "LevelTopology":
        return f"{'ClusterNetworkTopology' if key.startswith('koordinator/') else 'Topology'} {key}"
    return key if kind in ("GangRequest", "ClusterPart", "TopOwner") else f"{kind} {key}"


def _set(told: dict[str, Any], name: str, value: str | tuple[Notice, ...]) -> bool:
    """Store `value` under `name`, or remove the name if the value is empty; return whether anything changed."""
    differs: bool = told.get(name) != (value or None)
    if not value:
        told.pop(name, None)
    elif differs:
        told[name] = value
    return differs
