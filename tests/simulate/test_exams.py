"""Exams in virtual time: Knavigator's gang burst, Kueue's workloads, and the embedded cluster beside the simulator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from workbench.control.cluster import EmbeddedCluster
from workbench.formats.job_logs import load_jobs
from workbench.formats.load import load
from workbench.model.extras import RUN_SECONDS
from workbench.policies import get_policy, list_policies
from workbench.simulate import SimulatedJob, Simulation
from workbench.topology.presets import generate, generate_scenario


def jobs_of(path: Path) -> tuple[list[SimulatedJob], dict]:
    log = load_jobs(path)
    return [SimulatedJob(job.gang, job.submitted_s, job.duration_s) for job in log.jobs], dict(log.quotas)


EVERY_POLICY = [info.name for info in list_policies() if info.kind != "gpu"]


@pytest.mark.parametrize(
    ("discipline", "policy"),
    [
        pytest.param(discipline, policy, marks=() if discipline == "fifo" or policy == "binpack" else pytest.mark.slow)
        for discipline in ("fifo", "backfill", "best-effort")
        for policy in EVERY_POLICY
    ],
)
def test_the_gang_burst_packs_nine_full_waves(public_data: Path, policy: str, discipline: str) -> None:
    jobs, _ = jobs_of(public_data / "knavigator" / "gang-run-test.yaml")
    snapshot = generate_scenario("balanced", sizes=(8, 4)).snapshot
    told = Simulation(snapshot, get_policy(policy), jobs, discipline=discipline).run().result().summary()
    assert (told["makespan_s"], told["gpu_use"]) == (18 * 60, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("discipline", "minutes", "use"), [("fifo", 30.1, 0.909), ("backfill", 29.7, 0.919), ("best-effort", 29.4, 0.929)]
)
def test_the_gang_burst_with_jitter_is_as_the_page_says(
    public_data: Path, discipline: str, minutes: float, use: float
) -> None:
    jobs, _ = jobs_of(public_data / "knavigator" / "gang-run-test.yaml")
    snapshot = generate_scenario("balanced", sizes=(8, 4)).snapshot
    told = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        longer = [SimulatedJob(job.gang, 0, 120 + 120 * rng.random()) for job in jobs]
        simulation = Simulation(snapshot, get_policy("binpack"), longer, discipline=discipline)
        told.append(simulation.run().result().summary())
    assert np.mean([one["makespan_s"] for one in told]) / 60 == pytest.approx(minutes, abs=0.05)
    assert np.mean([one["gpu_use"] for one in told]) == pytest.approx(use, abs=5e-4)
    assert len(EVERY_POLICY) == 23


@pytest.mark.slow
def test_kueues_workloads_keep_every_queue_busy(public_data: Path) -> None:
    jobs, quotas = jobs_of(public_data / "kueue-perf" / "generator.yaml")
    snapshot = generate_scenario("balanced", sizes=(64, 10)).snapshot
    result = Simulation(snapshot, get_policy("volcano"), jobs, quotas=quotas, discipline="priority").run().result()
    told = result.summary()
    assert told["completed"] == 15_000
    # The work of a queue over its quota is 66 s: no schedule ends before.
    assert 66 <= told["makespan_s"] <= 70
    # A large workload takes a whole quota. Upstream evicts small ones for it; here it waits for a queue that is empty.
    frame = result.to_dataframe()
    assert frame[frame["pods"] == 8]["waited_s"].mean() > frame[frame["pods"] == 4]["waited_s"].mean()


def manifest(name: str, pods: int, seconds: float) -> dict:
    """A Volcano Job of whole nodes, hard at tier 1, whose pods run for some seconds."""
    resources = {"limits": {"nvidia.com/gpu": 8}, "requests": {"nvidia.com/gpu": 8}}
    template = {
        "metadata": {"annotations": {RUN_SECONDS: f"{seconds:g}"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train", "resources": resources}]},
    }
    tasks = [{"name": "w", "replicas": pods, "template": template}]
    spec = {"minAvailable": pods, "tasks": tasks, "networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


@pytest.mark.slow
def test_the_embedded_cluster_places_alike() -> None:
    # Time passes in whole seconds in both, and no pod ends when a job arrives.
    random = np.random.default_rng(4)
    cluster = EmbeddedCluster("volcano", start_seconds=0)
    cluster.submit(*generate("balanced", sizes=(4, 3)))
    names = [f"j{i:02d}" for i in range(24)]
    times = [10.0 * (i + 1) for i in range(24)]
    sizes = [int(n) for n in random.integers(1, 5, 24)]
    seconds = [float(n) for n in random.integers(2, 9, 24) * 10 + 5]
    for name, time, pods, work in zip(names, times, sizes, seconds, strict=True):
        cluster.run(until=time)
        cluster.submit(manifest(name, pods, work))
    cluster.run()
    objects = [*generate("balanced", sizes=(4, 3)), *map(manifest, names, sizes, seconds)]
    scenario = load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    when = dict(zip(names, zip(times, seconds, strict=True), strict=True))
    jobs = [SimulatedJob(gang, *when[gang.name]) for gang in scenario.gangs]
    result = Simulation(scenario.snapshot, get_policy("volcano"), jobs).run().result()
    told: dict[str, list[str]] = {}
    for row in cluster.pods():
        told.setdefault(row.job, []).append(row.node)
    node_names = scenario.snapshot.topology.node_names
    ours = {jobs[one.job].gang.name: [node_names[node] for node in one.nodes] for one in result.attempts}
    assert {name: sorted(nodes) for name, nodes in told.items()} == {name: sorted(ours[name]) for name in names}
    assert result.summary()["waited_mean_s"] > 0
    assert cluster.now == result.ended_s
