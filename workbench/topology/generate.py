"""Generate balanced HyperNode trees (`Fabric`); `workbench.topology.job_shape` generates jobs to place on them.

A fabric can be written as Kubernetes objects (plain dicts) or converted directly to values of the model, which takes
milliseconds at 20,000 nodes and gives the same values as loading the objects. The named presets are in
`workbench.topology.presets`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.notice import Notice
from workbench.model.resources import is_gpu_resource, resource_columns
from workbench.model.snapshot import ClusterSnapshot, gpu_words
from workbench.model.topology import DomainSpec, Topology
from workbench.objects.device import device_manifest
from workbench.objects.hypernode import make_hypernode
from workbench.objects.hypernode_manifest import hypernode_manifest

__all__ = ["GIB", "MAX_NODES", "Fabric", "Manifest", "NodeShape"]

Manifest = dict[str, Any]

#: Largest fabric that is made; ten times the largest cluster that Kubernetes supports and the scale of our benchmarks.
MAX_NODES = 200_000

GIB = 1 << 30


@dataclass(frozen=True)
class NodeShape:
    """Resources and labels of every node of a generated cluster.

    `cpu`: CPU cores. `devices`: extended resources; those that count GPUs or NPUs make the node's devices 0 … count -
    1.
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

    Raises InputError: a size or a count below 1, no tier, more than `MAX_NODES` nodes, a list that does not match the
    tiers, a matrix that does not match the node's GPUs.

    Numbers in names are padded with zeros to equal width, so that byte order is the order of the cables.

    Parameters
    ----------
    sizes : sequence of int
        Nodes per HyperNode of tier 1, HyperNodes of tier 1 per HyperNode of tier 2, and so on upwards.
    roots : int
        Number of such trees side by side; no HyperNode joins them.
    prefixes : sequence of str
        Beginning of the HyperNodes' names, one per tier, or one for all. Tiers that share a prefix are numbered
        through from the lowest tier up.
    first_node : int
        Number of the first node.
    tier_names : sequence of str, optional
        ``tierName`` of each tier (Volcano 1.14 and later).
    matrix : BandwidthMatrix, optional
        GPU links of every node.
    """

    # Fields are checked first. Then the same cluster in two ways: as values at once (`topology`, `snapshot`), and as
    # objects and manifests (`hypernodes`, `nodes`, `devices`, `manifests`); reading the latter gives the former.

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
