"""The replay benchmark: its workloads are those of the generator, and its three ways place every pod alike."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from workbench.policies import get_policy

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("bench_replay", FOLDER / "bench_replay.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_replay", module)
    spec.loader.exec_module(module)
    return module


def test_the_workloads_are_those_of_the_generator(bench):
    """Its comments: 350 small of 1 CPU, 100 medium of 5, 50 large of 20 in each of 30 queues; 61,440 CPUs."""
    order = bench.arrivals()
    assert len(order) == 15_000
    counts = {"small": 0, "medium": 0, "large": 0}
    for kind in bench.CLASSES:
        size, _, _ = kind.name.partition("-")
        counts[size] += kind.workloads
        assert kind.pods * kind.cpu == {"small": 1000, "medium": 5000, "large": 20_000}[size]
    assert counts == {"small": 350, "medium": 100, "large": 50}
    assert bench.CPUS == 61_440_000
    # All queues begin at once, each with every kind; the next small ones come before the second of any other.
    assert order[:9] == [(kind, 0, 0) for kind in range(9)]
    assert {queue for _, queue, number in order[:270] if number == 0} == set(range(30))
    assert order[270:273] == [(0, 0, 1), (1, 0, 1), (2, 0, 1)]


@pytest.mark.slow
def test_the_stream_the_policy_and_the_dry_runs_place_every_pod_alike(bench, monkeypatch):
    # Little room, so that most of what is placed is given back.
    monkeypatch.setattr(bench, "BUSY", bench.CPUS // 200)
    snapshot, policy = bench.cluster(), get_policy("volcano-1.15")
    ours = bench.by_stream(snapshot, policy, 600, keep=True)
    assert len(ours.nodes) == len(ours.each) == 600
    assert ours.nodes == bench.by_place(snapshot, policy, 600).nodes
    assert ours.nodes == bench.by_dry_runs(snapshot, 600).nodes


def test_the_simulation_of_kueues_queues_has_the_same_workloads(bench, monkeypatch):
    spec = importlib.util.spec_from_file_location("kueue_workloads", FOLDER / "kueue_workloads.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "kueue_workloads", module)
    spec.loader.exec_module(module)
    jobs = module.queued_jobs(2)
    assert len(jobs) == 2 * len(bench.CLASSES) * bench.QUEUES
    assert {job.gang.queue for job in jobs} == {
        queue.name for queue in module.queued_cluster().extra(module.KueueObjects).cluster_queues
    }
    assert [job.submitted_s for job in jobs] == sorted(job.submitted_s for job in jobs)
