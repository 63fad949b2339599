"""Benchmark of switch affinity: one placement on 10,000 nodes under 400 leaf switches with 500 running jobs.

Three ways are timed: with switch states computed from the annotations of the snapshot's running pods (as arrays that a
snapshot reads once); also with one object made per placed pod; and with switch states kept in the ledger of a session,
from which the placement is removed again, untimed. The baseline is plain Python: states pod by pod, free nodes node by
node, then the tests' plain version of the rules.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from measure import microseconds, row

from tests.reference.switch_affinity import Row, place
from tests.switch_fabric import Switch, fabric, job
from workbench.model.gang import Gang
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.contract import Policy
from workbench.policies.registry import get_policy

SWITCHES, NODES_PER_SWITCH, JOBS = 400, 25, 500
PODS = (8, 128, 2_000)
REPEATS = 200
GOALS_US = {"states afresh, arrays": 1_500.0, "states afresh, an object per pod": 4_000.0, "states kept": 200.0}


def cluster() -> ClusterSnapshot:
    """The benchmark's cluster: jobs of 2 to 39 pods of the three switch-affinity classes are placed one
    after another.
    """
    names = [f"s{i:03}" for i in range(SWITCHES)]
    snapshot = fabric([Switch(name, NODES_PER_SWITCH, NODES_PER_SWITCH) for name in names], NODES_PER_SWITCH)
    generator = np.random.default_rng(1)
    gangs = []
    for i in range(JOBS):
        kind = ("foundation", "common", "padding")[int(generator.integers(3))]
        pods = int(generator.integers(2, 4)) if kind == "padding" else int(generator.integers(4, 40))
        gangs.append(job(f"job{i:03}", kind, pods))
    for decision in get_policy("switch-affinity").schedule(gangs, snapshot):
        if not isinstance(decision.result, Placement):
            raise RuntimeError(f"benchmark: {decision.result!r}")
        snapshot = snapshot.with_placement(decision.result)
    return snapshot


def plain_python(snapshot: ClusterSnapshot, n_pods: int) -> list[tuple[int, int, str]] | None:
    """Baseline: the policy's choice of switches for `n_pods` pods, switch by switch, without arrays.

    None if they do not fit. The result is that of the tests' plain version of the rules.
    """
    table = snapshot.switch_table
    if table is None:
        raise RuntimeError("benchmark: no switches")
    under, busy = table.node_switch.tolist(), set()
    marks: list[set[str]] = [set() for _ in table.names]
    sick = [False] * len(marks)
    for pod in snapshot.running:
        busy.add(pod.node)
        marks[under[pod.node]].add(pod.annotations["isSharedTor"])
        sick[under[pod.node]] |= pod.annotations["isHealthy"] == "1"
    free = [0] * len(marks)
    for node, switch in enumerate(under):
        free[switch] += node not in busy
    rows = []
    for i, found in enumerate(marks):
        shared = "shared/unhealthy" if sick[i] else "shared/healthy"
        rows.append(Row(shared if "1" in found else "exclusive" if "2" in found else "idle", free[i]))
    return place(rows, "common", n_pods, NODES_PER_SWITCH, 2)


def placed(policy: Policy, gang: Gang, snapshot: ClusterSnapshot) -> Placement:
    """The placement of a gang by a policy, on a new ledger of the snapshot."""
    result = policy.place(gang, snapshot.ledger())
    if not isinstance(result, Placement):
        raise RuntimeError(f"benchmark: {result!r}")
    return result


def rows() -> Iterator[dict[str, object]]:
    """One row of the result table per number of pods and way of keeping the switch states."""
    snapshot, policy = cluster(), get_policy("switch-affinity")
    size = f"{SWITCHES * NODES_PER_SWITCH:,} nodes, {SWITCHES} switches, {JOBS} jobs"
    kept = snapshot.ledger()
    for n_pods in PODS:
        gang = job("new", "common", n_pods)

        def afresh(gang: Gang = gang) -> Placement:
            return placed(policy, gang, snapshot)

        def objects(gang: Gang = gang) -> object:
            return list(placed(policy, gang, snapshot).pods())

        def in_session(gang: Gang = gang) -> object:
            return policy.place(gang, kept)

        def rolled_back() -> None:
            kept.rollback(0)

        plain = microseconds(lambda n=n_pods: plain_python(snapshot, n), 10)
        for way, call in zip(GOALS_US, (afresh, objects, in_session), strict=True):
            undo = rolled_back if call is in_session else None
            microseconds(call, 1, undo)
            times = microseconds(call, REPEATS, undo)
            label = f"{n_pods:,} pods on {size}"
            yield row(f"switch affinity, {way}", label, times, "plain Python", float(plain.min()), GOALS_US[way], "")
