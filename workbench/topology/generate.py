"""Generate balanced HyperNode trees (`Fabric`) and jobs of equal pods (`JobShape`) to place on them.

Each can be written as Kubernetes objects (plain dicts) or converted directly to values of the model, which takes
milliseconds at 20,000 nodes and gives the same values as loading the objects. The named presets are in
`workbench.topology.presets`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from workbench.errors import InputError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.notice import Notice
from workbench.model.resources import is_gpu_resource, resource_columns
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot, gpu_words
from workbench.model.topology import DomainSpec, Topology
from workbench.objects.device import device_manifest
from workbench.objects.hypernode import make_hypernode
from workbench.objects.hypernode_manifest import hypernode_manifest

__all__ = ["MAX_NODES", "Fabric", "JobShape", "NodeShape", "scenario_of"]

Manifest = dict[str, Any]

#: Largest fabric that is made; ten times the largest cluster that Kubernetes supports and the scale of our benchmarks.
MAX_NODES = 200_000

GIB = 1 << 30


@dataclass(frozen=True)
class NodeShape:
    """Resources and labels of every node of a generated cluster.

    Attributes
    ----------
    cpu : int
        CPU cores.
    memory_gib : int
    pods : int
    devices : mapping of str to int
        Extended resources; those that count GPUs or NPUs make the node's devices 0 … count - 1.
    labels : mapping of str to str
    """

    cpu: int = 96
    memory_gib: int = 1024
    pods: int = 110
    devices: Mapping[str, int] = field(default_factory=lambda: {"nvidia.com/gpu": 8})
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_gpus(self) -> int:
        """Number of GPUs or NPUs of one node."""
        return sum(count for name, count in self.devices.items() if is_gpu_resource(name))

    @property
    def resources(self) -> dict[str, int]:
        """Resources of one node in base units (`workbench.model.resources`)."""
        return {"cpu": self.cpu * 1000, "memory": self.memory_gib * GIB, "pods": self.pods, **self.devices}


@dataclass(frozen=True)
class Fabric:
    """A generated cluster: a balanced tree of HyperNodes over equal nodes.

    ``sizes=(2, 2, 2)`` is the tree of the Volcano design document::

        tier 3                 s6
        tier 2         s4              s5
        tier 1     s0      s1      s2      s3
        nodes     0  1    2  3    4  5    6  7

    Parameters
    ----------
    sizes : sequence of int
        Nodes per HyperNode of tier 1, HyperNodes of tier 1 per HyperNode of tier 2, and so on upwards.
    roots : int
        Number of such trees side by side; no HyperNode joins them.
    prefixes : sequence of str
        Beginning of the HyperNodes' names, one per tier, or one for all. Tiers that share a prefix are numbered
        through from the lowest tier up.
    node_prefix : str
    first_node : int
        Number of the first node.
    tier_names : sequence of str, optional
        ``tierName`` of each tier (Volcano 1.14 and later).
    shape : NodeShape
    matrix : BandwidthMatrix, optional
        GPU links of every node.

    Raises
    ------
    InputError
        A size or a count below 1, no tier, more than `MAX_NODES` nodes, a list that does not match the tiers, a
        matrix that does not match the node's GPUs.

    Notes
    -----
    Numbers in names are padded with zeros to equal width, so that byte order is the order of the cables.
    """

    sizes: tuple[int, ...]
    roots: int = 1
    prefixes: tuple[str, ...] = ("s",)
    node_prefix: str = "node"
    first_node: int = 0
    tier_names: tuple[str, ...] = ()
    shape: NodeShape = NodeShape()
    matrix: BandwidthMatrix | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(self.sizes))
        object.__setattr__(self, "prefixes", tuple(self.prefixes))
        object.__setattr__(self, "tier_names", tuple(self.tier_names))
        if not self.sizes or min(self.sizes) < 1 or self.roots < 1:
            raise InputError(
                "a tree needs at least one tier and at least one member everywhere",
                source="sizes",
                got=f"{list(self.sizes)}, {self.roots} roots",
                expected="integers >= 1",
            )
        if self.n_nodes > MAX_NODES:
            raise InputError("too many nodes", source="sizes", got=str(self.n_nodes), expected=f"at most {MAX_NODES}")
        if len(self.prefixes) not in (1, self.n_tiers):
            raise InputError(
                "prefixes do not match the tiers",
                source="prefixes",
                got=str(len(self.prefixes)),
                expected=f"1 or {self.n_tiers}",
            )
        if self.tier_names and len(self.tier_names) != self.n_tiers:
            raise InputError(
                "tier names do not match the tiers",
                source="tier_names",
                got=str(len(self.tier_names)),
                expected=f"none or {self.n_tiers}",
            )
        if self.matrix is not None and len(self.matrix) != self.shape.n_gpus:
            raise InputError(
                "the matrix does not match the GPUs of a node",
                source="matrix",
                got=f"{len(self.matrix)} x {len(self.matrix)}",
                expected=counted(self.shape.n_gpus, "GPU"),
            )

    @property
    def n_tiers(self) -> int:
        return len(self.sizes)

    @property
    def n_nodes(self) -> int:
        return self.roots * math.prod(self.sizes)

    def n_domains(self, tier: int) -> int:
        """Number of HyperNodes of a tier, 1 <= tier <= n_tiers."""
        return self.roots * math.prod(self.sizes[tier:])

    def node_names(self) -> list[str]:
        """Names of all nodes, leaf by leaf."""
        width = len(str(self.first_node + self.n_nodes - 1))
        return [f"{self.node_prefix}{i:0{width}d}" for i in range(self.first_node, self.first_node + self.n_nodes)]

    def domain_names(self) -> list[list[str]]:
        """Names of the HyperNodes of each tier, lowest tier first, left to right in the tree."""
        prefixes = self.prefixes * self.n_tiers if len(self.prefixes) == 1 else self.prefixes
        counts = [self.n_domains(tier) for tier in range(1, self.n_tiers + 1)]
        named: list[list[str]] = []
        for tier, prefix in enumerate(prefixes):
            same = [count for p, count in zip(prefixes, counts, strict=True) if p == prefix]
            first = sum(count for p, count in zip(prefixes[:tier], counts[:tier], strict=True) if p == prefix)
            width = len(str(sum(same) - 1))
            named.append([f"{prefix}{i:0{width}d}" for i in range(first, first + counts[tier])])
        return named

    def topology(self) -> Topology:
        """The HyperNode tree as a `Topology`."""
        names = self.domain_names()
        specs = []
        per_domain = 1
        for tier, size in enumerate(self.sizes, start=1):
            per_domain *= size
            for i, name in enumerate(names[tier - 1]):
                specs.append(
                    DomainSpec(
                        name=name,
                        tier=tier,
                        nodes=np.arange(i * per_domain, (i + 1) * per_domain, dtype=np.int32),
                        parent=names[tier][i // self.sizes[tier]] if tier < self.n_tiers else "",
                        tier_name=self.tier_names[tier - 1] if self.tier_names else "",
                    )
                )
        return Topology.build(self.node_names(), specs)

    def snapshot(self) -> ClusterSnapshot:
        """The idle cluster as a `ClusterSnapshot`, made directly instead of through Kubernetes objects."""
        topology = self.topology()
        n, shape = topology.n_nodes, self.shape
        resources = resource_columns(shape.devices)
        amounts = shape.resources
        row = np.array([amounts[name] for name in resources], dtype=np.int64)
        gpus = np.repeat(gpu_words([(1 << shape.n_gpus) - 1]), n, axis=0)
        return ClusterSnapshot(
            topology=topology,
            resources=resources,
            allocatable=np.tile(row, (n, 1)),
            used=np.zeros((n, len(resources)), dtype=np.int64),
            labels=NodeLabels.from_rows(topology.node_names, [shape.labels] * n),
            taints=NodeTaints.from_rows([()] * n),
            unschedulable=np.zeros(n, dtype=np.bool_),
            gpu_total=gpus,
            gpu_free=gpus.copy(),
            matrices=() if self.matrix is None else (self.matrix,),
            node_matrix=np.full(n, -1 if self.matrix is None else 0, dtype=np.int32),
            gaps=self._gaps(),
            source=f"generated: {self.roots} trees of {' x '.join(str(s) for s in self.sizes)}",
        )

    def _gaps(self) -> tuple[Notice, ...]:
        if self.matrix is not None or self.shape.n_gpus < 2:
            return ()
        text = f"no bandwidth matrix for {counted(self.n_nodes, 'node')} with several GPUs"
        return (Notice("no-bandwidth-matrix", text, numbers={"count": self.n_nodes}),)

    def hypernodes(self) -> Iterator[Manifest]:
        """Manifests of the HyperNodes, lowest tier first, with members by exact name."""
        members = self.node_names()
        for tier, names in enumerate(self.domain_names(), start=1):
            size = self.sizes[tier - 1]
            for i, name in enumerate(names):
                own = members[i * size : (i + 1) * size]
                tier_name = self.tier_names[tier - 1] if self.tier_names else ""
                nodes, children = (own, ()) if tier == 1 else ((), own)
                yield hypernode_manifest(
                    make_hypernode(name, tier, nodes=nodes, children=children, tier_name=tier_name)
                )
            members = names

    def nodes(self) -> Iterator[Manifest]:
        """Manifests of the Nodes."""
        shape = self.shape
        amounts: Manifest = {"cpu": str(shape.cpu), "memory": f"{shape.memory_gib}Gi", "pods": str(shape.pods)}
        amounts |= {name: str(shape.devices[name]) for name in sorted(shape.devices)}
        for name in self.node_names():
            metadata: Manifest = {"name": name}
            if shape.labels:
                metadata["labels"] = dict(shape.labels)
            yield {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": metadata,
                "status": {"capacity": dict(amounts), "allocatable": dict(amounts)},
            }

    def devices(self) -> Iterator[Manifest]:
        """Manifests of Koordinator Devices with the GPU bandwidth matrix, one per node; none without a matrix."""
        if self.matrix is None:
            return
        for name in self.node_names():
            yield device_manifest(name, range(len(self.matrix)), self.matrix)

    def manifests(self) -> list[Manifest]:
        """Manifests of all HyperNodes, Nodes and Devices, in this order."""
        return [*self.hypernodes(), *self.nodes(), *self.devices()]


@dataclass(frozen=True)
class JobShape:
    """A generated Volcano Job of equal pods with one container each.

    Parameters
    ----------
    name : str
    pods : int
        Number of pods, all of which are needed (minAvailable).
    cpu : int
        CPU cores per pod.
    memory_gib : int
        Memory per pod in GiB.
    devices : mapping of str to int
        Extended resources per pod.
    mode : str
        ``hard``, ``soft`` or empty for a job without a topology.
    highest_tier : int, optional
        highestTierAllowed of the job; None: absent.
    group_size : int
        Pods per partition (partitionPolicy, Volcano 1.14 and later), each wanted inside one HyperNode of tier 1;
        0: no partitions.
    task : str
        Name of the only task.
    queue : str
    """

    name: str
    pods: int
    cpu: int = 8
    memory_gib: int = 64
    devices: Mapping[str, int] = field(default_factory=lambda: {"nvidia.com/gpu": 8})
    mode: Literal["hard", "soft", ""] = ""
    highest_tier: int | None = None
    group_size: int = 0
    task: str = "worker"
    queue: str = "default"

    def __post_init__(self) -> None:
        if self.pods < 1:
            raise InputError("a job needs pods", source="pods", got=str(self.pods), expected="an integer >= 1")
        if self.mode not in ("hard", "soft", ""):
            raise InputError("unknown mode", source="mode", got=repr(self.mode), expected="hard, soft or nothing")
        if self.group_size < 0 or (self.group_size and self.pods % self.group_size):
            raise InputError(
                "the pods do not divide into groups",
                source="group_size",
                got=f"{self.group_size} for {counted(self.pods, 'pod')}",
                expected="0 or a divisor of pods",
            )

    def manifest(self) -> Manifest:
        """The manifest of the Job (batch.volcano.sh/v1alpha1)."""
        amounts = {"cpu": str(self.cpu), "memory": f"{self.memory_gib}Gi"}
        amounts |= {name: str(self.devices[name]) for name in sorted(self.devices)}
        task: Manifest = {
            "name": self.task,
            "replicas": self.pods,
            "template": {
                "spec": {
                    "restartPolicy": "OnFailure",
                    "containers": [
                        {
                            "name": self.task,
                            "image": "example.invalid/train:1",
                            "resources": {"requests": dict(amounts), "limits": dict(amounts)},
                        }
                    ],
                }
            },
        }
        if self.group_size:
            task["partitionPolicy"] = {
                "totalPartitions": self.pods // self.group_size,
                "partitionSize": self.group_size,
                "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            }
        spec: Manifest = {"schedulerName": "volcano", "minAvailable": self.pods}
        if self.queue != "default":
            spec["queue"] = self.queue
        if self.mode:
            spec["networkTopology"] = {"mode": self.mode}
            if self.highest_tier is not None:
                spec["networkTopology"]["highestTierAllowed"] = self.highest_tier
        spec["tasks"] = [task]
        return {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": self.name, "namespace": "default"},
            "spec": spec,
        }

    def gang(self) -> Gang:
        """The job as a `Gang`, made directly instead of through its manifest."""
        requests = {"cpu": self.cpu * 1000, "memory": self.memory_gib * GIB, **self.devices}
        gpus = sum(count for name, count in self.devices.items() if is_gpu_resource(name))
        role = Role(self.task, self.pods, requests, container_gpus=(gpus,) if gpus else ())
        return Gang(
            "default",
            self.name,
            (role,),
            min_available=self.pods,
            constraint=TopologyConstraint(self.mode, self.highest_tier) if self.mode else None,
            sub_groups=self._sub_groups(),
            sub_grouped=self.group_size > 0,
            queue=self.queue,
        )

    def _sub_groups(self) -> tuple[SubGroup, ...]:
        size, limit = self.group_size, TopologyConstraint("hard", 1)
        return tuple(
            SubGroup(
                f"{self.task}-{i}",
                tuple(range(i * size, (i + 1) * size)),
                limit,
                size,
                policy=self.task,
                match_index=i,
            )
            for i in range(self.pods // size if size else 0)
        )


def scenario_of(fabric: Fabric, jobs: Sequence[JobShape]) -> Scenario:
    """An idle generated cluster and its jobs as a `Scenario`, equal to what `workbench.load` makes of their
    manifests.
    """
    gangs = sorted((job.gang() for job in jobs), key=lambda gang: gang.key.encode())
    return Scenario(fabric.snapshot(), tuple(gangs))
