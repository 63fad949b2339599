"""Kueue's queues in simulations: they stay open between instants, and answer as queues read anew in every cycle.

Four nodes of 2 cpu in two racks; a pod of a job takes 1 or 2 cpu.
"""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policies.kueue.test_queued import RACK, cluster, load, queue
from tests.profiles import a_few
from tests.reference.queue_simulation import QueueOracle
from workbench.cancel import Cancelled, Token
from workbench.model.gang import Gang, Role
from workbench.model.kueue import TopologyRequest
from workbench.model.kueue_request import KueueRequest, KueueRole
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.stream import SessionStream
from workbench.simulate import Breakdown, SimulatedJob, Simulation
from workbench.simulate.waiting import waiting_at

LEVELS = {"required": TopologyRequest(required=RACK), "preferred": TopologyRequest(preferred=RACK), "none": None}


def job(
    name: str, where: str, pods: int, at: float, seconds: float, priority: int = 0, level: str = "none", cpu: int = 1
) -> SimulatedJob:
    roles = (Role("main", pods, {"cpu": 1000 * cpu}),)
    gang = Gang("default", name, roles, pods, queue=where, priority=priority)
    asked = KueueRequest(roles=(KueueRole("main", LEVELS[level]),))
    return SimulatedJob(gang.with_extra(asked), at, seconds)


def queues(*specs: tuple[str, str, str, dict[str, str]]) -> ClusterSnapshot:
    """A cluster with ClusterQueues: name, quota, cohort, preemption."""
    some = [queue(name, quota, cohort, **({"preemption": how} if how else {})) for name, quota, cohort, how in specs]
    return load(*cluster(*some)).snapshot


def starts(simulation: Simulation) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    result = simulation.result()
    for attempt in result.attempts:
        found.setdefault(result.jobs[attempt.job].gang.name, []).append(attempt.start_s)
    return found


def simulated(snapshot: ClusterSnapshot, jobs: list[SimulatedJob], **options: object) -> Simulation:
    return Simulation(snapshot, "kueue-0.19", jobs, discipline="session", **options)  # type: ignore[arg-type]


RECLAIM = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}


def test_a_parked_job_is_tried_when_one_of_its_cohort_ends() -> None:
    snapshot = queues(("a", "2", "x", {}), ("b", "2", "x", {}), ("c", "2", "y", {}))
    jobs = [job("a0", "a", 4, 0, 10), job("b0", "b", 2, 1, 5), job("c0", "c", 2, 2, 3), job("c1", "c", 2, 3, 4)]
    assert starts(simulated(snapshot, jobs).run()) == {"a0": [0], "b0": [10], "c0": [2], "c1": [5]}


def test_room_on_nodes_is_noticed_in_other_trees_of_cohorts() -> None:
    snapshot = queues(("a", "9", "x", {}), ("b", "9", "y", {}))
    jobs = [job("a0", "a", 8, 0, 10), job("b0", "b", 2, 1, 5), job("b1", "b", 2, 2, 5)]
    assert starts(simulated(snapshot, jobs).run()) == {"a0": [0], "b0": [10], "b1": [10]}


def test_jobs_that_ask_for_the_same_wait_for_the_same_reason() -> None:
    snapshot = queues(("a", "2", "", {}))
    jobs = [job(f"a{i}", "a", 2, 0, 10) for i in range(8)]
    result = simulated(snapshot, jobs).run(5).result()
    assert {one.code for one in waiting_at(result, 5)} == {"kueue-pending"} and len(waiting_at(result, 5)) == 7
    (text,) = set(result.refused.values())
    assert "insufficient unused quota for cpu in flavor gpu, 2 more needed" in text


def test_a_job_that_takes_its_quota_back_stops_those_that_borrowed_it() -> None:
    snapshot = queues(("a", "4", "x", RECLAIM), ("b", "4", "x", RECLAIM))
    jobs = [job("b0", "b", 4, 0, 10), job("b1", "b", 4, 0, 10), job("a0", "a", 4, 4, 3)]
    simulation = simulated(snapshot, jobs).run()
    # The later of two equals goes, begins anew, and keeps its place in the queue.
    assert starts(simulation) == {"b0": [0], "b1": [0, 7], "a0": [4]} or starts(simulation) == {
        "b0": [0, 7],
        "b1": [0],
        "a0": [4],
    }
    assert simulation.result().summary()["restarts"] == 1


def test_pods_that_no_job_of_the_simulation_has_are_not_stopped() -> None:
    snapshot = queues(("a", "2", "", {"withinClusterQueue": "LowerPriority"}))
    first = job("first", "a", 2, 0, 10)
    (held,) = Simulation(snapshot, "kueue-0.19", [first], discipline="session").run(5).snapshot().running[:1]
    assert held.gang == "default/first"
    running = Simulation(snapshot, "kueue-0.19", [first], discipline="session").run(5).snapshot()
    later = simulated(running, [job("later", "a", 2, 0, 10, priority=5)]).run()
    assert starts(later) == {}


def test_faults_and_repairs_let_parked_jobs_be_tried_again() -> None:
    snapshot = queues(("a", "16", "", {}))
    jobs = [job(name, "a", 4, 0, 10, level="required") for name in ("a0", "a1")]
    # A rack of two nodes holds four pods only while both of them work.
    broken = [Breakdown(0.0, 4.0, (3,))]
    assert starts(simulated(snapshot, jobs, breakdowns=broken).run()) == {"a0": [0], "a1": [4]}


def test_a_quota_of_the_log_does_not_apply_beside_a_cluster_queue() -> None:
    snapshot = queues(("a", "2", "x", {}), ("b", "2", "x", {}))
    jobs = [job("a0", "a", 4, 0, 10)]
    assert starts(simulated(snapshot, jobs, quotas={"a": {"cpu": 2000}}).run()) == {"a0": [0]}


@st.composite
def scenarios(draw: st.DrawFn) -> tuple[ClusterSnapshot, list[SimulatedJob]]:
    how = st.sampled_from(({}, RECLAIM, {"withinClusterQueue": "LowerOrNewerEqualPriority"}))
    specs = [
        (name, draw(st.sampled_from(("2", "4", "6"))), draw(st.sampled_from(("", "x"))), draw(how)) for name in "abc"
    ]
    shapes = st.tuples(
        st.sampled_from("abc"),
        st.integers(1, 5),
        st.integers(0, 8),
        st.sampled_from((1, 2, 5)),
        st.integers(0, 2),
        st.sampled_from(tuple(LEVELS)),
        st.sampled_from((1, 2)),
    )
    rows = draw(st.lists(shapes, min_size=1, max_size=12))
    return queues(*specs), [job(f"j{i:02}", *row) for i, row in enumerate(rows)]


@given(scenarios())
def test_open_queues_answer_as_queues_read_anew_in_every_cycle(
    scenario: tuple[ClusterSnapshot, list[SimulatedJob]],
) -> None:
    snapshot, jobs = scenario
    result = simulated(snapshot, jobs).run().result()
    names = snapshot.topology.node_names
    ours = [
        (one.job, one.start_s, one.end_s, tuple(names[node] for node in one.nodes))
        for one in result.attempts
        if one.outcome != "running"
    ]
    assert sorted(ours) == sorted(QueueOracle(snapshot, jobs).run())


def test_cancelled_or_copied_in_the_middle_it_goes_on_alike() -> None:
    snapshot = queues(("a", "4", "x", RECLAIM), ("b", "4", "x", RECLAIM))
    jobs = [job(f"{'ab'[i % 2]}{i}", "ab"[i % 2], 1 + i % 4, i // 3, 3 + i % 2, i % 3) for i in range(14)]
    straight, cancelled = simulated(snapshot, jobs).run().result(), 0
    moments = a_few(range(1, 60), 6)
    for last in moments:
        token, calls = Token(), [0]

        def tick(token: Token = token, calls: list[int] = calls, last: int = last) -> None:
            calls[0] += 1
            if calls[0] == last:
                token.cancel()

        token.tick = tick
        simulation = simulated(snapshot, jobs)
        try:
            with token.watched():
                simulation.run()
        except Cancelled:
            cancelled += 1
        for each in (pickle.loads(pickle.dumps(simulation)), copy.copy(simulation), simulation):
            result = each.run().result()
            assert (result.attempts, result.usage, result.refusals) == (
                straight.attempts,
                straight.usage,
                straight.refusals,
            )
    assert cancelled > len(moments) // 3


@pytest.mark.parametrize(("policy", "stays"), [("kueue-0.19", True), ("volcano-1.15", False)])
def test_whose_sessions_stay_open(policy: str, stays: bool) -> None:
    from workbench.policies import get_policy

    stream = get_policy(policy).stream(queues(("a", "2", "", {})))
    assert isinstance(stream, SessionStream) is stays
