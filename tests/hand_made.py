"""Snapshots and placements built by hand, for the tests of evaluate, report and cli."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot, gpu_words
from workbench.model.topology import DomainSpec, Topology


def tree(sizes: Sequence[int], prefix: str = "s") -> Topology:
    """A balanced tree: nodes per leaf, leaves per next domain, and so on upwards, ending in one root."""
    total = int(np.prod(sizes))
    specs, below = [], 1
    parents: list[list[str]] = []
    names: list[list[str]] = []
    for size in sizes:
        below *= size
        count = total // below
        start = sum(len(row) for row in names)
        names.append([f"{prefix}{start + i}" for i in range(count)])
    for tier, row in enumerate(names):
        upper = names[tier + 1] if tier + 1 < len(names) else None
        parents.append([upper[i // sizes[tier + 1]] if upper else "" for i in range(len(row))])
    below = 1
    for tier, size in enumerate(sizes, start=1):
        below *= size
        for i, name in enumerate(names[tier - 1]):
            specs.append(DomainSpec(name, tier, range(i * below, (i + 1) * below), parents[tier - 1][i]))
    return Topology.build([f"node{i}" for i in range(total)], specs)


def document_tree() -> Topology:
    """The Volcano document's tree.

    ::

        tier 3                 s6
        tier 2         s4              s5
        tier 1     s0      s1      s2      s3
        nodes     0  1    2  3    4  5    6  7
    """
    return tree((2, 2, 2))


def dgx_like() -> BandwidthMatrix:
    """Two groups of four GPUs, 48 GB/s inside and 15 across, one slow direction."""
    groups = np.arange(8) // 4
    gb_s = np.where(groups[:, None] == groups[None, :], 48.0, 15.0)
    gb_s[1, 4] = 4.64
    np.fill_diagonal(gb_s, 700.0)
    return BandwidthMatrix(gb_s, source="made by hand")


def snapshot_of(topology: Topology, gpus: int = 8, busy: Mapping[int, int] | None = None) -> ClusterSnapshot:
    """Every node with 96 cores and `gpus` GPUs; `busy` maps nodes to masks of GPUs in use. 8 GPUs have a matrix."""
    n = topology.n_nodes
    allocatable = np.tile(np.array([96_000, 1 << 40, 110, gpus], dtype=np.int64), (n, 1))
    used = np.zeros_like(allocatable)
    free = [(1 << gpus) - 1] * n
    for node, mask in (busy or {}).items():
        free[node] &= ~mask
        used[node, 3] = mask.bit_count()
    return ClusterSnapshot(
        topology=topology,
        resources=("cpu", "memory", "pods", "nvidia.com/gpu"),
        allocatable=allocatable,
        used=used,
        labels=NodeLabels.from_rows(topology.node_names, [{}] * n),
        taints=NodeTaints.from_rows([()] * n),
        unschedulable=np.zeros(n, dtype=np.bool_),
        gpu_total=gpu_words([(1 << gpus) - 1] * n),
        gpu_free=gpu_words(free),
        matrices=(dgx_like(),) if gpus == 8 else (),
        node_matrix=np.full(n, 0 if gpus == 8 else -1, dtype=np.int32),
        source="made by hand",
    )


def gang_of(name: str, pods: int, gpus: int = 8, constraint: TopologyConstraint | None = None) -> Gang:
    role = Role("worker", pods, {"cpu": 1000, "nvidia.com/gpu": gpus}, container_gpus=(gpus,))
    return Gang("default", name, (role,), min_available=pods, constraint=constraint)


def placement_of(
    gang: Gang,
    topology: Topology,
    nodes: Sequence[int],
    masks: Sequence[int] | None = None,
    rank: Sequence[int] | None = None,
) -> Placement:
    """A placement on given nodes (-1: unplaced) with given GPU masks."""
    return Placement(
        gang=gang,
        topology=topology,
        policy="by-hand",
        parameters={},
        node=np.array(nodes, dtype=np.int32),
        gpu_words=None if masks is None else gpu_words(list(masks)),
        rank=None if rank is None else np.array(rank, dtype=np.int32),
    )
