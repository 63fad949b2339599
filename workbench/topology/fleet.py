"""A fleet: a generated cluster (`Fabric`) on which gangs run already, in queues, and gangs that wait for it.

Sizes of gangs, gaps between them and queues are drawn with a seed; the same parameters give the same fleet.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.errors import InputError
from workbench.model.counted import counted
from workbench.model.gpu_annotation import GPU_ANNOTATION, gpu_annotation
from workbench.model.pod_counts import ROLE_LABEL
from workbench.model.resources import quantity_text, request_vector
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot, Queue
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION
from workbench.topology.generate import GIB, Fabric, Manifest, NodeShape
from workbench.topology.job_shape import JobShape

__all__ = ["BusyFabric", "RunningGang", "fleet"]

GPU = "nvidia.com/gpu"
NAMESPACE, TASK = "default", "worker"
GPUS_PER_NODE = 8

#: What a pod requests for each of its GPUs: a node offers 12 cores and 128 GiB for each.
CPU_PER_GPU, GIB_PER_GPU = 11, 120

#: Gangs by their GPUs, of 40,000 that hold 629,145 GPUs: six of ten GPUs of 131,072 nodes. Three of four gangs hold a
#: node or less, half of the GPUs in use belong to gangs of 64 GPUs and more.
RUNNING_SIZES = {
    1: 8_873,
    2: 4_800,
    4: 4_800,
    8: 12_000,
    16: 4_983,
    32: 2_400,
    64: 1_200,
    128: 540,
    256: 250,
    512: 100,
    1024: 40,
    2048: 10,
    4096: 4,
}
#: Pods of 8 GPUs in gangs that wait or arrive: each size is as likely as its inverse, so that all ask for equally much.
WAITING_SIZES = tuple(8 << k for k in range(10))

#: Idle nodes lie together: one of so many gangs is followed by some.
_GANGS_PER_GAP = 8
#: Share of the cluster's GPUs that one queue may hold.
_CAPABILITY = 0.5


@dataclass(frozen=True)
class RunningGang:
    """A gang that runs: one pod on each of its nodes.

    `nodes`: index of each pod's node, in the order of the pods' numbers. `gpu_mask`: GPUs that each pod holds on its
    node, as a bit mask.
    """

    name: str
    queue: str
    nodes: Sequence[int]
    gpu_mask: int

    @property
    def n_gpus(self) -> int:
        """GPUs of each pod."""
        return self.gpu_mask.bit_count()


@dataclass(frozen=True)
class BusyFabric(Fabric):
    """A generated cluster with queues and running gangs.

    Parameters
    ----------
    running : sequence of RunningGang
        Names that rise in byte order.

    Others as for `Fabric`.
    """

    queues: tuple[Queue, ...] = ()
    running: tuple[RunningGang, ...] = ()

    def snapshot(self) -> ClusterSnapshot:
        """The cluster with its running pods as a `ClusterSnapshot`, made directly instead of through objects."""
        idle = super().snapshot()
        pods = [pod for gang in self.running for pod in _pods(gang)]
        used, free = idle.used.copy(), idle.gpu_free.copy()
        nodes = np.array([pod.node for pod in pods], dtype=np.int64)
        masks = np.array([pod.gpu_mask for pod in pods], dtype=np.uint64)
        rows = {g: request_vector(idle.resources, _requests(g))[0] for g in {gang.n_gpus for gang in self.running}}
        if pods:
            np.add.at(used, nodes, np.stack([rows[pod.gpu_mask.bit_count()] for pod in pods]))
            np.bitwise_xor.at(free[:, 0], nodes, masks)
        queues = {"default": Queue("default"), **{queue.name: queue for queue in self.queues}}
        return dataclasses.replace(idle, used=used, gpu_free=free, queues=queues, running=tuple(pods))

    def manifests(self) -> list[Manifest]:
        """Manifests of all HyperNodes, Nodes, Devices, Queues, PodGroups of running gangs and their pods."""
        names = self.node_names()
        return [
            *super().manifests(),
            *map(_queue_manifest, self.queues),
            *map(_group_manifest, self.running),
            *(manifest for gang in self.running for manifest in _pod_manifests(gang, names)),
        ]


def _requests(gpus: int) -> dict[str, int]:
    return {"cpu": 1000 * CPU_PER_GPU * gpus, "memory": GIB * GIB_PER_GPU * gpus, GPU: gpus}


def _pod_names(gang: RunningGang) -> list[tuple[str, int]]:
    """Names and nodes of a gang's pods, in byte order of the names."""
    return sorted((f"{gang.name}-{TASK}-{i}", node) for i, node in enumerate(gang.nodes))


def _annotations(gang: RunningGang) -> dict[str, str]:
    gpus = tuple(i for i in range(GPUS_PER_NODE) if gang.gpu_mask >> i & 1)
    return {GROUP_NAME_ANNOTATION: gang.name, GPU_ANNOTATION: gpu_annotation((gpus,), gpus)}


def _pods(gang: RunningGang) -> Iterator[RunningPod]:
    requests, labels, annotations = _requests(gang.n_gpus), {ROLE_LABEL: TASK}, _annotations(gang)
    for name, node in _pod_names(gang):
        yield RunningPod(
            namespace=NAMESPACE,
            name=name,
            node=node,
            requests=requests,
            gang=f"{NAMESPACE}/{gang.name}",
            role=TASK,
            gpu_mask=gang.gpu_mask,
            labels=labels,
            annotations=annotations,
            queue=gang.queue,
            group_phase="Running",
        )


def _pod_manifests(gang: RunningGang, node_names: Sequence[str]) -> Iterator[Manifest]:
    amounts = {name: quantity_text(name, amount) for name, amount in _requests(gang.n_gpus).items()}
    for name, node in _pod_names(gang):
        container = {
            "name": TASK,
            "image": "example.invalid/train:1",
            "resources": {"requests": dict(amounts), "limits": dict(amounts)},
        }
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "labels": {ROLE_LABEL: TASK},
                "annotations": _annotations(gang),
            },
            "spec": {"schedulerName": "volcano", "nodeName": node_names[node], "containers": [container]},
            "status": {"phase": "Running"},
        }


def _group_manifest(gang: RunningGang) -> Manifest:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": gang.name, "namespace": NAMESPACE},
        "spec": {"minMember": len(gang.nodes), "queue": gang.queue},
        "status": {"phase": "Running"},
    }


def _queue_manifest(queue: Queue) -> Manifest:
    limits = {name: quantity_text(name, amount) for name, amount in (queue.capability or {}).items()}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": queue.name},
        "spec": {"weight": queue.weight, "capability": limits},
    }


def fleet(
    sizes: Sequence[int] = (16, 16, 16, 32), busy: int = 60, pending: int = 1000, queues: int = 8, seed: int = 0
) -> tuple[BusyFabric, tuple[JobShape, ...]]:
    """A fleet of nodes with 8 GPUs in tiers, of which running gangs hold a part, and gangs that wait.

    Raises InputError: as for `Fabric`.

    Parameters
    ----------
    sizes : sequence of int
        As for `Fabric`: by default 131,072 nodes, 1,048,576 GPUs, in racks of 16, and 16 racks in a HyperNode of tier
        2.
    busy : int
        Percent of the GPUs that running gangs hold, about; 60 is 40,000 gangs on 131,072 nodes.
    pending : int
        Gangs that wait, of 8 to 4,096 pods with 8 GPUs each.
    queues : int
        Queues that the gangs are in; the first has the weight 1, the next 2, and so on.
    """
    shape = NodeShape(cpu=96, memory_gib=1024, devices={GPU: GPUS_PER_NODE})
    names = [f"team-{i:0{len(str(queues - 1))}d}" for i in range(queues)]
    idle = Fabric(tuple(sizes), prefixes=tuple(f"tier{t}-" for t in range(1, len(sizes) + 1)), shape=shape)
    rng = np.random.default_rng(seed)
    limits = {GPU: int(_CAPABILITY * idle.n_nodes * GPUS_PER_NODE)}
    made = BusyFabric(
        **{field.name: getattr(idle, field.name) for field in dataclasses.fields(Fabric)},
        queues=tuple(Queue(name, 1 + i, limits) for i, name in enumerate(names)),
        running=_running(idle.n_nodes, busy, names, rng),
    )
    return made, tuple(_waiting(pending, idle, busy, names, rng))


def _running(n_nodes: int, busy: int, queues: Sequence[str], rng: np.random.Generator) -> tuple[RunningGang, ...]:
    """Gangs in random order side by side: whole nodes for one of 8 GPUs and more, smaller ones share nodes."""
    share = n_nodes * GPUS_PER_NODE * busy / 100 / sum(size * count for size, count in RUNNING_SIZES.items())
    counts = {size: round(count * share) for size, count in RUNNING_SIZES.items()}
    order = rng.permutation(np.repeat(list(counts), list(counts.values()))).tolist()
    blocks: list[tuple[int, list[int]]] = []  # nodes, and the GPUs of each gang on them
    shared: list[int] = []
    for size in order:
        if size >= GPUS_PER_NODE:
            blocks.append((size // GPUS_PER_NODE, [size]))
        elif shared and sum(shared) + size <= GPUS_PER_NODE:
            shared.append(size)
        else:
            shared = [size]
            blocks.append((1, shared))
    gaps = _gaps(n_nodes - sum(nodes for nodes, _ in blocks), len(blocks), rng)
    found: list[tuple[list[int], int]] = []
    node = 0
    for (nodes, gangs), gap in zip(blocks, gaps, strict=True):
        first = 0
        for size in gangs:
            gpus = min(size, GPUS_PER_NODE)
            found.append((list(range(node, node + nodes)), (1 << gpus) - 1 << first))
            first += gpus
        node += nodes + gap
    width = len(str(max(len(found) - 1, 0)))
    at = rng.integers(len(queues), size=len(found)).tolist()
    return tuple(RunningGang(f"run-{i:0{width}d}", queues[at[i]], nodes, mask) for i, (nodes, mask) in enumerate(found))


def _gaps(idle: int, blocks: int, rng: np.random.Generator) -> list[int]:
    """Idle nodes after each block of busy ones, which add up to `idle`."""
    if idle < 0:
        raise InputError("more than the fleet holds", source="busy", got=counted(-idle, "node") + " too few")
    gaps = np.zeros(max(blocks, 1), dtype=np.int64)
    some = rng.permutation(len(gaps))[: -(-len(gaps) // _GANGS_PER_GAP)]
    lengths = rng.exponential(size=len(some))
    gaps[some] = rng.multinomial(idle, lengths / lengths.sum())
    return gaps.tolist()[:blocks]


def _waiting(
    count: int, idle: Fabric, busy: int, queues: Sequence[str], rng: np.random.Generator
) -> Iterator[JobShape]:
    """Jobs of whole nodes: a third may cross HyperNodes of no tier but the lowest that could hold it, a third prefers
    closeness, the others say nothing.
    """
    sizes = np.array([size for size in WAITING_SIZES if size <= max(idle.n_nodes // 32, WAITING_SIZES[0])])
    chance = (1 / sizes) / (1 / sizes).sum()
    width = len(str(max(count - 1, 0)))
    modes: tuple[Literal["hard", "soft", ""], ...] = ("hard", "soft", "")
    rows = (rng.choice(sizes, size=count, p=chance), rng.integers(3, size=count), rng.integers(len(queues), size=count))
    for i, (pods, mode, queue) in enumerate(zip(*(row.tolist() for row in rows), strict=True)):
        yield JobShape(
            f"job-{i:0{width}d}",
            pods,
            cpu=CPU_PER_GPU * GPUS_PER_NODE,
            memory_gib=GIB_PER_GPU * GPUS_PER_NODE,
            devices={GPU: GPUS_PER_NODE},
            mode=modes[mode],
            highest_tier=_lowest_tier(pods, idle, busy) if modes[mode] else None,
            task=TASK,
            queue=queues[queue],
        )


def _lowest_tier(pods: int, idle: Fabric, busy: int) -> int:
    """The lowest tier whose HyperNodes have idle nodes enough on average; the highest one if none has."""
    nodes = 1
    for tier, size in enumerate(idle.sizes, start=1):
        nodes *= size
        if nodes * (100 - busy) >= 100 * pods:
            return tier
    return idle.n_tiers
