"""The discipline `session`: at every instant it answers as the policy's own session on the cluster as it is then.

Two switches of four nodes, eight GPUs each; every pod takes a whole node.
"""

from __future__ import annotations

import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import a_few
from tests.reference.session_simulation import live
from tests.simulate.test_engine import GPU, PER_NODE, SNAPSHOT, job, run, starts
from workbench.cancel import Cancelled, Token
from workbench.errors import InputError
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.model.snapshot import ClusterSnapshot, Queue
from workbench.policies import get_policy
from workbench.policies.contract import Policy, SessionPolicy
from workbench.policies.retry import RetryRule
from workbench.simulate import Breakdown, SimulatedJob, Simulation, SimulationResult
from workbench.simulate.waiting import code_of, waiting_at

NAMES = ("volcano-1.13", "volcano-1.15", "allocate")


def with_queues(**weights: int) -> ClusterSnapshot:
    return dataclasses.replace(SNAPSHOT, queues={name: Queue(name, weight) for name, weight in weights.items()})


#: With the action enqueue, which the policies' own configurations lack.
CONFIG = SchedulerConfig(
    ("enqueue", "allocate", "backfill"),
    tuple(tuple(map(PluginOption, tier)) for tier in (("priority", "gang"), ("overcommit", "proportion", "nodeorder"))),
)


def simulated(snapshot: ClusterSnapshot, policy: Policy | str, jobs: list[SimulatedJob]) -> SimulationResult:
    return Simulation(snapshot, policy, jobs, discipline="session").run().result()


def check_against_the_oracle(snapshot: ClusterSnapshot, policy: Policy, jobs: list[SimulatedJob]) -> None:
    assert isinstance(policy, SessionPolicy)
    result, lived = simulated(snapshot, policy, jobs), live(snapshot, policy, jobs)
    assert {one.job: (one.start_s, one.nodes) for one in result.attempts} == lived.starts
    for at, number, refusal in lived.refusals:
        told = {one.job: one.code for one in waiting_at(result, at)}
        assert told[number] == code_of(refusal), (at, number)


#: Queue a came first and asks for the whole cluster; b deserves half of it.
SHARED = [
    *(job(f"a{i}", 2, 0, 100, queue="a") for i in range(4)),
    *(job(f"b{i}", 2, 0, 100, queue="b") for i in range(4)),
]


@pytest.mark.parametrize("name", NAMES)
def test_queues_share_the_cluster_by_their_weights(name: str) -> None:
    even = starts(simulated(with_queues(a=1, b=1), name, SHARED))
    assert (even[:4].count(0), even[4:].count(0)) == (2, 2)
    most = starts(simulated(with_queues(a=3, b=1), name, SHARED))
    assert (most[:4].count(0), most[4:].count(0)) == (3, 1)
    # Without a session nobody looks at the queues of the cluster.
    alone = starts(Simulation(with_queues(a=1, b=1), name, SHARED).run().result())
    assert (alone[:4].count(0), alone[4:].count(0)) == (4, 0)
    check_against_the_oracle(with_queues(a=1, b=1), get_policy(name), SHARED)


def test_a_job_that_its_queue_does_not_admit_waits_for_that_reason() -> None:
    queue = Queue("a", capability={GPU: 2 * PER_NODE})
    snapshot = dataclasses.replace(SNAPSHOT, queues={"a": queue})
    asked = VolcanoMemory(min_resources={GPU: 2 * PER_NODE})
    jobs = [
        dataclasses.replace(one, gang=one.gang.with_extra(asked))
        for one in (job("first", 2, 0, 10, queue="a"), job("second", 2, 1, 10, queue="a"))
    ]
    policy = get_policy("volcano-1.15", config=CONFIG)
    result = simulated(snapshot, policy, jobs)
    assert starts(result) == [0, 10]
    assert [one.code for one in waiting_at(result, 5)] == ["not-admitted"]
    check_against_the_oracle(snapshot, policy, jobs)


@st.composite
def some_jobs(draw: st.DrawFn) -> list[SimulatedJob]:
    shapes = st.tuples(
        st.integers(1, 6),
        st.integers(0, 20),
        st.sampled_from((1, 5, 20)),
        st.sampled_from("ab"),
        st.sampled_from((None, TopologyConstraint("hard", 1), TopologyConstraint("soft", None))),
        st.integers(0, 1),
        st.booleans(),
    )
    jobs = []
    for i, (pods, at, seconds, queue, constraint, priority, asks) in enumerate(draw(st.lists(shapes, max_size=8))):
        role = Role("w", pods, {GPU: PER_NODE})
        gang = Gang("default", f"j{i}", (role,), pods, constraint=constraint, queue=queue, priority=priority)
        if asks:
            gang = gang.with_extra(VolcanoMemory(min_resources={GPU: pods * PER_NODE}))
        jobs.append(SimulatedJob(gang, at, seconds))
    return jobs


@given(st.sampled_from(NAMES), st.sampled_from((None, CONFIG)), st.sampled_from(((1, 1), (3, 1))), some_jobs())
def test_every_instant_is_a_session(
    name: str, config: SchedulerConfig | None, weights: tuple[int, int], jobs: list[SimulatedJob]
) -> None:
    policy = get_policy(name) if config is None else get_policy(name, config=config)
    check_against_the_oracle(with_queues(a=weights[0], b=weights[1]), policy, jobs)


@pytest.mark.parametrize("name", ["binpack", "gang", "switch-affinity"])
def test_a_policy_without_sessions_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"no session of its own .*expected allocate or kueue-0.19 or volcano-1.13 or"):
        Simulation(SNAPSHOT, name, SHARED, discipline="session")


@pytest.mark.parametrize(
    "retry",
    [
        pytest.param(RetryRule(), marks=pytest.mark.slow),
        pytest.param(RetryRule(1.0), marks=pytest.mark.slow),
        RetryRule(0.0, 1.0, 10.0),
    ],
)
def test_cancelled_in_the_middle_it_goes_on_alike(retry: RetryRule) -> None:
    snapshot, breakdowns = with_queues(a=1, b=1), [Breakdown(5.0, 6.0, (0, 5))]
    jobs = [dataclasses.replace(one, restarts="pods") if i % 2 else one for i, one in enumerate(SHARED)]

    def made() -> Simulation:
        return Simulation(snapshot, "volcano-1.15", jobs, discipline="session", breakdowns=breakdowns, retry=retry)

    straight, cancelled = made().run().result(), 0
    assert straight.summary()["completed"] == len(jobs)
    moments = a_few(range(1, 40), 8)
    for last in moments:
        token, calls = Token(), [0]

        def tick(token: Token = token, calls: list[int] = calls, last: int = last) -> None:
            calls[0] += 1
            if calls[0] == last:
                token.cancel()

        token.tick = tick
        simulation = made()
        try:
            with token.watched():
                simulation.run()
        except Cancelled:
            cancelled += 1
        for each in (pickle.loads(pickle.dumps(simulation)), simulation):
            result = each.run().result()
            assert (result.attempts, result.usage, result.refusals) == (
                straight.attempts,
                straight.usage,
                straight.refusals,
            )
    assert cancelled > len(moments) // 4


def test_quotas_hold_in_a_session() -> None:
    result = run(SHARED, "volcano-1.15", discipline="session", quotas={"a": {GPU: 2 * PER_NODE}})
    at = result.to_dataframe()
    assert (at["started_s"][:4] == 0).sum() == 1
    assert "quota" in {one.code for one in waiting_at(result, 50)}
