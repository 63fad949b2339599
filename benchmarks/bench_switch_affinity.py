"""Switch affinity: one placement on 10,000 nodes under 400 switches with 500 running jobs.

Three ways: states derived afresh from the running pods, the same with one object per placed pod, and states kept in
the ledger of a session. The baseline is the plain twin of the tests on the same switches; it is given their states and
free nodes, so it does less.
"""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np

from benchmarks.measure import microseconds, row
from tests.reference.switch_affinity import Row, place
from tests.switch_fabric import Switch, fabric, job, states
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.registry import get_policy

SWITCHES, NODES_PER_SWITCH, JOBS = 400, 25, 500
SIZES = (8, 128, 2_000)


@cache
def cluster() -> ClusterSnapshot:
    """Jobs of 2 to 24 pods of the three kinds come one after another; the states follow from their annotations."""
    names = [f"s{i:03}" for i in range(SWITCHES)]
    snapshot = fabric([Switch(name, NODES_PER_SWITCH, NODES_PER_SWITCH) for name in names], NODES_PER_SWITCH)
    generator = np.random.default_rng(1)
    policy = get_policy("switch-affinity")
    gangs = []
    for i in range(JOBS):
        kind = ("foundation", "common", "padding")[int(generator.integers(3))]
        pods = int(generator.integers(2, 4)) if kind == "padding" else int(generator.integers(4, 40))
        gangs.append(job(f"job{i:03}", kind, pods))
    for decision in policy.schedule(gangs, snapshot):
        assert isinstance(decision.result, Placement)
        snapshot = snapshot.with_placement(decision.result)
    return snapshot


def fresh(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The same snapshot without what a snapshot remembers of its running pods."""
    return dataclasses.replace(snapshot)


def rows_of(snapshot: ClusterSnapshot) -> list[Row]:
    """The switches as the plain twin wants them."""
    table = snapshot.switch_table
    assert table is not None
    free = np.bincount(table.node_switch, weights=snapshot.used[:, 3] == 0, minlength=SWITCHES)
    return [Row(state, int(n)) for state, n in zip(states(snapshot).values(), free, strict=True)]


def run() -> list[dict[str, object]]:
    """One row per size and way."""
    snapshot, policy = cluster(), get_policy("switch-affinity")
    reference = rows_of(snapshot)
    size = f"{SWITCHES * NODES_PER_SWITCH:,} nodes, {SWITCHES} switches, {JOBS} jobs, {len(snapshot.running):,} pods"
    found = []
    for n_pods in SIZES:
        gang = job("new", "common", n_pods)
        plain = microseconds(lambda n=n_pods: place(reference, "common", n, NODES_PER_SWITCH, 2), 5)  # type: ignore[misc]

        def afresh(gang=gang) -> Placement:  # type: ignore[no-untyped-def]
            result = policy.place(gang, snapshot.ledger())
            assert isinstance(result, Placement)
            return result

        ledger = snapshot.ledger()
        policy.place(gang, ledger.copy())
        assert ledger.switches is not None

        def kept(gang=gang, ledger=ledger) -> None:  # type: ignore[no-untyped-def]
            mark = ledger.checkpoint()
            policy.place(gang, ledger)
            ledger.rollback(mark)

        ways = (
            ("states afresh, arrays", afresh, 1_500.0),
            ("states afresh, an object per pod", lambda: list(afresh().pods()), 4_000.0),
            ("states kept in the ledger", kept, 200.0),
        )
        for name, call, goal in ways:
            call()
            times = microseconds(call, 200)
            found.append(
                row(
                    f"switch affinity, {name}",
                    f"{n_pods} pods on {size}",
                    times,
                    "plain twin",
                    float(np.median(plain)),
                    goal,
                    "",
                )
            )
    return found
