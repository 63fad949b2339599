"""Benchmark of `kube-1.37-topology`: a gang in one rack, of few racks beside plain Python, and of fifty.

Plain Python tries rack after rack, node by node, and scores the racks; it must find the same nodes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

from bench_kube import answer, cluster, for_the_oracle, gang, take
from measure import microseconds, row

from tests.reference.kube_one_pod import Oracle
from workbench.model.extras import extras_of
from workbench.model.gang import Gang
from workbench.model.kube_group import KubeGroup
from workbench.model.snapshot import ClusterSnapshot

POLICY = "kube-1.37-topology"
SMALL_NODES, SMALL_PODS = 300, 16
LARGE_NODES, LARGE_PODS = 5_000, 512
GOAL_US = 5_000
SCORED = ("cpu", "memory")


def in_rack(pods: int, key: str = "rack") -> Gang:
    """A gang of `pods` equal pods that share a rack."""
    wanted = gang(pods)
    return Gang(
        wanted.namespace,
        wanted.name,
        wanted.roles,
        wanted.min_available,
        extras=extras_of(KubeGroup(given=True, topology_key=key)),
    )


def plain_python(pods: int, where: ClusterSnapshot) -> list[str]:
    """Nodes of a gang by plain Python, which places it rack by rack, pod by pod; every rack must hold the gang."""
    nodes, running = for_the_oracle(where)
    found: list[tuple[int, list[str]]] = []
    for rack in sorted({node["labels"]["rack"] for node in nodes}):
        mine = [node for node in nodes if node["labels"]["rack"] == rack]
        names = {node["name"] for node in mine}
        oracle = Oracle(mine, [each for each in running if each["node"] in names])
        chosen = take(oracle, pods, mine)
        full = 0
        for name in SCORED:
            offered = sum(node["allocatable"][name] for node in mine)
            full += min(sum(each["requests"][name] for each in oracle.pods), offered) * 100 // offered
        found.append((full // len(SCORED), chosen))
    return max(found, key=lambda each: each[0])[1]


def rows() -> Iterator[dict[str, object]]:
    """Rows of the result table: three racks beside plain Python, and fifty racks of a hundred nodes."""
    small, wanted = cluster(SMALL_NODES), in_rack(SMALL_PODS)
    fault = "" if answer(wanted, small, POLICY) == plain_python(SMALL_PODS, small) else "plain Python finds other nodes"
    plain = microseconds(lambda: plain_python(SMALL_PODS, small), 3)
    ours = microseconds(lambda: answer(wanted, small, POLICY), 50)
    size = f"{SMALL_PODS} pods in one of 3 racks, {SMALL_NODES} busy nodes"
    yield row("kube-1.37-topology", size, ours, "plain Python", float(plain.min()), None, "same nodes", fault=fault)
    large = cluster(LARGE_NODES)
    # What making the cluster left behind is not the policy's to clear away.
    gc.collect()
    for key, real in (("rack", "33.4 s"), ("", "2.7 s")):
        ours = microseconds(lambda key=key: answer(in_rack(LARGE_PODS, key), large, POLICY), 50)
        where = "in one of 50 racks" if key else "anywhere"
        size = f"{LARGE_PODS} pods of 1 GPU {where}, {LARGE_NODES:,} busy nodes"
        goal = GOAL_US if key else None
        yield row("kube-1.37-topology", size, ours, "", None, goal, f"the real kube-scheduler: {real} of CPU")
