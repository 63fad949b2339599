"""Benchmark of 15,000 small gangs in a row by `volcano-1.15`: Kueue's performance test for topology-aware scheduling.

Goal of issue 3: 15,000 workloads on 640 nodes in at most 1 s. Shapes and order of arrival are those of the generator
(kubernetes-sigs/kueue, performance-scheduler, TAS configuration): five cohorts of six queues, 500 workloads each, one
block of ten racks of 64 nodes. Quotas, preemption and running times are ignored: workloads come in the order of their
creation, *required* is hard at the rack, *preferred* and *balanced* are soft, and before each workload the oldest ones
are given back while 60 % of the CPUs are in use. Kueue's own minutes are those of a control plane, not of a search, and
no baseline for it.

Timed is everything from the rows of the table to Placements: gangs made, placed, given back, GC on. Baselines: the same
compiled dry run (`DryRuns`) of every rack, then the block, made afresh for each workload; and `place` on one ledger.
Both must place every pod of the 15,000 as the stream does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure import row
from numpy.typing import NDArray

from workbench.kernels.dry_run_values import Counts
from workbench.kernels.dry_runs import DryRuns
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.ledger import Ledger
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot, gpu_words
from workbench.model.topology import DomainSpec, Topology
from workbench.policies import Policy, get_policy
from workbench.policies.volcano.parts.scores import score_weights
from workbench.policies.volcano.v1_15.hypernode_scores import HyperNodeParameters, topology_scores_1_15

RACKS, NODES_PER_RACK = 10, 64
NODE = {"cpu": 96_000, "memory": 256 << 30, "pods": 110}
"""``pods`` is the kubelet's default; the generator leaves it out."""
QUEUES = 5 * 6
CPUS = RACKS * NODES_PER_RACK * NODE["cpu"]
BUSY = CPUS * 6 // 10

GOAL_US = 1e6
REPEATS = 5


class Class(NamedTuple):
    """Workloads of one kind: each queue gets one every ``interval_ms``."""

    name: str
    workloads: int
    interval_ms: int
    pods: int
    cpu: int
    constraint: TopologyConstraint


REQUIRED, OTHER = TopologyConstraint("hard", 1), TopologyConstraint("soft")
CLASSES = (
    Class("small-required", 120, 100, 2, 500, REQUIRED),
    Class("small-preferred", 120, 100, 2, 500, OTHER),
    Class("small-balanced", 110, 100, 2, 500, OTHER),
    Class("medium-required", 34, 500, 4, 1250, REQUIRED),
    Class("medium-preferred", 33, 500, 4, 1250, OTHER),
    Class("medium-balanced", 33, 500, 4, 1250, OTHER),
    Class("large-required", 17, 1200, 8, 2500, REQUIRED),
    Class("large-preferred", 17, 1200, 8, 2500, OTHER),
    Class("large-balanced", 16, 1200, 8, 2500, OTHER),
)


def arrivals() -> list[tuple[int, int, int]]:
    """(number of the class, queue, number in the queue) of each workload, sorted by creation time, queue and class."""
    found = [
        (number * kind.interval_ms, queue, position, number)
        for position, kind in enumerate(CLASSES)
        for queue in range(QUEUES)
        for number in range(kind.workloads)
    ]
    return [(position, queue, number) for _, queue, position, number in sorted(found)]


def cluster() -> ClusterSnapshot:
    n = RACKS * NODES_PER_RACK
    racks = [range(first, first + NODES_PER_RACK) for first in range(0, n, NODES_PER_RACK)]
    names = [f"r{rack}-n{i:02d}" for rack in range(RACKS) for i in range(NODES_PER_RACK)]
    domains = [DomainSpec(f"rack-{i}", 1, list(nodes), "block") for i, nodes in enumerate(racks)]
    topology = Topology.build(names, [*domains, DomainSpec("block", 2, list(range(n)), "")])
    allocatable = np.tile(np.array(list(NODE.values()), dtype=np.int64), (n, 1))
    return ClusterSnapshot(
        topology,
        tuple(NODE),
        allocatable,
        np.zeros_like(allocatable),
        NodeLabels.from_rows(topology.node_names, [{}] * n),
        NodeTaints.from_rows([()] * n),
        np.zeros(n, dtype=np.bool_),
        gpu_words([0] * n),
        gpu_words([0] * n),
    )


@dataclass(eq=False)
class Replay:
    """Times of one run in microseconds, and on request the chosen nodes.

    There is one time per workload, including the resources given back before it, and totals in wall-clock and CPU time.
    """

    each: NDArray[np.float64]
    total: float
    cpu: float
    nodes: list[list[int]]


def replay(
    place: Callable[[Gang], Placement], give_back: Callable[[Placement], None], workloads: int, *, keep: bool = False
) -> Replay:
    order = arrivals()[:workloads]
    each, nodes = np.empty(len(order)), []
    running: deque[tuple[Placement, int]] = deque()
    in_use = 0
    roles = [Role("worker", kind.pods, {"cpu": kind.cpu}) for kind in CLASSES]
    cpu = time.process_time()
    start = before = time.perf_counter()
    for i, (position, queue, number) in enumerate(order):
        kind = CLASSES[position]
        while in_use >= BUSY:
            oldest, cpus = running.popleft()
            give_back(oldest)
            in_use -= cpus
        name = f"q{queue}-{kind.name}-{number}"
        placement = place(Gang("default", name, (roles[position],), kind.pods, kind.constraint))
        running.append((placement, kind.pods * kind.cpu))
        in_use += kind.pods * kind.cpu
        if keep:
            nodes.append(placement.node.tolist())
        now = time.perf_counter()
        each[i] = (now - before) * 1e6
        before = now
    return Replay(each, (before - start) * 1e6, (time.process_time() - cpu) * 1e6, nodes)


def by_stream(snapshot: ClusterSnapshot, policy: Policy, workloads: int, *, keep: bool = False) -> Replay:
    stream = policy.stream(snapshot)
    return replay(lambda gang: placed(stream.place(gang)), stream.give_back, workloads, keep=keep)


def by_place(snapshot: ClusterSnapshot, policy: Policy, workloads: int) -> Replay:
    ledger = snapshot.ledger()
    return replay(
        lambda gang: placed(policy.place(gang, ledger)), lambda held: leave(held, ledger), workloads, keep=True
    )


def by_dry_runs(snapshot: ClusterSnapshot, workloads: int) -> Replay:
    """Run the baseline: every HyperNode of a tier is tried, tier after tier, on arrays copied for each workload."""
    ledger, topology, parameters = snapshot.ledger(), snapshot.topology, HyperNodeParameters()
    weights = score_weights(parameters, snapshot.resources)
    scores = topology_scores_1_15(topology, parameters.weight)
    tiers = [np.flatnonzero(topology.tier == tier).astype(np.int32) for tier in topology.tiers]
    tiers.append(np.array([-1], dtype=np.int32))

    def place(gang: Gang) -> Placement:
        (role,) = gang.roles
        request = np.array([role.requests["cpu"], 0, 1], dtype=np.int64)
        runs = DryRuns(
            ledger.idle,
            ledger.used,
            snapshot.allocatable,
            topology.domain_nodes,
            weights=weights,
            scores=scores,
        )
        runs.add_shape(request)
        counts = Counts(
            shapes=np.zeros(1, dtype=np.int32), left=np.array([role.count], dtype=np.int64), min_available=role.count
        )
        runs.ask(counts, update_record=True, total_tasks=role.count)
        used = topology.domain_sums(ledger.used)
        for domains in tiers if gang.constraint is OTHER else tiers[:1]:
            fitting = domains[runs.try_each(domains).ready]
            if len(fitting):
                # Only CPUs are both asked for and weighed.
                full = (used[fitting, 0] + request[0] * role.count) / snapshot.domain_allocatable[fitting, 0]
                nodes = runs.settle(int(fitting[np.argmax(full)])).nodes
                ledger.take(nodes, request)
                ledger.commit()
                return Placement(gang, topology, "dry runs", {}, node=nodes)
        raise RuntimeError(f"benchmark: {gang.key} was not placed")

    return replay(place, lambda held: leave(held, ledger), workloads, keep=True)


def placed(result: object) -> Placement:
    if not isinstance(result, Placement):
        raise RuntimeError(f"benchmark: not placed: {result!r}")
    return result


def leave(held: Placement, ledger: Ledger) -> None:
    (role,) = held.gang.roles
    ledger.give_back(held.node, np.array([role.requests["cpu"], 0, 1], dtype=np.int64))
    ledger.commit()


def rows() -> Iterator[dict[str, object]]:
    """All rows of this benchmark's result table."""
    snapshot, policy = cluster(), get_policy("volcano-1.15")
    workloads = len(arrivals())
    ours = by_stream(snapshot, policy, workloads, keep=True)
    naive, one_by_one = by_dry_runs(snapshot, workloads), by_place(snapshot, policy, workloads)
    if not ours.nodes == naive.nodes == one_by_one.nodes:
        raise RuntimeError("benchmark: the stream, place and the dry runs differ")
    runs = [by_stream(snapshot, policy, workloads) for _ in range(REPEATS)]
    size = f"{workloads:,} workloads, {snapshot.n_nodes} nodes"
    yield row(
        "replay.stream, all workloads",
        size,
        [run.total for run in runs],
        "every HyperNode dry-run, once",
        naive.total,
        GOAL_US,
        f"volcano-1.15; {REPEATS} runs, CPU time {np.median([run.cpu for run in runs]) / 1e6:.2f} s; {peak()}",
    )
    yield row(
        "replay.stream, one workload",
        size,
        np.concatenate([run.each for run in runs]),
        "place() on one ledger, p50",
        float(np.percentile(one_by_one.each, 50)),
        None,
        "what is given back before it included",
    )


def peak() -> str:
    """Peak memory, as text, of a process that runs the benchmark, and of one that only loads its input."""
    found = []
    for workloads in ("0", "15000"):
        here = Path(__file__).resolve()
        path = os.pathsep.join([str(here.parent.parent), os.environ.get("PYTHONPATH", "")])
        answer = subprocess.run(
            [sys.executable, str(here), "--peak", workloads],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        found.append(int(answer.stdout))
    return f"peak memory {found[1]} MiB, {found[0]} MiB of it before the first workload"


def main(arguments: list[str]) -> None:
    if arguments[:1] != ["--peak"]:
        for line in rows():
            print(line)
        return
    import resource

    by_stream(cluster(), get_policy("volcano-1.15"), int(arguments[1]))
    # In KiB on Linux, in bytes on macOS.
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit)


if __name__ == "__main__":
    main(sys.argv[1:])
