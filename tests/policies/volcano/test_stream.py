"""The stream of `volcano-1.15`: the search that is kept answers as `place` does, and who asks whom."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

from tests.fabrics import document_tree
from tests.ledger_check import check_ledger
from tests.policies.random_cases import random_cluster
from tests.policies.stream_cases import SideBySide, come_and_go
from tests.policies.v1_15_cases import random_1_15_gang, random_equal_groups
from tests.profiles import blocks
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.placement import Placement, Refusal
from workbench.policies import get_policy
from workbench.policies.stream import Stream
from workbench.policies.volcano.v1_15.stream import SearchStream
from workbench.simulate import SimulatedJob, Simulation
from workbench.topology.presets import generate_jobs, generate_scenario

MATRIX = BandwidthMatrix(np.array([[0, 9, 5, 1], [9, 0, 1, 5], [5, 1, 0, 9], [1, 5, 9, 0]], dtype=np.float64))
RACK, SOFT = TopologyConstraint("hard", 1), TopologyConstraint("soft")


def counted_gpus(cluster):
    """The same cluster where as many GPUs are used as are not free."""
    used = cluster.used.copy()
    used[:, 3] = cluster.allocatable[:, 3] - np.bitwise_count(cluster.gpu_free).sum(axis=1)
    return dataclasses.replace(cluster, used=used).with_matrix(MATRIX)


def new_gang(rng, cluster):
    gang = rng.choice([random_1_15_gang, random_1_15_gang, random_equal_groups])(rng, cluster)
    if rng.random() < 0.8:
        # Nothing of it runs; what its minimum counted as running is not asked for.
        gang = dataclasses.replace(
            gang, ready=0, min_available=min(max(gang.min_available - gang.ready, 0), gang.n_pods)
        )
    return gang


def without_assumed(asking):
    return dataclasses.replace(asking, assumed={})


def check(seed, steps=14):
    rng = random.Random(seed)
    cluster = random_cluster(rng)
    if rng.random() < 0.7:
        cluster = counted_gpus(cluster)
    gangs = [new_gang(rng, cluster) for _ in range(rng.randint(1, 4))]
    if seed % 3:
        # Where some container does not say what it needs every gang is placed anew.
        cluster = dataclasses.replace(cluster, running=tuple(map(without_assumed, cluster.running)))
        gangs = [dataclasses.replace(gang, roles=tuple(map(without_assumed, gang.roles))) for gang in gangs]
    name = rng.choice(["volcano-1.15", "volcano-1.15+gpu-bottleneck"])
    options = {"normal_pod_enable": rng.random() < 0.3, "gpu_weight": rng.choice([0, 0, 0, 1])}
    # Where taints count every gang is placed anew, too.
    options["taint_weight"] = 0 if seed % 10 else 3
    return come_and_go(rng, SideBySide(get_policy(name, **options), cluster), gangs, steps)


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks(4))
def test_the_same_answers_as_place_on_one_ledger(block, monkeypatch):
    found = []
    by_search = SearchStream._by_search

    def noted(*given):
        found.append(by_search(*given))
        return found[-1]

    monkeypatch.setattr(SearchStream, "_by_search", noted)
    counts = [check(seed) for seed in range(block * 30, (block + 1) * 30)]
    assert sum(placed for placed, _ in counts) > 50
    assert sum(refused for _, refused in counts) > 30
    placements = [answer for answer in found if isinstance(answer, Placement)]
    assert len(placements) > 20
    assert any(placement.gpu_words is not None for placement in placements)
    assert sum(isinstance(answer, Refusal) for answer in found) > 10


@pytest.mark.slow
def test_the_same_answers_many_times():
    for seed in range(1_000, 1_350):
        check(seed, steps=25)


def gang(name, count, cpu, constraint, gpus=0, **options):
    role = Role("w", count, {"cpu": cpu, "nvidia.com/gpu": gpus}, (gpus,))
    return Gang("d", name, (role,), options.pop("least", count), constraint, **options)


def asked(monkeypatch, policy):
    """Names of the gangs for which the whole policy was asked."""
    names = []
    place = policy.place

    def noted(gang, ledger):
        names.append(gang.name)
        return place(gang, ledger)

    monkeypatch.setattr(policy, "place", noted)
    return names


def test_gangs_of_one_form_share_a_search_and_others_ask_the_policy(monkeypatch):
    policy = get_policy("volcano-1.15")
    names = asked(monkeypatch, policy)
    stream = policy.stream(document_tree())
    assert isinstance(stream, SearchStream)
    for number in range(4):
        assert stream.place(gang(f"rack-{number}", 2, 1000, RACK, gpus=1)).n_placed == 2
        assert stream.place(gang(f"soft-{number}", 3, 1000, SOFT)).n_placed == 3
    assert names == []
    stream.place(gang("plain", 1, 1000, None))
    assert stream.place(gang("too-many", 99, 64_000, RACK)).first_code == "no-domain"
    stream.place(gang("running", 1, 1000, RACK, ready=1))
    assert stream.place(gang("some-left-over", 14, 33_000, SOFT, least=1)).n_placed == 8  # one fits on a node
    stream.place(gang("invalid", 1, 1000, RACK, least=2))
    assert names == ["plain", "running", "some-left-over", "invalid"]
    check_ledger(stream.ledger)


def test_searches_that_were_dropped_or_left_behind_are_true_again(monkeypatch):
    """With room for two searches and eight changes, every step forgets something."""
    cluster = document_tree()
    sides = SideBySide(get_policy("volcano-1.15"), cluster)
    monkeypatch.setattr(sides.stream, "_most_forms", 2)
    sides.stream._nodes, sides.stream._rows = sides.stream._nodes[:8], sides.stream._rows[:8]
    gangs = [gang(f"g{i}", 1 + 3 * i, 1000 * (1 + i), (RACK, SOFT)[i % 2]) for i in range(4)]
    placed, _ = come_and_go(random.Random(4), sides, gangs, 60)
    assert placed > 25
    assert len(sides.stream._forms) == 2


@pytest.mark.parametrize("seed", range(3))
def test_a_simulation_is_the_same_with_searches_that_are_kept(seed, monkeypatch):
    """Jobs wait, some of one form; with plain streams every refusal is the whole policy's, reasons and all."""
    made = {"sizes": (4, 4, 4, 2), "seed": seed}
    snapshot = generate_scenario("fleet", **made, pending=0).snapshot
    gangs = [shape.gang() for shape in generate_jobs("fleet", **made, pending=60)]
    jobs = [SimulatedJob(gang, 30.0 * i, 2_000.0 + 700 * (i % 5)) for i, gang in enumerate(gangs)]
    policy = get_policy("volcano-1.15")
    kept = Simulation(snapshot, policy, jobs).run().result()
    monkeypatch.setattr(policy, "stream", lambda snapshot: Stream(policy, snapshot))
    plain = Simulation(snapshot, policy, jobs).run().result()
    assert kept.refusals == plain.refusals and len({row.code for row in plain.refusals}) > 1
    assert kept.attempts == plain.attempts
