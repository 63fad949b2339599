"""Benchmark of simulating 5,000 jobs on 1,000 nodes with faults; about 240 jobs wait on average. Goal: 10 s."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from measure import row

from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.policies import get_policy
from workbench.simulate import FaultRates, SimulatedJob, Simulation, draw_breakdowns
from workbench.simulate.job import Restarts
from workbench.topology.presets import generate_scenario

JOBS = 5_000
#: Part of the cluster that the jobs would need if none waited for a rack of its own.
LOAD = 0.36


def jobs_of(rng: np.random.Generator) -> list[SimulatedJob]:
    """Jobs of 1 to 32 nodes, hard at tier 2, with log-normal times and Poisson arrivals."""
    pods = rng.choice([1, 1, 1, 2, 2, 4, 8, 16, 32], JOBS)
    seconds = rng.lognormal(8.5, 1.3, JOBS)
    at = rng.exponential(LOAD * float((pods * seconds).mean()) / 1000, JOBS).cumsum()
    hard = TopologyConstraint("hard", 2)
    made = []
    for i, (n, begin, work) in enumerate(zip(pods.tolist(), at.tolist(), seconds.tolist(), strict=True)):
        role = Role("w", n, {"nvidia.com/gpu": 8, "cpu": 8000}, (8,))
        gang = Gang("default", f"job-{i}", (role,), n, constraint=hard)
        made.append(SimulatedJob(gang, begin, work, checkpoint_s=1800.0, restart_s=120.0))
    return made


def rows() -> Iterator[dict[str, object]]:
    rng = np.random.default_rng(3)
    snapshot = generate_scenario("balanced", sizes=(20, 10, 5)).snapshot
    jobs = jobs_of(rng)
    breakdowns = draw_breakdowns(snapshot, FaultRates(), 2 * jobs[-1].submitted_s, rng)
    runs: list[tuple[str, str, Restarts]] = [
        ("volcano", "best-effort", "job"),
        ("binpack", "best-effort", "job"),
        ("volcano", "backfill", "job"),
    ]
    for name, discipline, restarts in [*runs, ("volcano", "best-effort", "pods")]:
        begin = time.perf_counter()
        chosen = [replace(job, restarts=restarts) for job in jobs]
        simulation = Simulation(snapshot, get_policy(name), chosen, discipline=discipline, breakdowns=breakdowns).run()
        spent = (time.perf_counter() - begin) * 1e6
        usage = simulation.result().usage_frame()
        held = np.diff(usage["time_s"])
        waiting = (usage["waiting"].to_numpy()[:-1] * held).sum() / held.sum()
        size = f"{JOBS:,} jobs on {snapshot.n_nodes:,} nodes"
        what = f"simulate, {name}, {discipline}" + (", single pods restart" if restarts == "pods" else "")
        yield row(what, size, [spent], "", None, 10e6, f"{waiting:.0f} jobs wait on average", "p50")
