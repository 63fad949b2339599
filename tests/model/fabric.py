r"""Small snapshots for tests of the model.

::

    tier 3                s6
                 ________/  \________
    tier 2      s4                  s5
               /  \                /  \
    tier 1   s0    s1            s2    s3
            /  \  /  \          /  \  /  \
    node    0  1  2  3          4  5  6  7
"""

from __future__ import annotations

import numpy as np

from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import DomainSpec, Topology


def three_level_tree() -> Topology:
    leaves = [DomainSpec(f"s{i}", 1, [2 * i, 2 * i + 1], parent="s4" if i < 2 else "s5") for i in range(4)]
    upper = [
        DomainSpec("s4", 2, [0, 1, 2, 3], parent="s6"),
        DomainSpec("s5", 2, [4, 5, 6, 7], parent="s6"),
        DomainSpec("s6", 3, range(8)),
    ]
    return Topology.build([f"node{i}" for i in range(8)], leaves + upper)


def snapshot_on(topology: Topology, gpus: int = 8) -> ClusterSnapshot:
    """Every node: 96 CPUs, 1 TiB, 110 pods, `gpus` GPUs, nothing running."""
    n = topology.n_nodes
    return ClusterSnapshot(
        topology=topology,
        resources=("cpu", "memory", "pods", "nvidia.com/gpu"),
        allocatable=np.tile(np.array([96_000, 1 << 40, 110, gpus], dtype=np.int64), (n, 1)),
        used=np.zeros((n, 4), dtype=np.int64),
        labels=NodeLabels.from_rows(topology.node_names, [{} for _ in range(n)]),
        taints=NodeTaints.from_rows([() for _ in range(n)]),
        unschedulable=np.zeros(n, dtype=np.bool_),
        gpu_total=np.full((n, 1), (1 << gpus) - 1, dtype=np.uint64),
        gpu_free=np.full((n, 1), (1 << gpus) - 1, dtype=np.uint64),
    )
