"""`ClusterFacts`: what is known of a cluster at one moment, the data behind a `ClusterSnapshot`."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.kernels.node_states import NodeStates
from workbench.model.arrays import Longs, Words, distinct
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.display import Displayed, Tabular
from workbench.model.extras import Extra, GpuPlan, empty_extra
from workbench.model.gpu_shares import (
    Milli,
    add_shares,
    capped_by_gpus,
    check_shares,
    free_milli,
    shares_of_mask,
    words_of_mask,
)
from workbench.model.labels import FilterCache, NodeLabels, NodeTaints
from workbench.model.notice import Notice
from workbench.model.resources import ASSUMED, is_gpu_resource, request_vector
from workbench.model.running_index import RunningIndex
from workbench.model.running_pod import RunningPod
from workbench.model.switch_book import RunningPods
from workbench.model.switches import SwitchTable, switches_of_hypernodes
from workbench.model.topology import Topology
from workbench.model.value import Value

__all__ = ["NO_MATRIX", "ClusterFacts", "Queue"]

#: `ClusterFacts.node_matrix` of a node whose bandwidths nobody knows.
NO_MATRIX = -1

E = TypeVar("E", bound=Extra)


@dataclass(frozen=True)
class Queue:
    """A Volcano queue; amounts of resources are in base units (milli-CPU, bytes, counts).

    Attributes
    ----------
    weight : int
        Weight of the queue's share of the cluster, for the plugin proportion.
    capability : mapping of str to int, optional
        Most that the queue may hold; None, or a resource that is missing: no limit.
    deserved : mapping of str to int, optional
        Resources that the queue deserves, for the plugin capacity.
    guarantee : mapping of str to int, optional
        Resources reserved for the queue.
    priority : int
        Queues of higher priority come first.
    created : str
        When the queue was created, as the API writes it (UTC); empty: unknown.
    """

    name: str
    weight: int = 1
    capability: Mapping[str, int] | None = None
    deserved: Mapping[str, int] | None = None
    guarantee: Mapping[str, int] | None = None
    priority: int = 0
    created: str = ""


# Derived parts of a snapshot that are worth keeping when the cluster changes, with the fields that they follow from.
_FOLLOWS_FROM = {
    "filters": ("labels", "taints", "unschedulable", "not_ready"),
    "switch_table": ("topology", "switches"),
    "largest_allocatable": ("allocatable",),
    "domain_allocatable": ("topology", "allocatable"),
    "domain_used": ("topology", "used"),
    "idle": ("allocatable", "used"),
    "node_states": ("allocatable", "used"),
    "running_jobs": ("running",),
    "running_index": ("running",),
    "releasing": ("running", "resources", "topology"),
    "assumed": ("running", "topology"),
}


@dataclass(frozen=True, eq=False, repr=False)
class ClusterFacts(Value, Displayed, Tabular):
    """Fields of a `ClusterSnapshot` and what follows from them: all that a session reads of the cluster.

    Every array is read-only; rows for nodes are in the node order of `topology`.

    Attributes
    ----------
    resources : tuple of str
        Columns of the resource arrays (`workbench.model.resources.resource_columns`).
    allocatable, used : ndarray of shape (n, r), int64
        Base units. A node that does not declare ``pods`` has no limit on them (listed in `gaps`).
    unschedulable : ndarray of shape (n,), bool
        Cordoned nodes.
    gpu_total : ndarray of shape (n, w), uint64
        Healthy GPUs of each node, a bit each.
    gpu_free : ndarray of shape (n, w), uint64
        GPUs, as bits, of which no running pod holds a share; only these can be given to pods that request whole GPUs.
    matrices : tuple of BandwidthMatrix
        The distinct bandwidth matrices of the nodes.
    node_matrix : ndarray of shape (n,), int32
        Index in `matrices` of each node's matrix, `NO_MATRIX` (-1) for none.
    records : mapping of str to str
        HyperNodes that the scheduler recorded for gangs it placed (`Placement.records`); empty after its restart.
    gaps : tuple of Notice
        Gaps of the input that were not filled by guessing.
    taken_at : str
        ISO 8601 time of the observation; empty for files without one.
    addresses : tuple of str
        InternalIP of each node, empty where unknown; an empty tuple: none is known.
    switches : SwitchTable, optional
        Switches of a switch file; None: the tier-1 HyperNodes are the switches (`switch_table`).
    gpu_plans : tuple of GpuPlan
        GPUs that are planned for pods that are not bound yet (`koordinator-gpu`).
    node_uids, node_resource_versions : tuple of str, optional
        metadata.uid and metadata.resourceVersion of each node, empty where unknown; None: no node has one.
    gpu_shares : ndarray of shape (n, g), int16, optional
        Thousandths that pods hold of each GPU that they share, 1 to 1000; 0 for one that is wholly free or held whole.
        The columns are GPU numbers, at least as many as the largest machine has. None: no GPU is shared.
    exclusive : mapping of str to str
        HyperNode that each running Job of a HyperJob holds alone, by ``namespace/hyperjob/job``: no pod of another job
        gets an accelerator there.
    not_ready : ndarray of shape (n,), bool
        Nodes whose condition Ready is not True; no policy places a pod there, whether or not they have the taint that
        Kubernetes' node controller gives such nodes. By default every node is ready.
    extras : mapping of type to Extra
        What only one scheduler reads of the cluster as a whole (`workbench.model.extras`), by class; `extra` reads one.

    """

    # Fields first; then what follows from them, computed once when it is asked for:
    #   running pods   by gang, by job and the switches they are under
    #   idle           resources and GPUs, of nodes and of domains
    #   releasing      what terminating pods hold, and the facts after they are gone (`after_endings`)

    topology: Topology
    resources: tuple[str, ...]
    allocatable: Longs
    used: Longs
    labels: NodeLabels
    taints: NodeTaints
    unschedulable: npt.NDArray[np.bool_]
    gpu_total: Words
    gpu_free: Words
    matrices: tuple[BandwidthMatrix, ...] = ()
    node_matrix: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    queues: Mapping[str, Queue] = field(default_factory=dict)
    running: tuple[RunningPod, ...] = ()
    records: Mapping[str, str] = field(default_factory=dict)
    gaps: tuple[Notice, ...] = ()
    source: str = ""
    taken_at: str = ""
    addresses: tuple[str, ...] = ()
    switches: SwitchTable | None = None
    gpu_plans: tuple[GpuPlan, ...] = ()
    node_uids: tuple[str, ...] | None = None
    node_resource_versions: tuple[str, ...] | None = None
    gpu_shares: Milli | None = None
    exclusive: Mapping[str, str] = field(default_factory=dict)
    not_ready: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    extras: Mapping[type[Extra], Extra] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = self.topology.n_nodes
        if len(self.not_ready) == 0 and n:
            object.__setattr__(self, "not_ready", np.zeros(n, dtype=np.bool_))
        if len(self.node_matrix) == 0 and n:
            object.__setattr__(self, "node_matrix", np.full(n, NO_MATRIX, dtype=np.int32))
        for name in ("allocatable", "used", "unschedulable", "not_ready", "gpu_total", "gpu_free", "node_matrix"):
            array = getattr(self, name)
            if len(array) != n:
                raise InputError("one row per node is needed", source=name, got=f"{len(array)} rows", expected=f"{n}")
            array.flags.writeable = False
        for name in ("node_uids", "node_resource_versions"):
            texts = getattr(self, name)
            if texts is not None and len(texts) != n:
                raise InputError("one per node is needed", source=name, got=f"{len(texts)}", expected=f"{n} or None")
            if texts is not None and not any(texts):
                object.__setattr__(self, name, None)
        if self.gpu_shares is not None:
            check_shares(self.gpu_shares, self.gpu_free, self.gpu_total)
            self.gpu_shares.flags.writeable = False
            if not self.gpu_shares.any():
                object.__setattr__(self, "gpu_shares", None)

    @property
    def n_nodes(self) -> int:
        return self.topology.n_nodes

    def __repr__(self) -> str:
        gpus = int(np.bitwise_count(self.gpu_total).sum())
        free = int(np.bitwise_count(self.gpu_free).sum())
        pods = len(self.running)
        return (
            f"{type(self).__name__}({counted(self.n_nodes, 'node')}, {free} of {counted(gpus, 'GPU')} free, "
            f"{counted(pods, 'running pod')}, {self.topology!r})"
        )

    @cached_property
    def filters(self) -> FilterCache:
        """Cache of which nodes each pod selector, affinity and set of tolerations accepts; each is evaluated once."""
        return FilterCache(self.labels, self.taints, self.closed)

    @property
    def closed(self) -> npt.NDArray[np.bool_]:
        """Nodes that take no pods because they are cordoned or not ready: bool of shape (n,)."""
        return self.unschedulable | self.not_ready

    @cached_property
    def switch_table(self) -> SwitchTable | None:
        """The leaf switches: those of the switch file, or else one per tier-1 HyperNode; None if there are none."""
        if self.switches is None or not self.switches.names:
            return switches_of_hypernodes(self.topology)
        return self.switches

    @cached_property
    def running_jobs(self) -> RunningPods:
        """The running pods as arrays, job by job, with the fields that decide the states of the leaf switches."""
        return RunningPods.read(self.running)

    @cached_property
    def running_index(self) -> RunningIndex:
        """The running pods by gang and by queue."""
        return RunningIndex.read(self.running)

    def know_running(self, index: RunningIndex) -> None:
        """Take over the index of `running` from somebody who keeps it while the cluster changes."""
        self.__dict__["running_index"] = index

    @cached_property
    def gpu_columns(self) -> tuple[int, ...]:
        """Indices of the columns in `resources` that count whole GPUs."""
        return tuple(i for i, name in enumerate(self.resources) if is_gpu_resource(name))

    @cached_property
    def idle(self) -> Longs:
        """Idle resources of each node (allocatable minus used): read-only int64 of shape (n, r), in base units."""
        idle = np.subtract(self.allocatable, self.used, order="C")
        idle.flags.writeable = False
        return idle

    @property
    def gpu_milli_free(self) -> Milli:
        """Free thousandths of each GPU: int16 of shape (n, g).

        1000 for a GPU that is wholly free, 0 for one that is held whole or that the node does not have.
        """
        return free_milli(self.gpu_free, self.gpu_total, self.gpu_shares)

    @cached_property
    def node_states(self) -> NodeStates:
        """Nodes grouped by equal idle, used and allocatable amounts, so that a policy examines one node per group."""
        return NodeStates(self.idle, self.used, self.allocatable)

    @cached_property
    def idle_by_gpus(self) -> Longs:
        """Idle resources of each node, GPUs limited to the number of free ones: read-only int64 of shape (n, r)."""
        return capped_by_gpus(self.idle, self.gpu_free, self.gpu_columns)

    @cached_property
    def largest_allocatable(self) -> Longs:
        """Largest allocatable amount of each resource on any one node, 0 without nodes: read-only int64 (r,)."""
        largest: Longs = self.allocatable.max(axis=0, initial=0)
        largest.flags.writeable = False
        return largest

    @cached_property
    def domain_allocatable(self) -> Longs:
        """Allocatable resources in each HyperNode, in the last row in the whole cluster: read-only int64 (d + 1, r)."""
        totals = self.topology.domain_sums(self.allocatable)
        totals.flags.writeable = False
        return totals

    @cached_property
    def domain_used(self) -> Longs:
        """Used resources in each HyperNode, in the last row in the whole cluster: read-only int64 (d + 1, r)."""
        totals = self.topology.domain_sums(self.used)
        totals.flags.writeable = False
        return totals

    @cached_property
    def domain_idle(self) -> Longs:
        """Idle resources in each HyperNode, in the last row in the whole cluster: read-only int64 (d + 1, r)."""
        totals = self.domain_allocatable - self.domain_used
        totals.flags.writeable = False
        return totals

    @cached_property
    def releasing(self) -> Longs | None:
        """Resources that terminating pods still hold on each node, int64 (n, r); None if no pod is terminating."""
        terminating = [pod for pod in self.running_index.terminating if pod.node >= 0]
        if not terminating:
            return None
        held = np.zeros_like(self.used)
        for pod in terminating:
            held[pod.node] += request_vector(self.resources, pod.requests)[0]
        return held

    @cached_property
    def gpus_releasing(self) -> Words | None:
        """GPUs that terminating pods still hold, as bits, uint64 (n, w); None if no pod is terminating."""
        return None if self.releasing is None else self.after_endings.gpu_free & ~self.gpu_free

    @cached_property
    def assumed(self) -> Longs | None:
        """CPU and memory that scheduler scores assume of each node's pods beyond their requests: int64 of shape (n, 2).

        None if nothing is assumed. Kubernetes assumes 100m CPU and 200 MiB for a container without a request.
        """
        assuming = [pod for pod in self.running_index.assuming if pod.node >= 0]
        if not assuming:
            return None
        held = np.zeros((self.n_nodes, len(ASSUMED)), dtype=np.int64)
        nodes = np.fromiter((pod.node for pod in assuming), np.int64, len(assuming))
        for column, name in enumerate(ASSUMED):
            amounts = np.fromiter((pod.assumed.get(name, 0) for pod in assuming), np.int64, len(assuming))
            np.add.at(held[:, column], nodes, amounts)
        held.flags.writeable = False
        return held

    @cached_property
    def after_endings(self) -> Self:
        """The snapshot as it will be after its terminating pods are gone; the same object if no pod is terminating."""
        if self.releasing is None:
            return self
        return self.after_end_of(self.running_index.terminating)

    def _without_gpus_of(self, pods: Iterable[RunningPod]) -> tuple[Words, Milli | None]:
        """`gpu_free` and `gpu_shares` after the given running pods have given back their GPUs."""
        gpu_free = self.gpu_free.copy()
        shares = None if self.gpu_shares is None else self.gpu_shares.copy()
        for pod in pods:
            if pod.node < 0:
                continue
            if not pod.gpu_milli:
                gpu_free[pod.node] |= words_of_mask(pod.gpu_mask, gpu_free.shape[1]) & self.gpu_total[pod.node]
            elif shares is not None:
                held = shares_of_mask(pod.node, pod.gpu_mask, pod.gpu_milli)
                add_shares(-1, *held, shares, gpu_free, self.gpu_total)
        return gpu_free, shares

    def share_derived(self, before: ClusterFacts) -> None:
        """Take over cached derived values of an earlier snapshot where both would be computed from the same fields.

        `before`: a snapshot of the cluster at another moment. A value is copied only if the fields from which it was
        computed are the same objects in both snapshots.
        """
        for name, used in _FOLLOWS_FROM.items():
            if name in before.__dict__ and all(getattr(self, each) is getattr(before, each) for each in used):
                self.__dict__[name] = before.__dict__[name]

    @property
    def exclusive_nodes(self) -> npt.NDArray[np.int32]:
        """Nodes of the HyperNodes in `exclusive`, ascending."""
        known = [name for name in self.exclusive.values() if self.topology.has_domain(name)]
        nodes = [self.topology.nodes_of(self.topology.domain(name)) for name in known]
        return distinct(np.concatenate([np.zeros(0, dtype=np.int32), *nodes]))

    def extra(self, kind: type[E]) -> E:
        """The snapshot's extra of a class; the empty one of the class if it has none."""
        found = self.extras.get(kind)
        return empty_extra(kind) if found is None else cast("E", found)

    def address_of(self, node: int) -> str:
        """InternalIP of the node with index `node`; empty if unknown."""
        return self.addresses[node] if self.addresses else ""

    def matrix_of(self, node: int) -> BandwidthMatrix | None:
        """GPU bandwidth matrix of the node with index `node`; None if unknown."""
        number = int(self.node_matrix[node])
        return None if number < 0 else self.matrices[number]

    def after_end_of(self, gone: Collection[RunningPod]) -> Self:
        """The snapshot after some of its running pods, the same objects, have given back their resources."""
        used = self.used.copy()
        for pod in gone:
            if pod.node >= 0:
                used[pod.node] -= request_vector(self.resources, pod.requests)[0]
        gpu_free, shares = self._without_gpus_of(gone)
        ids = set(map(id, gone))
        remaining = tuple([pod for pod in self.running if id(pod) not in ids])
        after = dataclasses.replace(self, used=used, gpu_free=gpu_free, gpu_shares=shares, running=remaining)
        if "running_index" in self.__dict__:
            after.know_running(self.running_index.changed(gone, ()))
        return after
