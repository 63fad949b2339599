"""Clusters of leaf switches for tests: one node per pod, every switch given by its free nodes and its state."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.model.extras import AscendWish, extras_of
from workbench.model.gang import Gang, Role
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot, gpu_words
from workbench.model.switches import SwitchStates, SwitchTable
from workbench.model.topology import DomainSpec, Topology

LABEL_OF = {"foundation": "large-model-schema", "padding": "large-model-schema", "common": "normal-schema"}
REQUEST = {"huawei.com/Ascend910": 8}


@dataclass(frozen=True)
class Switch:
    """One switch; its nodes are ``<name>-n0`` ..., the last `free` of them free unless `free_nodes` names them.

    `jobs` are other people's: (name, kind, has pods elsewhere too).
    """

    name: str
    total: int
    free: int
    state: str = "idle"
    free_nodes: Sequence[str] | None = None
    jobs: Sequence[tuple[str, str, bool]] = field(default_factory=tuple)

    @property
    def nodes(self) -> list[str]:
        return [f"{self.name}-n{i}" for i in range(self.total)]

    @property
    def open_nodes(self) -> set[str]:
        return set(self.nodes[self.total - self.free :] if self.free_nodes is None else self.free_nodes)


def fabric(switches: Sequence[Switch], per_switch: int, level: str = "") -> ClusterSnapshot:
    """A snapshot in which every node that is not free is cordoned, and other people's jobs run without a request."""
    names = [node for switch in switches for node in switch.nodes]
    specs = [DomainSpec(switch.name, 1, [names.index(n) for n in switch.nodes], "top") for switch in switches]
    topology = Topology.build(names, [*specs, DomainSpec("top", 2, range(len(names)), "")])
    table = SwitchTable.build(
        [
            (switch.name, f"10.0.0.{i}", [(topology.node(node), p) for p, node in enumerate(switch.nodes)])
            for i, switch in enumerate(switches)
        ],
        len(names),
        per_switch,
        SwitchStates.of([switch.state for switch in switches]),
        level,
    )
    free = set().union(*(switch.open_nodes for switch in switches))
    n = len(names)
    others = [
        pod
        for switch in switches
        for job, kind, crossing in switch.jobs
        for pod in _other_job(job, kind, crossing, topology.node(switch.nodes[0]))
    ]
    return ClusterSnapshot(
        topology=topology,
        resources=("cpu", "memory", "pods", "huawei.com/Ascend910"),
        allocatable=np.tile(np.array([64_000, 1 << 40, 110, 8], dtype=np.int64), (n, 1)),
        used=np.zeros((n, 4), dtype=np.int64),
        labels=NodeLabels.from_rows(topology.node_names, [{}] * n),
        taints=NodeTaints.from_rows([()] * n),
        unschedulable=np.array([name not in free for name in topology.node_names], dtype=np.bool_),
        gpu_total=gpu_words([255] * n),
        gpu_free=gpu_words([255] * n),
        running=tuple(others),
        switches=table,
    )


def _other_job(job: str, kind: str, crossing: bool, node: int) -> list[RunningPod]:
    places = [node, -1] if crossing else [node]
    return [RunningPod("others", f"{job}-{p}", p, {}, f"others/{job}", job_class=LABEL_OF[kind]) for p in places]


def job(name: str, kind: str, pods: int) -> Gang:
    """A new job of one of the three kinds, a whole node per pod."""
    role = Role("worker", pods, REQUEST, container_gpus=(8,))
    return Gang("default", name, (role,), min_available=pods, extras=extras_of(AscendWish(LABEL_OF[kind])))


def running_pod(
    snapshot: ClusterSnapshot, name: str, job_name: str, kind: str, node: str, annotations: Mapping[str, str]
) -> RunningPod:
    """A pod of a job with a whole node."""
    return RunningPod(
        "default",
        name,
        snapshot.topology.node(node),
        REQUEST,
        f"default/{job_name}",
        "worker",
        gpu_mask=255,
        annotations=annotations,
        job_class=LABEL_OF[kind],
    )


def states(snapshot: ClusterSnapshot) -> dict[str, str]:
    """State of every switch by name, derived from the running pods."""
    book = snapshot.ledger().switches
    assert book is not None
    return dict(zip(book.table.names, book.states().names(), strict=True))


def with_running(snapshot: ClusterSnapshot, pods: Sequence[RunningPod]) -> ClusterSnapshot:
    """The snapshot with further running pods; their nodes are in use."""
    used, gpu_free = snapshot.used.copy(), snapshot.gpu_free.copy()
    for pod in pods:
        if pod.node >= 0 and pod.requests:
            used[pod.node, 3] += 8
            gpu_free[pod.node] = 0
    return dataclasses.replace(snapshot, used=used, gpu_free=gpu_free, running=(*snapshot.running, *pods))
