"""Jobs of which a fault takes single pods: the others keep their nodes; and elastic jobs, which get more pods later.

Two switches of four nodes each; every pod takes a whole node.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policies.hyper_job.cases import hard
from tests.simulate.test_engine import GPU, PER_NODE, SNAPSHOT, job, run
from tests.simulate.test_lost_pods import assert_nothing_is_lost, faults
from tests.switch_fabric import job as switch_job
from workbench.errors import UnknownNameError
from workbench.model.gang import Gang, Role
from workbench.policies.registry import get_policy
from workbench.simulate import Breakdown, SimulatedJob, Simulation, SimulationResult


def elastic(name: str, pods: int, needed: int, at: float, seconds: float, **more: object) -> SimulatedJob:
    gang = Gang("default", name, (Role("w", pods, {GPU: PER_NODE}),), needed)
    return SimulatedJob(gang, at, seconds, **more)  # type: ignore[arg-type]


def rows(result: SimulationResult) -> list[tuple[float, float, str, int]]:
    return [(one.start_s, one.end_s, one.outcome, sum(node >= 0 for node in one.nodes)) for one in result.attempts]


@pytest.mark.parametrize("policy", ["volcano", "volcano-1.13", "gang", "binpack", "koordinator-network"])
def test_only_the_pod_on_the_broken_node_moves(policy: str) -> None:
    one = job("a", 4, 0, 100, checkpoint_s=10, restarts="pods")
    nodes = run([one], policy=policy).attempts[0].nodes
    result = run([one], policy=policy, breakdowns=[Breakdown(25, 500, (nodes[2],))])
    assert rows(result) == [(0, 25, "stopped", 4), (25, 105, "completed", 4)]
    before, after = (attempt.nodes for attempt in result.attempts)
    assert [mine == now for mine, now in zip(before, after, strict=True)] == [True, True, False, True]
    assert result.to_dataframe()[["restarts", "redone_s", "waited_s"]].values.tolist() == [[1, 5, 0]]


def test_the_other_pods_stand_still_until_there_is_a_node_for_it() -> None:
    jobs = [job("a", 4, 0, 100, checkpoint_s=10, restarts="pods"), job("b", 4, 0, 60)]
    node = run(jobs).attempts[0].nodes[0]
    result = run(jobs, breakdowns=[Breakdown(25, 1000, (node,))])
    assert rows(result) == [
        (0, 25, "stopped", 4),
        (0, 60, "completed", 4),
        (25, 60, "standing", 3),
        (60, 140, "completed", 4),
    ]
    # A job that restarts as a whole frees the nodes of the others meanwhile.
    whole = run([job("a", 4, 0, 100, checkpoint_s=10), jobs[1]], breakdowns=[Breakdown(25, 1000, (node,))])
    assert rows(whole)[2:] == [(60, 140, "completed", 4)]


def test_a_job_that_loses_all_its_pods_waits_without_nodes() -> None:
    one = job("a", 2, 0, 100, checkpoint_s=10, restarts="pods")
    result = run([one, job("b", 6, 0, 50)], breakdowns=[Breakdown(25, 40, tuple(range(8)))])
    assert rows(result)[:2] == [(0, 25, "stopped", 2), (0, 25, "stopped", 6)]
    assert rows(result)[2:] == [(40, 120, "completed", 2), (40, 90, "completed", 6)]


def test_a_pod_keeps_its_rank_and_the_states_of_switches_follow() -> None:
    gang = switch_job("A", "foundation", 6)
    simulation = Simulation(
        SNAPSHOT,
        get_policy("switch-affinity"),
        [SimulatedJob(gang, 0, 100, restarts="pods")],
        breakdowns=[Breakdown(10, 1000, (4,))],
    )

    def ranks() -> dict[int, str]:
        return {pod.node: pod.annotations["hccl/rankIndex"] for pod in simulation.snapshot().running}

    before = ranks() if simulation.run(5) else {}
    lost = before.pop(4)
    after = ranks() if simulation.run(11) else {}
    assert {node: rank for node, rank in after.items() if node in before} == before
    assert {rank for node, rank in after.items() if node not in before} == {lost}
    # The stream's book of switches, which places the next job, says what the annotations of the running pods say.
    ledger, fresh = simulation._nodes._stream.ledger.switches, simulation.snapshot().ledger().switches
    assert ledger is not None and fresh is not None
    assert ledger.states().names() == fresh.states().names()


def test_a_job_goes_on_with_its_minimum_and_grows_again() -> None:
    one = elastic("a", 8, 4, 0, 100, checkpoint_s=10, restarts="pods")
    result = run([one], policy="gang", breakdowns=[Breakdown(25, 45, (0,))])
    # 80 s of work are left; 20 s with seven of eight pods are 17.5 s of it.
    assert rows(result) == [(0, 25, "stopped", 8), (25, 45, "grown", 7), (45, 107.5, "completed", 8)]
    assert result.to_dataframe()[["restarts", "redone_s", "waited_s", "gpus"]].values.tolist() == [
        [1, 5, 0, 8 * PER_NODE]
    ]


@pytest.mark.parametrize("policy", ["gang", "volcano", "volcano-1.13"])
def test_an_elastic_job_gets_its_other_pods_when_no_waiting_job_takes_their_place(policy: str) -> None:
    jobs = [job("other", 4, 0, 20), elastic("a", 8, 2, 1, 30), job("next", 2, 5, 10)]
    result = run(jobs, policy=policy)
    # At 20 two of four free nodes go to the job that waits: 9.5 s of work are done, 20.5 s are left. From 30 on, six of
    # eight pods have done 7.5 s more, and all of them need 13 s.
    assert rows(result) == [
        (0, 20, "completed", 4),
        (1, 20, "grown", 4),
        (20, 30, "grown", 6),
        (20, 30, "completed", 2),
        (30, 43, "completed", 8),
    ]
    frame = result.to_dataframe()
    assert frame["restarts"].tolist() == [0, 0, 0]
    assert frame["waited_s"].tolist() == [0, 0, 15]


def test_a_job_that_stands_still_is_like_no_other_job() -> None:
    # b stands in the first switch, where y has the fourth node, and cannot get its pod back; c, which asks for as much,
    # fits in the second switch once z has ended.
    def inside(name: str, pods: int, at: float, seconds: float) -> SimulatedJob:
        one = job(name, pods, at, seconds, restarts="pods")
        return replace(one, gang=replace(one.gang, constraint=hard(1)))

    jobs = [inside("b", 3, 0, 900), inside("y", 1, 1, 900), inside("z", 4, 2, 28), inside("c", 3, 10, 5)]
    nodes = [attempt.nodes for attempt in run(jobs[:3], policy="volcano").attempts]
    (broken,) = nodes[0][:1]
    assert {node // 4 for node in (*nodes[0], *nodes[1])} == {broken // 4}
    result = run(jobs, policy="volcano", breakdowns=[Breakdown(20, 400, (broken,))])
    assert result.to_dataframe()["started_s"].tolist() == [0, 1, 2, 30]
    # Of two alike, a lacks two pods, b one; of their faults one node is idle.
    twins = [job("a", 3, 0, 100, restarts="pods"), job("b", 3, 0, 100, restarts="pods"), job("t", 1, 0, 500)]
    placed = run(twins).attempts
    hit = (*placed[0].nodes[:2], placed[1].nodes[0])
    result = run(twins, breakdowns=[Breakdown(10, 1000, hit)])
    # Too little for a, enough for b, which goes on at once, without a checkpoint.
    assert result.to_dataframe()["ended_s"].tolist()[1] == 110


def test_work_of_few_pods_that_a_fault_undoes_counts_as_few() -> None:
    jobs = [job("other", 7, 0, 100), elastic("a", 8, 1, 0, 1000)]
    result = run(jobs, policy="gang", breakdowns=[Breakdown(101, 5000, (0,))])
    told = Simulation(SNAPSHOT, get_policy("gang"), jobs, breakdowns=[Breakdown(101, 5000, (0,))]).run(101).result()
    # One of eight pods for 100 s and all of them for 1 s, beside seven nodes in use for 100 s.
    assert told.summary()["redone"] == pytest.approx((1 * 100 + 8 * 1) / (8 * 101))
    assert result.summary()["completed"] == 2


def test_an_unknown_way_to_restart_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="restart"):
        job("a", 1, 0, 1, restarts="half")


@pytest.mark.slow
@given(faults(8), st.sampled_from(["volcano", "binpack", "switch-affinity"]), st.integers(1, 400))
def test_nothing_is_lost_and_a_copy_goes_on_alike(breakdowns: list[Breakdown], policy: str, stop: int) -> None:
    jobs = [
        job("one", 3, 5, 70, restarts="pods", checkpoint_s=7),
        elastic("two", 6, 2, 10, 90, restarts="pods", checkpoint_s=20),
        elastic("three", 4, 1, 20, 60),
        job("four", 2, 40, 200),
    ]

    def simulation() -> Simulation:
        return Simulation(SNAPSHOT, get_policy(policy), jobs, breakdowns=breakdowns)

    straight = simulation().run()
    result = straight.result()
    assert_nothing_is_lost(straight, SNAPSHOT)
    stopped = simulation().run(stop)
    now = stopped.snapshot()
    assert not (now.idle < 0).any()
    assert len({pod.node for pod in now.running}) == len(now.running)
    for other in (pickle.loads(pickle.dumps(stopped)), copy.copy(stopped), stopped):
        assert other.run().result().attempts == result.attempts
