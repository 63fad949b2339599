"""Benchmark of the embedded cluster: Jobs of 32 pods with plugins svc and env on 5,000 nodes × 8 GPUs in three tiers.

All Jobs are submitted at 0 and their pods run for 60 virtual seconds, by volcano-1.15, hard at tier 2. Goals: 30 s for
1,000 Jobs, which is 940 µs per pod, and a pod that does not cost more among 32,000 than among 1,000.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping
from typing import Any

from measure import row

from workbench.control.cluster import EmbeddedCluster

NODES, PODS = 5_000, 32
GOAL_US = 30e6 / 32_000


def cluster_objects() -> list[Mapping[str, Any]]:
    """Nodes of eight GPUs, 20 in a HyperNode of tier 1, ten of those in one of tier 2, and one of tier 3 above."""
    amounts = {"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": "8", "pods": "110"}
    names = [f"n{i:04d}" for i in range(NODES)]
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": amounts}}
        for name in names
    ]
    leaves = [_hypernode(f"leaf{i:03d}", 1, names[20 * i : 20 * i + 20], "Node") for i in range(NODES // 20)]
    below = [str(one["metadata"]["name"]) for one in leaves]
    spines = [_hypernode(f"spine{i:02d}", 2, below[10 * i : 10 * i + 10], "HyperNode") for i in range(len(below) // 10)]
    top = _hypernode("core", 3, [str(one["metadata"]["name"]) for one in spines], "HyperNode")
    return [*nodes, *leaves, *spines, top]


def _hypernode(name: str, tier: int, members: list[str], kind: str) -> dict[str, Any]:
    chosen = [{"type": kind, "selector": {"exactMatch": {"name": one}}} for one in members]
    spec = {"tier": tier, "members": chosen}
    return {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}, "spec": spec}


def job(number: int) -> dict[str, Any]:
    """A Job of 32 pods of one GPU each."""
    resources = {"limits": {"nvidia.com/gpu": 1}, "requests": {"nvidia.com/gpu": 1}}
    template = {"spec": {"containers": [{"name": "main", "image": "train", "resources": resources}]}}
    spec = {
        "minAvailable": PODS,
        "networkTopology": {"mode": "hard", "highestTierAllowed": 2},
        "plugins": {"svc": [], "env": []},
        "tasks": [{"name": "worker", "replicas": PODS, "template": template}],
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": f"job-{number:04d}"},
        "spec": spec,
    }


def life_us(objects: list[Mapping[str, Any]], jobs: int) -> float:
    """Microseconds per pod of submitting Jobs and letting them run to their end."""
    cluster = EmbeddedCluster("volcano-1.15", run_seconds=60)
    cluster.submit(*objects)
    cluster.settle()
    gc.collect()
    begin = time.perf_counter()
    cluster.submit(*(job(number) for number in range(jobs)))
    cluster.run()
    spent = (time.perf_counter() - begin) * 1e6
    if any(found.phase != "Completed" for found in cluster.jobs()):
        raise RuntimeError("benchmark: a Job did not complete")
    return spent / (jobs * PODS)


def rows() -> Iterator[dict[str, object]]:
    """The rows of this file."""
    objects = cluster_objects()
    life_us(objects, 1)
    small = [life_us(objects, 31) for _ in range(3)]
    size = f"{{}} pods, {NODES:,} nodes, per pod"
    yield row("control.run", size.format("992"), small, "none", None, GOAL_US, "volcano-1.15", goal_of="p50")
    large = [life_us(objects, 1_000)]
    yield row(
        "control.run", size.format("32,000"), large, "992 pods", min(small), GOAL_US, "volcano-1.15", goal_of="p50"
    )
