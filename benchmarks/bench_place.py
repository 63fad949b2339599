"""Benchmark of `place()`, from a loaded snapshot and a gang to a Placement with chosen GPUs.

Goals: issue A, "`place()` at least 300,000 pods/s for a 5,000-pod job; 5,000 pods of 8 GPUs on 5,000 nodes in a 4-tier
tree by `volcano-1.13` with GPUs chosen at most 100 ms". Unless a row says otherwise, every call gets a topology and
matrices without cached values, as after loading.
"""

from __future__ import annotations

import dataclasses
import heapq
import time
from collections.abc import Iterator

import numpy as np
from measure import microseconds, row
from numpy.typing import NDArray

from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.gang import Gang, Role
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.policies import Policy, get_policy
from workbench.topology.machines import machine
from workbench.topology.presets import generate_scenario

GOAL_PODS_PER_S = 300_000
GOAL_TREE_US = 100_000.0
FIVE_THOUSAND = (10, 10, 10, 5)


def as_loaded(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """A copy of the snapshot without any cached derived values."""
    given = {f.name: getattr(snapshot.topology, f.name) for f in dataclasses.fields(Topology)}
    matrices = tuple(BandwidthMatrix(m.gb_s, m.labels, m.source) for m in snapshot.matrices)
    return dataclasses.replace(snapshot, topology=Topology(**given), matrices=matrices)


def place_us(policy: Policy, gang: Gang, snapshot: ClusterSnapshot, repeats: int) -> NDArray[np.float64]:
    """Microseconds from snapshot and gang to Placement for each of `repeats` calls, creation of the ledger included."""
    times = np.empty(repeats)
    for i in range(repeats):
        fresh = as_loaded(snapshot)
        begin = time.perf_counter()
        result = policy.place(gang, fresh.ledger())
        times[i] = (time.perf_counter() - begin) * 1e6
        if not isinstance(result, Placement) or result.n_placed != gang.n_pods:
            raise RuntimeError(f"benchmark: {gang.key} was not placed whole: {result!r}")
    return times


def heap_first_fit_us(gang: Gang, snapshot: ClusterSnapshot, repeats: int = 3) -> float:
    """Microseconds of the baseline in plain Python, the least of `repeats` runs.

    It keeps nodes in a heap by name and places each pod on the first that fits, with the lowest free GPUs.
    """
    (role,) = gang.roles
    columns = [(i, role.requests[name]) for i, name in enumerate(snapshot.resources) if role.requests.get(name)]
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        idle = (snapshot.allocatable - snapshot.used).tolist()
        free = [int(words[0]) for words in snapshot.gpu_free]
        heap = [(int(rank), node) for node, rank in enumerate(snapshot.topology.node_rank)]
        heapq.heapify(heap)
        answer: list[tuple[int, int]] = []
        while heap and len(answer) < role.count:
            node = heap[0][1]
            row = idle[node]
            if any(row[i] < amount for i, amount in columns):
                heapq.heappop(heap)
                continue
            for i, amount in columns:
                row[i] -= amount
            taken = 0
            for _ in range(role.n_gpus):
                lowest = free[node] & -free[node]
                taken |= lowest
                free[node] ^= lowest
            answer.append((node, taken))
        best = min(best, (time.perf_counter() - begin) * 1e6)
        if len(answer) != role.count:
            raise RuntimeError("benchmark: the baseline did not place every pod")
    return best


def measured(
    name: str, policy: str, gang: Gang, snapshot: ClusterSnapshot, goal_us: float | None, note: str = ""
) -> dict[str, object]:
    """A row of the result table for placing `gang` by `policy` on a snapshot without cached values."""
    times = place_us(get_policy(policy), gang, snapshot, 200)
    rate = gang.n_pods / float(np.percentile(times, 50))
    return row(
        f"place.{name}",
        f"{gang.n_pods:,} pods, {snapshot.n_nodes:,} nodes",
        times,
        "heapq first fit",
        heap_first_fit_us(gang, snapshot),
        goal_us,
        f"{policy}; {rate:.1f} M pods/s{'; ' if note else ''}{note}",
    )


def on_a_used_snapshot(
    name: str, policy: str, gang: Gang, snapshot: ClusterSnapshot, goal_us: float | None
) -> dict[str, object]:
    """A row like that of `measured`, on a snapshot on which gangs were placed before, as in a session or a notebook."""
    chosen, kept = get_policy(policy), as_loaded(snapshot)
    chosen.place(gang, kept.ledger())
    times = microseconds(lambda: chosen.place(gang, kept.ledger()), 500)
    size, baseline_us = f"{gang.n_pods:,} pods, {snapshot.n_nodes:,} nodes", heap_first_fit_us(gang, snapshot)
    note = f"{policy}; the snapshot was used before"
    return row(f"place.{name}, again", size, times, "heapq first fit", baseline_us, goal_us, note, goal_of="p50")


def rows() -> Iterator[dict[str, object]]:
    """All rows of this benchmark's result table."""
    scenario = generate_scenario("use-case-1", pods=5000, sizes=FIVE_THOUSAND)
    tree = scenario.snapshot.with_matrix(machine("dgx1-v100"))
    (job,) = scenario.gangs
    plain = Gang("default", "plain", (Role("worker", 5000, {"cpu": 16_000, "memory": 64 << 30}),), 5000)
    goal = 5000 / GOAL_PODS_PER_S * 1e6
    for policy in ("allocate", "volcano-1.13", "gang", "binpack", "spread", "random"):
        yield measured("plain job", policy, plain, tree, goal)
    for policy in ("volcano-1.13+gpu-bottleneck", "volcano-1.13+gpu-lowest-index"):
        yield measured("hard job, 4 tiers", policy, job, tree, GOAL_TREE_US, "8 GPUs per pod")
    halves = dataclasses.replace(job.roles[0], requests={"cpu": 16_000, "nvidia.com/gpu": 4}, container_gpus=(4,))
    shared = dataclasses.replace(job, roles=(halves,))
    yield measured("two pods per node", "volcano-1.13+gpu-bottleneck", shared, tree, None, "4 GPUs per pod")
    few = dataclasses.replace(job, roles=(dataclasses.replace(job.roles[0], count=8),), min_available=8)
    for policy, note in (
        ("volcano-1.13+gpu-bottleneck", "every leaf is dry-run"),
        ("volcano-1.15+gpu-bottleneck", "two-level search"),
    ):
        yield measured("small hard job", policy, few, tree, None, note)
        yield on_a_used_snapshot("small hard job", policy, few, tree, 300.0)
    for pods in (3000, 5000):
        scenario = generate_scenario("use-case-1", pods=pods)
        yield measured("use case 1", "volcano-1.13", scenario.gangs[0], scenario.snapshot, None)
    scenario = generate_scenario("use-case-2", group_size=0)
    yield measured("use case 2", "volcano-1.13", scenario.gangs[0], scenario.snapshot, None, "without its groups")
