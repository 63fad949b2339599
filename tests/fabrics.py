"""Small clusters for tests, with explicit names and amounts."""

from __future__ import annotations

import numpy as np

from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.snapshot import ClusterSnapshot, gpu_words
from workbench.model.topology import DomainSpec, Topology

RESOURCES = ("cpu", "memory", "pods", "nvidia.com/gpu")


def snapshot(
    nodes,
    domains=(),
    *,
    cpu=64_000,
    memory=256 << 30,
    pods=110,
    gpus=8,
    used=None,
    free_gpus=None,
    labels=None,
    taints=None,
    cordoned=(),
    matrices=None,
    running=(),
    problems=(),
    ready=True,
):
    """A cluster of nodes of one kind.

    `nodes`: names. `domains`: (name, tier, node names, parent). `used`: amounts by node name in the order of RESOURCES.
    `free_gpus`: mask by node name. `matrices`: matrix by node name.
    """
    position = {name: i for i, name in enumerate(nodes)}
    specs = [DomainSpec(name, tier, [position[n] for n in members], parent) for name, tier, members, parent in domains]
    topology = Topology.build(nodes, specs, problems, ready)
    names = topology.node_names
    allocatable = np.tile(np.array([cpu, memory, pods, gpus], dtype=np.int64), (len(names), 1))
    full = (1 << gpus) - 1
    distinct = list({id(m): m for m in (matrices or {}).values()}.values())
    number = {id(m): i for i, m in enumerate(distinct)}
    return ClusterSnapshot(
        topology=topology,
        resources=RESOURCES,
        allocatable=allocatable,
        used=np.array([(used or {}).get(n, (0, 0, 0, 0)) for n in names], dtype=np.int64).reshape(len(names), 4),
        labels=NodeLabels.from_rows(names, [(labels or {}).get(n, {}) for n in names]),
        taints=NodeTaints.from_rows([(taints or {}).get(n, ()) for n in names]),
        unschedulable=np.array([n in cordoned for n in names], dtype=np.bool_),
        gpu_total=gpu_words([full] * len(names)),
        gpu_free=gpu_words([full & (free_gpus or {}).get(n, full) for n in names]),
        matrices=tuple(distinct),
        node_matrix=np.array([number[id(matrices[n])] if n in (matrices or {}) else -1 for n in names], dtype=np.int32),
        running=tuple(running),
    )


def document_tree(**options):
    r"""The tree of the design documents.

    tier 3              s6
                     /      \
    tier 2        s4          s5
                 /  \        /  \
    tier 1     s0    s1    s2    s3
              0 1    2 3   4 5   6 7
    """
    n = [f"node{i}" for i in range(8)]
    domains = [
        *[(f"s{i}", 1, n[2 * i : 2 * i + 2], f"s{4 + i // 2}") for i in range(4)],
        ("s4", 2, n[:4], "s6"),
        ("s5", 2, n[4:], "s6"),
        ("s6", 3, n, ""),
    ]
    return snapshot(n, domains, **options)
