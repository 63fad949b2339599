"""HyperJobs of which one Job at a time meets a fault: switches of two nodes, and each Job alone in one of them."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policies.hyper_job.cases import hard, hyper
from tests.simulate.test_engine import GPU, PER_NODE, job
from tests.switch_fabric import Switch, fabric
from workbench.errors import InputError
from workbench.model.gang import Gang, Role
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.registry import get_policy
from workbench.simulate import Breakdown, SimulatedJob, Simulation, SimulationResult


def switches(number: int) -> ClusterSnapshot:
    return fabric([Switch(f"S{i}", 2, 2) for i in range(number)], 4)


def member(index: int, pods: int = 2, name: str = "h") -> Gang:
    return Gang("ml", f"{name}-m-{index}", (Role("w", pods, {GPU: PER_NODE}),), pods, hard(1))


def hyper_job(n_jobs: int = 2, *, pods: int = 2, needed: int | None = None, name: str = "h") -> SimulatedJob:
    gang = hyper([member(i, pods, name) for i in range(n_jobs)], needed, name=name)
    return SimulatedJob(gang, 0, 100, checkpoint_s=10)


def simulate(number: int, jobs: list[SimulatedJob], *breakdowns: Breakdown, policy: str = "volcano") -> Simulation:
    return Simulation(switches(number), get_policy(policy), jobs, breakdowns=breakdowns)


def rows(result: SimulationResult) -> list[tuple[float, float, str, float, tuple[int, ...]]]:
    return [(one.start_s, one.end_s, one.outcome, one.saved_s, one.nodes) for one in result.attempts]


@pytest.mark.parametrize("policy", ["volcano", "volcano-1.13", "gang", "binpack"])
def test_only_the_job_that_was_hit_moves(policy: str) -> None:
    whole = simulate(3, [hyper_job()], policy=policy).run().result()
    nodes = whole.attempts[0].nodes
    (free,) = {0, 1, 2} - {node // 2 for node in nodes}
    result = simulate(3, [hyper_job()], Breakdown(25, 500, (nodes[3],)), policy=policy).run().result()
    moved = (*nodes[:2], 2 * free, 2 * free + 1)
    assert [(*row[:4], tuple(sorted(row[4]))) for row in rows(result)] == [
        (0, 25, "stopped", 20, tuple(sorted(nodes))),
        (25, 105, "completed", 80, tuple(sorted(moved))),
    ]
    assert result.attempts[1].nodes[:2] == nodes[:2]


def test_the_other_jobs_stand_still_until_it_is_placed() -> None:
    result = simulate(2, [hyper_job()], Breakdown(25, 60, (2,))).run().result()
    every, rest = (0, 1, 2, 3), (0, 1, -1, -1)
    assert rows(result) == [
        (0, 25, "stopped", 20, every),
        (25, 60, "standing", 0, rest),
        (60, 140, "completed", 80, every),
    ]
    assert [(row.time_s, row.waiting, row.running, row.gpus) for row in result.usage] == [
        (0, 0, 1, 4 * PER_NODE),
        (25, 1, 0, 2 * PER_NODE),
        (60, 0, 1, 4 * PER_NODE),
        (140, 0, 0, 0),
    ]
    (told,) = result.to_dataframe().to_dict("records")
    assert (told["waited_s"], told["restarts"], told["redone_s"], told["ended_s"]) == (35, 1, 5, 140)
    (why,) = simulate(2, [hyper_job()], Breakdown(25, 60, (2,))).run(30).result().refused.values()
    assert "would help: bring S1-n0 back to Ready" in why


def test_more_faults_take_more_jobs_until_none_is_left() -> None:
    faults = [Breakdown(25, 60, (2,)), Breakdown(30, 70, (0,)), Breakdown(40, 90, (5,))]
    result = simulate(3, [hyper_job(3)], *faults).run().result()
    assert rows(result) == [
        (0, 25, "stopped", 20, (0, 1, 2, 3, 4, 5)),
        (25, 30, "standing", 0, (0, 1, -1, -1, 4, 5)),
        (30, 40, "standing", 0, (-1, -1, -1, -1, 4, 5)),
        (90, 170, "completed", 80, (0, 1, 2, 3, 4, 5)),
    ]


def test_a_minimum_is_of_all_jobs() -> None:
    # Two of three Jobs are enough: the third is never missed.
    result = simulate(3, [hyper_job(3, needed=2)], Breakdown(25, 1000, (0, 2))).run(999).result()
    assert [row[2] for row in rows(result)] == ["stopped", "standing"]
    result = simulate(4, [hyper_job(3, needed=2)], Breakdown(25, 1000, (0, 2))).run().result()
    placed = [(outcome, sum(node >= 0 for node in nodes)) for _, _, outcome, _, nodes in rows(result)]
    assert placed == [("stopped", 6), ("completed", 4)]
    # 80 s of work by two Jobs of three.
    assert result.attempts[1].end_s == pytest.approx(25 + 80 * 3 / 2)


@pytest.mark.parametrize("gpus", [0, 5])
@pytest.mark.parametrize("repaired", [50.0, 150.0])
def test_what_breaks_in_a_hypernode_of_a_job_is_broken_when_the_job_has_ended(repaired: float, gpus: int) -> None:
    # Each Job has one pod; the other node of its HyperNode breaks, or some of its GPUs, and is repaired before or after
    # the HyperJob's end.
    jobs = [hyper_job(pods=1), job("late", 4, 60, 10)]
    whole = simulate(2, jobs).run().result()
    idle = next(iter({0, 1} - set(whole.attempts[0].nodes)))
    result = simulate(2, jobs, Breakdown(20, repaired, (idle,), gpus)).run().result()
    assert [(one.job, one.start_s) for one in result.attempts] == [(0, 0), (1, max(100, repaired))]


def gpu_seconds(result: SimulationResult) -> tuple[float, float]:
    used = sum(now.gpus * (after.time_s - now.time_s) for now, after in pairwise(result.usage))
    return used, sum(one.gpus * (one.end_s - one.start_s) for one in result.attempts)


def faults(n_nodes: int) -> st.SearchStrategy[list[Breakdown]]:
    """Up to eight faults of nodes or some of their GPUs."""
    return st.lists(
        st.builds(
            lambda at, lasts, node, gpus: Breakdown(at, at + lasts, (node,), gpus),
            st.integers(1, 300),
            st.integers(1, 90),
            st.integers(0, n_nodes - 1),
            st.sampled_from([0, 0, 1, 6]),
        ),
        max_size=8,
    )


def assert_nothing_is_lost(simulation: Simulation, start: ClusterSnapshot) -> None:
    """All four jobs are done, GPU-seconds add up, and the cluster is as it was, but for nodes that are still broken."""
    result = simulation.result()
    used, held = gpu_seconds(result)
    assert used == pytest.approx(held)
    assert result.summary()["completed"] == 4
    nodes = simulation._nodes
    assert nodes.free_gpus == nodes._count_free()
    for node in nodes._stream.closed:
        nodes._stream.reopen(node)
    ledger = nodes._stream.ledger
    assert np.array_equal(ledger.idle, start.idle) and np.array_equal(ledger.gpu_free, start.gpu_free)
    assert not ledger.exclusive


@pytest.mark.slow
@given(faults(10), st.sampled_from(["volcano", "binpack"]), st.integers(1, 400))
def test_nothing_is_lost_and_a_copy_goes_on_alike(breakdowns: list[Breakdown], policy: str, stop: int) -> None:
    jobs = [hyper_job(3), hyper_job(2, pods=1, name="g"), job("one", 3, 5, 70), job("two", 2, 40, 200)]
    straight = simulate(5, jobs, *breakdowns, policy=policy)
    start = straight.snapshot()
    result = straight.run().result()
    assert_nothing_is_lost(straight, start)
    stopped = simulate(5, jobs, *breakdowns, policy=policy).run(stop)
    now = stopped.snapshot()
    assert not (now.idle < 0).any()
    for owner, hypernode in now.exclusive.items():
        nodes = now.topology.nodes_of(now.topology.domain(hypernode))
        assert {pod.gang for pod in now.running if pod.node in nodes} == {owner.rpartition("/")[0]}
    again = pickle.loads(pickle.dumps(stopped)).run().result()
    assert again.attempts == result.attempts and again.usage == result.usage


def test_a_stream_adopts_placements_that_it_does_not_hold() -> None:
    for policy in ("volcano", "binpack"):
        stream = get_policy(policy).stream(switches(2))
        placed = stream.place(hyper_job().gang)
        with pytest.raises(InputError, match="nothing to adopt"):
            stream.adopt(placed)  # type: ignore[arg-type]
        stream.give_back(placed)  # type: ignore[arg-type]
        assert not stream.ledger.exclusive
        stream.adopt(placed)  # type: ignore[arg-type]
        assert len(stream.ledger.exclusive) == 2
        stream.give_back(placed)  # type: ignore[arg-type]
        alone = get_policy(policy).place(job("a", 1, 0, 1).gang, switches(2).ledger())
        stream.adopt(alone)  # type: ignore[arg-type]
        assert stream.ledger.idle[alone.node[0], 3] == 0  # type: ignore[union-attr]
        stream.give_back(alone)  # type: ignore[arg-type]
        assert (stream.ledger.idle == switches(2).idle).all()
