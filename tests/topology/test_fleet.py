"""The preset `fleet`: its gangs, where they run, and that objects and values say the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

import workbench as wb
from workbench.topology.presets import generate, generate_scenario

#: A sixty-fourth of the fleet: 2,048 nodes.
SMALL = {"sizes": (16, 16, 4, 2), "pending": 40}


@pytest.fixture(scope="module")
def small():
    return generate_scenario("fleet", **SMALL)


def test_the_same_parameters_make_the_same_fleet_and_another_seed_another(small):
    again, other = generate_scenario("fleet", **SMALL), generate_scenario("fleet", **SMALL, seed=1)
    assert again.snapshot == small.snapshot and again.gangs == small.gangs
    assert other.snapshot != small.snapshot and other.gangs != small.gangs


def test_six_of_ten_gpus_are_held_by_gangs_in_queues(small):
    snapshot = small.snapshot
    assert snapshot.topology.tiers == (1, 2, 3, 4)
    held = 1 - np.bitwise_count(snapshot.gpu_free).sum() / np.bitwise_count(snapshot.gpu_total).sum()
    assert held == pytest.approx(0.6, abs=0.01)
    assert len({pod.gang for pod in snapshot.running}) == pytest.approx(40_000 / 64, rel=0.02)
    assert {pod.queue for pod in snapshot.running} == set(snapshot.queues) - {"default"}
    assert {gang.queue for gang in small.gangs} <= set(snapshot.queues)


@pytest.mark.parametrize("busy", [0, 30, 95])
def test_running_pods_hold_gpus_that_nobody_else_holds(busy):
    snapshot = generate_scenario("fleet", sizes="8,8,8", busy=busy, pending=0).snapshot
    held = np.zeros(snapshot.n_nodes, dtype=np.uint64)
    for pod in snapshot.running:
        assert not held[pod.node] & np.uint64(pod.gpu_mask)
        held[pod.node] |= np.uint64(pod.gpu_mask)
    assert ((held ^ snapshot.gpu_free[:, 0]) == snapshot.gpu_total[:, 0]).all()
    assert (snapshot.used <= snapshot.allocatable).all()


def test_loading_the_objects_and_making_the_values_give_the_same(tmp_path):
    params = {"sizes": "4,4,4", "pending": 9, "queues": 3}
    file = tmp_path / "fleet.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": generate("fleet", **params)}))
    loaded, made = wb.load(file), generate_scenario("fleet", **params)
    assert loaded.snapshot.running == made.snapshot.running
    assert loaded.snapshot.queues == made.snapshot.queues
    assert loaded.snapshot.gaps == made.snapshot.gaps
    for name in ("allocatable", "used", "gpu_total", "gpu_free"):
        assert np.array_equal(getattr(loaded.snapshot, name), getattr(made.snapshot, name)), name
    assert not loaded.findings
    compared = [(g.key, g.queue, g.n_pods, g.constraint, dict(g.roles[0].requests)) for g in loaded.gangs]
    assert compared == [(g.key, g.queue, g.n_pods, g.constraint, dict(g.roles[0].requests)) for g in made.gangs]


def test_a_hard_gang_may_use_the_lowest_tier_that_could_hold_it(small):
    tiers = {(g.n_pods, g.constraint.highest_tier) for g in small.gangs if g.constraint}
    assert tiers <= {(8, 2), (16, 2), (32, 2), (64, 2)}
    assert all(g.n_pods <= 2048 // 32 for g in small.gangs)
