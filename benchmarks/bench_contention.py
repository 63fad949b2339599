"""Benchmark of 500 jobs on 800 hosts over 14 days that share the links of a fabric. Goal: 120 s. And of fair rates."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from measure import microseconds, row

from workbench.evaluate.contention import Network, RoutedFabric, TierLinks, TrainingStep
from workbench.kernels.fair_rates import fair_rates
from workbench.model.gang import Gang, Role
from workbench.policies import get_policy
from workbench.simulate import FaultRates, SimulatedJob, Simulation, draw_breakdowns
from workbench.topology.presets import generate_scenario

DAYS = 14
JOBS = 500
DAY = 86_400.0


def jobs_of(rng: np.random.Generator) -> list[SimulatedJob]:
    """Jobs of 1 to 128 hosts that arrive over 14 days and ask for most of 800 hosts' time."""
    pods = rng.choice([1, 2, 4, 8, 16, 32, 64, 128], JOBS, p=[0.1, 0.1, 0.15, 0.2, 0.2, 0.15, 0.07, 0.03])
    seconds = rng.lognormal(10.9, 1.0, JOBS)
    at = np.sort(rng.uniform(0, DAYS * DAY * 0.8, JOBS))
    made = []
    for i, (n, begin, work) in enumerate(zip(pods.tolist(), at.tolist(), seconds.tolist(), strict=True)):
        gang = Gang("default", f"job-{i}", (Role("w", n, {"nvidia.com/gpu": 8}, (8,)),), n)
        step = TrainingStep(float(rng.uniform(0.2, 2.0)), {"data": float(rng.uniform(2, 60))})
        made.append(SimulatedJob(gang, begin, work, checkpoint_s=3600.0, restart_s=300.0, step=step))
    return made


def rows() -> Iterator[dict[str, object]]:
    rng = np.random.default_rng(5)
    snapshot = generate_scenario("balanced", sizes=(16, 10, 5)).snapshot
    jobs = jobs_of(rng)
    breakdowns = draw_breakdowns(snapshot, FaultRates(), DAYS * DAY, rng)
    tiers = {1: TierLinks(25.0, 8), 2: TierLinks(12.5, 8), 3: TierLinks(12.5, 1)}
    fabric = RoutedFabric.of(snapshot, 50.0, {t: tiers[t] for t in snapshot.topology.tiers if t in tiers}, rails=8)
    for phases in ("together", "interleaved"):
        begin = time.perf_counter()
        network = Network(fabric, phases)
        simulation = Simulation(snapshot, get_policy("binpack"), jobs, breakdowns=breakdowns, network=network).run()
        spent = (time.perf_counter() - begin) * 1e6
        result = simulation.result()
        summary = result.summary()
        note = f"{len(result.steps):,} new step times; the network cost {summary['slowed']:.0%} of the GPU seconds"
        size = f"{JOBS} jobs, {snapshot.n_nodes} hosts, {result.ended_s / DAY:.0f} days"
        yield row(f"contention, {phases}", size, [spent], "", None, 120e6, note, "p50")


def slow_rows() -> Iterator[dict[str, object]]:
    rng = np.random.default_rng(0)
    flows, links, crossed = 6_400, 4_000, 6
    start = np.arange(0, flows * crossed + 1, crossed)
    link = np.concatenate([rng.choice(links, crossed, replace=False) for _ in range(flows)]).astype(np.int32)
    capacity = np.full(links, 50.0)
    ours = microseconds(lambda: fair_rates(start, link, np.ones(len(link)), capacity), 20)
    yield row("fair rates", f"{flows:,} flows, {links:,} links", ours, "", None, None, "")
