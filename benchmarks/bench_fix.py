"""Benchmark of `fix_report`: why a job is pending and what helps, on busy clusters.

Baseline: one session of the policy, the least that any answer by trial can cost. Goals: 1 s on 512 nodes and 2 s on
2,048 nodes with hundreds of running gangs, for one job; 10 s for 200 pending jobs together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from measure import microseconds, row

from workbench.evaluate.whatif.advice import advise_session
from workbench.evaluate.whatif.fix import fix_report
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import get_policy
from workbench.topology.presets import generate_scenario

POLICY = "volcano-1.15"


def gang(name: str, pods: int, gpus: int, tier: int | None = None) -> Gang:
    """A gang of equal pods, hard up to a tier if one is given."""
    role = Role("w", pods, {"nvidia.com/gpu": gpus, "cpu": 4000}, (gpus,))
    constraint = None if tier is None else TopologyConstraint("hard", tier)
    return Gang("default", name, (role,), pods, constraint=constraint)


def busy(sizes: tuple[int, ...], gangs: int) -> ClusterSnapshot:
    """A cluster on whose nodes small gangs run until hardly a node is free."""
    snapshot = generate_scenario("balanced", sizes=sizes).snapshot
    rng = np.random.default_rng(31)
    policy = get_policy("spread")
    for i in range(gangs):
        placed = policy.place(
            gang(f"r{i}", int(rng.choice([1, 2, 4, 8])), int(rng.choice([2, 4, 8]))), snapshot.ledger()
        )
        if isinstance(placed, Placement):
            snapshot = snapshot.with_placement(placed)
    return snapshot


def rows() -> Iterator[dict[str, object]]:
    """One job on two clusters, then 200 pending jobs."""
    policy = get_policy(POLICY)
    small = busy((8, 8, 8), 200)
    for snapshot, goal in ((small, 1e6), (busy((8, 8, 8, 4), 700), 2e6)):
        jobs = [gang(f"p{i}", 16, 8, 2) for i in range(5)]
        held = len(snapshot.running_index.gangs)
        session = float(np.median(microseconds(lambda jobs=jobs, s=snapshot: policy.schedule(jobs, s), 20)))
        ours = microseconds(lambda jobs=jobs, s=snapshot: fix_report(policy, jobs, s, "default/p4"), 5)
        size = f"{snapshot.n_nodes:,} nodes, {held} gangs run"
        yield row("fix one job", size, ours, "one session", session, goal, POLICY, "p50")
    many = [gang(f"p{i}", (8, 16, 32)[i % 3], 8, 1 + i % 2) for i in range(200)]
    decisions = policy.schedule(many, small)
    session = float(np.median(microseconds(lambda: policy.schedule(many, small), 5)))
    ours = microseconds(lambda: advise_session(policy, decisions, small, 200), 1)
    waits = sum(not decision.placed for decision in decisions)
    yield row("fix a session", f"{waits} pending jobs, 512 nodes", ours, "one session", session, 10e6, POLICY, "p50")
