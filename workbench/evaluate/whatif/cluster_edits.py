"""Edits of the cluster: cordons, readiness, taints, terminating pods, running gangs, new nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from workbench.evaluate.whatif.edit import REPLICATED, Edit, EditedSession
from workbench.evaluate.whatif.job_edits import taint_text
from workbench.model.counted import counted, name_list
from workbench.model.gang import Gang
from workbench.model.labels import (
    CORDON_TAINT,
    HOSTNAME_LABEL,
    NODE_NAME_FIELD,
    NOT_READY_TAINTS,
    NodeLabels,
    NodeTaints,
    Taint,
)
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import DomainSpec, Topology

__all__ = ["AddNodes", "AwaitTermination", "Finish", "MakeReady", "NodesEdit", "RemoveTaint", "Uncordon", "pod_subject"]


@dataclass(frozen=True)
class NodesEdit(Edit):
    """An edit of some nodes' state. `nodes`: names of the nodes, in byte order."""

    nodes: tuple[str, ...]

    category = "wait"

    def only(self, nodes: Sequence[str]) -> Self:
        """The edit for fewer nodes."""
        return dataclasses.replace(self, nodes=tuple(nodes))

    @property
    def subject(self) -> str:
        return "nodes"

    @property
    def details(self) -> Mapping[str, Any]:
        return {"nodes": list(self.nodes)}

    def _indices(self, snapshot: ClusterSnapshot) -> list[int]:
        return [snapshot.topology.node(name) for name in self.nodes]


def _without_taints(snapshot: ClusterSnapshot, nodes: Sequence[int], gone: Any) -> NodeTaints:
    taints = snapshot.taints
    return taints.with_rows({i: [one for one in taints.sets[taints.codes[i]] if not gone(one)] for i in nodes})


@dataclass(frozen=True)
class Uncordon(NodesEdit):
    """Allow new pods on cordoned nodes."""

    kind: ClassVar[str] = "uncordon"

    def apply(self, case: EditedSession) -> EditedSession:
        """The session with the nodes schedulable."""
        snapshot, nodes = case.snapshot, self._indices(case.snapshot)
        unschedulable = snapshot.unschedulable.copy()
        unschedulable[nodes] = False
        taints = _without_taints(snapshot, nodes, lambda taint: taint.key == CORDON_TAINT)
        return case.with_snapshot(dataclasses.replace(snapshot, unschedulable=unschedulable, taints=taints))

    @property
    def before(self) -> str:
        return "cordoned"

    @property
    def after(self) -> str:
        return "schedulable"

    @property
    def text(self) -> str:
        return f"uncordon {name_list(self.nodes)}"


@dataclass(frozen=True)
class MakeReady(NodesEdit):
    """Bring nodes that are not ready, or under pressure, back to the condition Ready."""

    kind: ClassVar[str] = "ready"

    def apply(self, case: EditedSession) -> EditedSession:
        """The session with the nodes ready."""
        snapshot, nodes = case.snapshot, self._indices(case.snapshot)
        not_ready = snapshot.not_ready.copy()
        not_ready[nodes] = False
        taints = _without_taints(snapshot, nodes, lambda taint: taint.key in NOT_READY_TAINTS)
        return case.with_snapshot(dataclasses.replace(snapshot, not_ready=not_ready, taints=taints))

    @property
    def before(self) -> str:
        return "not ready"

    @property
    def after(self) -> str:
        return "ready"

    @property
    def text(self) -> str:
        return f"bring {name_list(self.nodes)} back to Ready"


@dataclass(frozen=True)
class RemoveTaint(NodesEdit):
    """Remove one taint from nodes."""

    taint: Taint

    kind: ClassVar[str] = "untaint"

    def apply(self, case: EditedSession) -> EditedSession:
        """The session without the taint on these nodes."""
        snapshot, nodes = case.snapshot, self._indices(case.snapshot)
        taints = _without_taints(snapshot, nodes, lambda taint: taint == self.taint)
        return case.with_snapshot(dataclasses.replace(snapshot, taints=taints))

    @property
    def before(self) -> str:
        return taint_text(self.taint)

    @property
    def after(self) -> None:
        return None

    @property
    def text(self) -> str:
        return f"remove the taint {taint_text(self.taint)} from {name_list(self.nodes)}"


@dataclass(frozen=True)
class AwaitTermination(Edit):
    """Wait until the terminating pods are gone. `pods`: ``namespace/name`` of each terminating pod."""

    pods: tuple[str, ...]

    kind: ClassVar[str] = "wait"
    category = "wait"

    def apply(self, case: EditedSession) -> EditedSession:
        """The session without the terminating pods."""
        return case.with_snapshot(case.snapshot.after_endings)

    @property
    def subject(self) -> str:
        return "terminating pods"

    @property
    def before(self) -> int:
        return len(self.pods)

    @property
    def after(self) -> int:
        return 0

    @property
    def text(self) -> str:
        return f"wait for {counted(len(self.pods), 'terminating pod')}"

    @property
    def details(self) -> Mapping[str, Any]:
        return {"pods": list(self.pods)}


def pod_subject(pod: RunningPod) -> str:
    """The subject of a running pod that belongs to no gang: ``pod NAMESPACE/NAME``."""
    return f"pod {pod.namespace}/{pod.name}"


@dataclass(frozen=True)
class Finish(Edit):
    """End a running job as a whole: all its pods give back what they hold, and pods of it that are pending go, too.

    `victim`: ``job NAMESPACE/NAME``, or ``pod NAMESPACE/NAME`` for a pod that belongs to no gang. `gangs` (tuple of
    str): Gang keys of its pods in the snapshot (several for the Jobs of one HyperJob, and for the replicas of one
    LeaderWorkerSet); empty for a single pod. `pods`: number of its pods.
    """

    victim: str
    gangs: tuple[str, ...]
    pods: int
    gpus: int

    kind: ClassVar[str] = "finish"
    category = "evict"

    def apply(self, case: EditedSession) -> EditedSession:
        """The session without the job, and without the HyperNodes recorded for it."""
        snapshot = case.snapshot
        if self.gangs:
            case = case.without(frozenset(gang.key for gang in case.gangs if self._has(gang)))
            index = snapshot.running_index.gangs
            snapshot = snapshot.after_end_of([pod for gang in self.gangs for pod in index.get(gang, ())])
            for gang in (self.name, *self.gangs):
                snapshot = snapshot.without_record(gang)
        else:
            snapshot = snapshot.without_pods(lambda pod: not pod.gang and pod_subject(pod) == self.victim)
        return case.with_snapshot(snapshot)

    def _has(self, gang: Gang) -> bool:
        """Whether a pending gang belongs to the job."""
        of_set = gang.key.rpartition("-")[0] if gang.kind == REPLICATED else ""
        return self.name in (gang.key, of_set) or gang.key in self.gangs

    @property
    def subject(self) -> str:
        return self.victim

    @property
    def before(self) -> str:
        return "running"

    @property
    def after(self) -> str:
        return "ended"

    @property
    def name(self) -> str:
        """``namespace/name`` of the gang or pod."""
        return self.victim.partition(" ")[2]

    @property
    def loss(self) -> str:
        """What ends: ``6 pods, 48 GPUs``."""
        return counted(self.pods, "pod") + (f", {counted(self.gpus, 'GPU')}" if self.gpus else "")

    @property
    def text(self) -> str:
        return f"end {self.name} ({self.loss})"


@dataclass(frozen=True)
class AddNodes(Edit):
    """Add empty copies of an existing node to the cluster, as members of a HyperNode.

    Attributes
    ----------
    hypernode : str
        HyperNode whose direct members the new nodes become; empty: they belong to no HyperNode.
    like : str
        Name of the node that they copy: labels except the host name, resources, GPUs, bandwidth matrix.
    present : int
        Number of nodes of the HyperNode, or of the cluster, so far.
    names : tuple of str
        Names of the new nodes.
    """

    hypernode: str
    like: str
    present: int
    names: tuple[str, ...]

    kind: ClassVar[str] = "add-nodes"
    category = "nodes"

    def apply(self, case: EditedSession) -> EditedSession:
        """The session with the new nodes; nodes are numbered anew."""
        return case.with_snapshot(_with_new_nodes(case.snapshot, self.hypernode, self.like, self.names))

    @property
    def subject(self) -> str:
        return f"HyperNode {self.hypernode}" if self.hypernode else "cluster"

    @property
    def before(self) -> int:
        return self.present

    @property
    def after(self) -> int:
        return self.present + len(self.names)

    @property
    def text(self) -> str:
        where = f" to HyperNode {self.hypernode}" if self.hypernode else ""
        return f"add {counted(len(self.names), 'node')} like {self.like}{where}"

    @property
    def details(self) -> Mapping[str, Any]:
        return {"like": self.like, "names": list(self.names)}


def _with_new_nodes(snapshot: ClusterSnapshot, hypernode: str, like: str, names: Sequence[str]) -> ClusterSnapshot:
    """A snapshot with further nodes; node indices of arrays and of running pods follow the new numbering."""
    old = snapshot.topology
    model = old.node(like)
    source = [*range(old.n_nodes), *([model] * len(names))]
    given = [*old.node_names, *names]
    inside = set()
    above = old.domain(hypernode) if hypernode else -1
    while above >= 0:
        inside.add(above)
        above = int(old.parent[above])
    new = list(range(old.n_nodes, len(given)))
    specs = [
        DomainSpec(
            name,
            int(old.tier[j]),
            [*old.nodes_of(j).tolist(), *(new if j in inside else ())],
            old.domain_names[old.parent[j]] if old.parent[j] >= 0 else "",
            old.tier_names[j],
        )
        for j, name in enumerate(old.domain_names)
    ]
    topology = Topology.build(given, specs, old.problems, old.ready)
    position = {name: i for i, name in enumerate(given)}
    order = np.array([position[name] for name in topology.node_names])
    rows = np.array(source)[order]
    fresh = order >= old.n_nodes
    moved = {position[name]: i for i, name in enumerate(topology.node_names)}
    used = snapshot.used[rows].copy()
    used[fresh] = 0
    gpu_free = snapshot.gpu_free[rows].copy()
    gpu_free[fresh] = snapshot.gpu_total[model]
    unschedulable = snapshot.unschedulable[rows].copy()
    unschedulable[fresh] = False
    not_ready = snapshot.not_ready[rows].copy()
    not_ready[fresh] = False
    labels = snapshot.labels.only(rows.astype(np.int32))
    columns = dict(labels.columns)
    columns[NODE_NAME_FIELD] = (np.arange(len(rows), dtype=np.int32), topology.node_names)
    labels = NodeLabels(columns, len(rows)).with_rows(
        np.flatnonzero(fresh).tolist(), lambda i: _labels_of(labels, i, topology.node_names[i])
    )
    taints = snapshot.taints.only(rows.astype(np.int32)).with_rows(dict.fromkeys(np.flatnonzero(fresh).tolist(), ()))
    shares = snapshot.gpu_shares
    if shares is not None:
        shares = shares[rows].copy()
        shares[fresh] = 0

    def renewed(texts: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return texts and tuple("" if fresh[i] else texts[rows[i]] for i in range(len(rows)))

    return dataclasses.replace(
        snapshot,
        topology=topology,
        allocatable=snapshot.allocatable[rows],
        used=used,
        labels=labels,
        taints=taints,
        unschedulable=unschedulable,
        not_ready=not_ready,
        gpu_total=snapshot.gpu_total[rows],
        gpu_free=gpu_free,
        node_matrix=snapshot.node_matrix[rows],
        running=tuple(
            pod if pod.node < 0 else dataclasses.replace(pod, node=moved[pod.node]) for pod in snapshot.running
        ),
        addresses=renewed(snapshot.addresses) or (),
        node_uids=renewed(snapshot.node_uids),
        node_resource_versions=renewed(snapshot.node_resource_versions),
        gpu_shares=shares,
        # A switch file describes nodes by their old numbers; the tier-1 HyperNodes describe the new ones, too.
        switches=None,
    )


def _labels_of(labels: NodeLabels, node: int, name: str) -> dict[str, str]:
    row = labels.row(node)
    return {**row, HOSTNAME_LABEL: name} if HOSTNAME_LABEL in row else row
