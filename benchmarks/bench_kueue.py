"""Benchmark of `kueue-0.19`: one gang of 512 pods on 5,000 nodes in 50 racks and 5 blocks, idle and half in use.

A hard gang is compared with the same rules in plain Python, which gives the same answer.

And Kueue's performance test with topology: 15,000 workloads in ClusterQueues arrive, wait, run and end in a simulation
(processor time). Beside it stands the mean wall time of ten runs of the real program in its CI, with an API server and
controllers, whose workloads run in real time: another measure of the same workloads. A few of the workloads are also
simulated with queues that are read anew at every instant.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from kueue_workloads import queued_cluster, queued_jobs
from measure import microseconds, row

from tests.fabrics import snapshot
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.placement import Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.composed import Composed
from workbench.policies.kueue.queued.scheduler import KueueScheduler
from workbench.policies.registry import get_policy
from workbench.policies.stream import Stream
from workbench.simulate import Simulation

NODES, RACKS, BLOCKS, PODS, SLICE = 5_000, 50, 5, 512, 64
GOAL_US, BALANCED_GOAL_US = 5_000.0, 20_000.0
SIMULATION_GOAL_US, REAL_US = 5e6, 401.5e6
REPEATS, FEW = 3, 12


def cluster(busy: bool) -> ClusterSnapshot:
    """The cluster; if `busy`, pods hold some GPUs of half of the nodes."""
    generator = np.random.default_rng(1)
    names = [f"n{i:04}" for i in range(NODES)]
    rack, block = NODES // RACKS, NODES // BLOCKS
    domains = [(f"b{i}", 2, names[i * block : (i + 1) * block], "") for i in range(BLOCKS)]
    for i in range(RACKS):
        domains.append((f"r{i:02}", 1, names[i * rack : (i + 1) * rack], f"b{i * rack // block}"))
    chosen = generator.permutation(NODES)[: NODES // 2 if busy else 0]
    held = {names[i]: int(generator.integers(1, 9)) for i in chosen}
    used = {name: (0, 0, 0, count) for name, count in held.items()}
    return snapshot(names, domains, used=used, free_gpus={name: 0xFF << count & 0xFF for name, count in held.items()})


def gang(gpus: int, constraint: TopologyConstraint | None, slices: bool = False) -> Gang:
    """A gang of equal pods, all of which must be placed; with `slices`, in sub-groups that stay in one rack."""
    role = Role("w", PODS, {"cpu": 1000, "nvidia.com/gpu": gpus}, (gpus,))
    if not slices:
        return Gang("d", "j", (role,), PODS, constraint)
    inside = TopologyConstraint("hard", 1)
    groups = [
        SubGroup(f"g{i}", tuple(range(i * SLICE, (i + 1) * SLICE)), inside, SLICE, policy="p")
        for i in range(PODS // SLICE)
    ]
    return Gang("d", "j", (role,), PODS, constraint, sub_groups=tuple(groups), sub_grouped=True)


def best_fit(room: Sequence[int], need: int) -> int:
    """Position of the smallest sufficient room; the first of several."""
    return min((i for i, have in enumerate(room) if have >= need), key=lambda i: room[i])


def plain_python(where: ClusterSnapshot, gpus: int) -> dict[int, int] | None:
    """Pods on each node of a gang that is required in one rack, by Kueue's rules; None: no rack holds it."""
    idle = where.idle.tolist()
    columns = [(where.resources.index("cpu"), 1000), (where.resources.index("nvidia.com/gpu"), gpus)]
    room = [min(row[column] // amount for column, amount in columns) for row in idle]
    racks = [where.topology.nodes_of(rack).tolist() for rack in where.topology.domains_at(1).tolist()]
    holds = [sum(room[node] for node in nodes) for nodes in racks]
    if max(holds) < PODS:
        return None
    hosts = sorted(racks[best_fit(holds, PODS)], key=lambda node: (-room[node], where.topology.node_names[node]))
    found: dict[int, int] = {}
    rest = PODS
    for i, host in enumerate(hosts):
        if room[host] >= rest:
            found[hosts[i + best_fit([room[node] for node in hosts[i:]], rest)]] = rest
            break
        found[host] = room[host]
        rest -= room[host]
    return found


class ReadAnew(KueueScheduler):
    """`kueue-0.19` with queues that are read anew at every instant of a simulation."""

    def stream(self, snapshot: ClusterSnapshot) -> Stream:
        """A stream without queues."""
        return Stream(self, snapshot)


def simulated(policy: Composed, per_set: int | None) -> tuple[float, Simulation]:
    """Processor time in microseconds of a simulation of the workloads, and the simulation."""
    simulation = Simulation(queued_cluster(), policy, queued_jobs(per_set), discipline="session")
    start = time.process_time()
    simulation.run()
    return (time.process_time() - start) * 1e6, simulation


def queue_rows() -> Iterator[dict[str, object]]:
    """Rows of the simulation of Kueue's queues."""
    policy = get_policy("kueue-0.19")
    assert isinstance(policy, KueueScheduler)
    for per_set in (None, FEW):
        runs = [simulated(policy, per_set) for _ in range(REPEATS)]
        told = runs[0][1].result().summary()
        fault = "" if told["completed"] == told["jobs"] else "not all workloads completed"
        size = f"{told['jobs']:,} workloads, 30 ClusterQueues, 640 nodes"
        ours = [each for each, _ in runs]
        note = f"processor time; {told['makespan_s']:.1f} s of virtual time, {told['restarts']:,} evictions"
        if per_set is None:
            baseline, slower, goal = "Kueue's CI, wall time, mean of ten runs", REAL_US, SIMULATION_GOAL_US
        else:
            anew = ReadAnew(policy.name, policy.node, policy.gpu)
            baseline, slower, goal = "queues read anew at every instant", simulated(anew, per_set)[0], None
            note += "; read anew, nothing is evicted"
        yield row("kueue-0.19, simulated queues", size, ours, baseline, slower, goal, note, "p50", fault=fault)


def rows() -> Iterator[dict[str, object]]:
    """Rows of the result table."""
    yield from queue_rows()
    hard, wide, soft = TopologyConstraint("hard", 1), TopologyConstraint("hard", 2), TopologyConstraint("soft", 1)
    for name, where in (("idle", cluster(False)), ("half in use", cluster(True))):
        one = plain_python(where, 1)
        result = get_policy("kueue-0.19").place(gang(1, hard), where.ledger())
        counts = (
            None if isinstance(result, Refusal) else dict(zip(*np.unique(result.node, return_counts=True), strict=True))
        )
        agrees = one == counts
        fault = "" if agrees else "plain Python finds another answer"
        plain = microseconds(lambda w=where: plain_python(w, 1), 10)
        for what, asked, balanced, slower in (
            ("hard, rack", gang(1, hard), False, float(plain.min())),
            ("hard, block", gang(8, wide), False, None),
            ("soft", gang(8, soft), False, None),
            ("no constraint", gang(8, None), False, None),
            ("slices", gang(8, None, slices=True), False, None),
            ("soft, balanced", gang(8, soft), True, None),
        ):
            policy = get_policy("kueue-0.19", balanced=balanced)
            ours = microseconds(lambda p=policy, a=asked, w=where: p.place(a, w.ledger()), 50)
            placed = isinstance(policy.place(asked, where.ledger()), Placement)
            size = f"{what}: {PODS} pods on {NODES:,} nodes, {name}"
            baseline = "same rules, plain Python" if slower is not None else ""
            goal = BALANCED_GOAL_US if balanced else GOAL_US
            note = "placed" if placed else "refused"
            yield row("kueue-0.19", size, ours, baseline, slower, goal, note, fault=fault if baseline else "")
