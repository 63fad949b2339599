"""`ClusterState`: a cluster whose objects change, with its snapshot and gangs after every change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from copy import copy
from dataclasses import fields, replace
from typing import Any

from workbench.cluster.assemble import join, member_gaps, other_gaps
from workbench.cluster.changes import ObjectChange
from workbench.cluster.exclusive import exclusive_hypernodes
from workbench.cluster.node_table import Matrices, NodeTable, read_nodes, with_nodes
from workbench.cluster.pods_on_nodes import PodsOnNodes
from workbench.cluster.workload import LiveWorkload
from workbench.jobs.gangs import Workload, refused_notices
from workbench.jobs.schedulers import TakenSchedulers
from workbench.model.gang import Gang
from workbench.model.kueue_names import WORKLOAD
from workbench.model.no_collection import no_collection
from workbench.model.notice import Notice
from workbench.model.snapshot import ClusterSnapshot, Queue
from workbench.model.value import Working
from workbench.objects.hypernode import HyperNode
from workbench.objects.kinds import ClusterObjects

__all__ = ["ClusterState"]

#: Kinds whose changes can change the gaps that are told last.
_ABOUT_NODES = ("Node", "HyperNode", "Device", "DeviceInfo", "Queue")


class ClusterState(Working):
    """The objects of a changing cluster, and the snapshot and gangs that follow from them.

    After every change `snapshot` and `workload` equal what `workbench.cluster.assemble.assemble` makes of `objects`:
    order, indices and gaps included. Snapshots share the arrays that did not change and are never changed themselves.

    `objects`: the present objects; do not change them. A modified object keeps its position among those of its kind.

    `cluster`: the initial objects, which are copied. `matrices`, `source`, `any_scheduler`, `gpus_per_node`: as for
    `workbench.cluster.assemble.assemble`.

    Notes
    -----
    What is recomputed after a change, apart from copies of arrays and lists:

    - a pod, PodGroup, Job, Deployment or top owner: the pods of its gang, and the GPU assignment on the nodes of the
      pods that changed;
    - a node's cordon, taint, label or amount of a resource: the node's row;
    - a Node that comes or goes, a HyperNode, a Device, a node's number of GPUs, a resource that no node had, a label by
      which HyperNodes select: all nodes are read, but no job and no pod. The GPUs of a node are assigned again if the
      node is new, gone, or has other GPUs; running pods on a node with another index are copied with that index;
    - a PriorityClass: every gang.

    A change to an equal state is ignored. Versions are not compared: the caller passes the changes of an object in
    their order.
    """

    def __init__(
        self,
        cluster: ClusterObjects,
        matrices: Matrices = (),
        source: str = "",
        *,
        any_scheduler: TakenSchedulers = False,
        gpus_per_node: int = 0,
    ) -> None:
        self.objects = _copied(cluster)
        self.source = source
        self._matrices = tuple(matrices)
        self._any_scheduler = any_scheduler
        self._gpus_per_node = gpus_per_node
        self._taken_at = ""
        self._parts: _Parts | None = None

    def _kept(self) -> dict[str, Any]:
        return {**super()._kept(), "objects": _copied(self.objects), "_parts": None}

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The cluster's present snapshot; raises InputError as `assemble` does."""
        return self._current().snapshot

    @property
    def workload(self) -> Workload:
        """The cluster's present gangs, and the pods that hold resources; raises InputError as `assemble` does."""
        return self._current().workload

    def members_of(self, key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Keys of the pods and of the PodGroups that belong to the gang named ``namespace/name``."""
        return self._current().members_of(key)

    def apply(self, changes: Iterable[ObjectChange], taken_at: str = "") -> tuple[ClusterSnapshot, Workload]:
        """Apply changes of objects; returns the new snapshot and workload.

        Raises InputError: as `assemble` of the changed objects: a matrix whose size is not a node's number of GPUs. The
        objects have changed nevertheless; every call raises the error until a change removes its cause.

        `changes`: changes in their order. Deleting a missing object, or adding an object that already exists in that
        state, changes nothing. `taken_at`: as in `ClusterSnapshot`.

        Returns
        -------
        ClusterSnapshot
        Workload
        """
        self._taken_at = taken_at
        parts, self._parts = self._parts, None
        with no_collection():
            changed = _Changed(self.objects, changes)
            if parts is not None:
                parts.update(changed, taken_at)
                self._parts = parts
            current = self._current()
        return current.snapshot, current.workload

    def _current(self) -> _Parts:
        if self._parts is None:
            self._parts = _Parts(
                self.objects, self._matrices, self.source, self._taken_at, self._any_scheduler, self._gpus_per_node
            )
        return self._parts


class _Changed:
    """Applies changes to a cluster's objects and collects which objects are concerned.

    `keys`: keys of the changed objects, by kind. `new_nodes`: whether a Node was added or deleted, even if it was added
    again. `redrawn`: whether a HyperNode changed in a field that the topology is built from.
    """

    def __init__(self, objects: ClusterObjects, changes: Iterable[ObjectChange]) -> None:
        self.keys: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self.new_nodes = self.redrawn = False
        for change in changes:
            n_nodes, before = len(objects.nodes), objects.hypernodes.get(change.key)
            if change.apply_to(objects):
                self.keys[change.kind][change.key] = None
                self.new_nodes |= len(objects.nodes) != n_nodes
                self.redrawn |= change.kind == "HyperNode" and _tree_part(before) != _tree_part(change.value)


class _Parts:
    """The node table, gangs and running pods of a cluster, kept up to date as its objects change."""

    def __init__(
        self,
        objects: ClusterObjects,
        matrices: Matrices,
        source: str,
        taken_at: str,
        any_scheduler: TakenSchedulers,
        gpus_per_node: int,
    ) -> None:
        self._objects = objects
        self._matrices = matrices
        self._source = source
        self._gpus_per_node = gpus_per_node
        self._table = read_nodes(objects, matrices, gpus_per_node)
        self._jobs = LiveWorkload(objects, any_scheduler)
        self._pods = PodsOnNodes()
        self._queues = _queues(objects)
        self._member_gaps = member_gaps(objects)
        self._gangs: tuple[Gang, ...] = ()
        self._last_gaps: list[Notice] = []
        self._snapshot: ClusterSnapshot | None = None
        self._follow(objects.pods, objects.pod_groups, [*objects.jobs, *objects.deployments], objects.top_owners)
        self._join(taken_at, anew=True)

    def update(self, changed: _Changed, taken_at: str) -> None:
        """Update the node table, gangs and running pods after the objects in `changed` have changed."""
        keys = changed.keys
        self._table = self._changed_table(changed)
        if keys["Queue"]:
            self._queues = _queues(self._objects)
        if keys["HyperNode"]:
            self._member_gaps = member_gaps(self._objects)
        every_gang = bool(keys["PriorityClass"]) or self._ungates(keys["GangRequest"])
        others = [*keys["Job"], *keys["Deployment"]]
        self._follow(keys["Pod"], keys["PodGroup"], others, keys["TopOwner"], every_gang)
        self._join(taken_at, anew=any(keys[kind] for kind in _ABOUT_NODES))

    def members_of(self, key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """As `ClusterState.members_of`."""
        return self._jobs.members_of(key)

    def _ungates(self, requests: Iterable[str]) -> bool:
        """Whether a Workload of Kueue changed that gated pods name: its assignment says where they go."""
        changed = set(requests)
        return bool(changed) and any(
            f"Workload {pod.metadata.namespace}/{pod.metadata.annotations.get(WORKLOAD, '')}" in changed
            for pod in self._objects.pods.values()
            if pod.gated
        )

    def _changed_table(self, changed: _Changed) -> NodeTable:
        keys, settings = changed.keys, (self._matrices, self._gpus_per_node)
        devices = keys["Device"] or keys["DeviceInfo"]
        if changed.new_nodes or changed.redrawn or (devices and keys["Node"]):
            return read_nodes(self._objects, *settings)
        if devices:
            return read_nodes(self._objects, *settings, self._table.topology)
        return with_nodes(self._table, self._objects, keys["Node"], *settings)

    def _follow(
        self,
        pods: Iterable[str],
        groups: Iterable[str],
        others: Iterable[str],
        tops: Iterable[str],
        every_gang: bool = False,
    ) -> None:
        jobs = self._jobs
        before, after = jobs.update(pods, groups, others, tops, every_gang)
        self._pods.update(before, after, self._table, jobs.queues, jobs.labels)

    def _join(self, taken_at: str, anew: bool) -> None:
        """Make the snapshot and the workload; `anew`: nodes, Devices, HyperNodes or queues have changed."""
        jobs, pods = self._jobs, self._pods
        gangs, notes = jobs.gangs_and_notices()
        if anew or gangs is not self._gangs:
            self._gangs = gangs
            self._last_gaps = other_gaps(self._objects, self._table.nodes, gangs, self._member_gaps)
        refused = refused_notices(self._objects)
        self.workload = Workload(gangs, refused, pods.holding, jobs.queues, jobs.labels, jobs.gated, notes)
        snapshot = join(
            self._table,
            self.workload,
            running=pods.running,
            used=pods.used,
            gpu_free=pods.gpu_free,
            queues=self._queues,
            running_gaps=pods.doubts.gaps(),
            last_gaps=self._last_gaps,
            exclusive=exclusive_hypernodes(self._objects, pods.running, self._table.topology),
            extras=self._objects.extras,
            source=self._source,
            taken_at=taken_at,
        )
        snapshot.know_running(pods.index)
        if self._snapshot is not None:
            snapshot.share_derived(self._snapshot)
        self._snapshot = snapshot

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The cluster's present snapshot."""
        assert self._snapshot is not None
        return self._snapshot


def _tree_part(hypernode: object) -> object:
    """The fields of a HyperNode on which the topology depends, for comparing two states of it."""
    if not isinstance(hypernode, HyperNode):
        return None
    return hypernode.tier, hypernode.tier_name, hypernode.members


def _queues(objects: ClusterObjects) -> dict[str, Queue]:
    return {"default": Queue("default"), **objects.queues}


def _copied(cluster: ClusterObjects) -> ClusterObjects:
    return replace(cluster, **{f.name: copy(getattr(cluster, f.name)) for f in fields(cluster)})
