"""Simulations on two switches of four nodes each, eight GPUs to a node; every pod takes a whole node."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from tests.profiles import a_few, whole_run
from tests.switch_fabric import Switch, fabric
from workbench.cancel import Cancelled, Token
from workbench.errors import InputError, UnknownNameError
from workbench.model.gang import Gang, Role
from workbench.model.ledger import Ledger
from workbench.policies.composed import Composed
from workbench.policies.function import FunctionPolicy
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters
from workbench.policies.registry import get_policy
from workbench.policies.retry import RetryRule
from workbench.simulate import (
    Breakdown,
    FaultRates,
    SimulatedJob,
    Simulation,
    SimulationResult,
    draw_breakdowns,
)
from workbench.simulate.disciplines import DISCIPLINES
from workbench.simulate.job_run import kind_of

SNAPSHOT = fabric([Switch("S0", 4, 4), Switch("S1", 4, 4)], 4)
(GPU,) = (SNAPSHOT.resources[column] for column in SNAPSHOT.gpu_columns[:1])
PER_NODE = int(SNAPSHOT.allocatable[0, SNAPSHOT.gpu_columns[0]])


def job(name: str, pods: int, at: float, seconds: float, priority: int = 0, **more: Any) -> SimulatedJob:
    queue = more.pop("queue", "default")
    gang = Gang("default", name, (Role("w", pods, {GPU: PER_NODE}),), pods, priority=priority, queue=queue)
    return SimulatedJob(gang, at, seconds, **more)


def starts(result: SimulationResult) -> list[float | None]:
    return [None if at != at else at for at in result.to_dataframe()["started_s"]]


def run(jobs: list[SimulatedJob], policy: str = "binpack", **options: Any) -> SimulationResult:
    return Simulation(SNAPSHOT, get_policy(policy), jobs, **options).run().result()


def able(discipline: str, policy: str = "binpack") -> str:
    """A policy that can work with a discipline: the one that is given, if it can."""
    return "volcano" if discipline == "session" else policy


QUICK = {("binpack", "fifo"), ("binpack", "backfill"), ("binpack", "shares"), ("volcano", "fifo")}
THREE = [job("a", 6, 0, 10), job("big", 8, 1, 10), job("small", 2, 2, 30)]


@pytest.mark.parametrize(
    ("discipline", "expected"),
    [
        ("fifo", [0, 10, 20]),
        ("best-effort", [0, 32, 2]),
        # Until 10, when big could start, small would not have ended.
        ("backfill", [0, 10, 20]),
        ("shares", [0, 32, 2]),
    ],
)
def test_who_passes_whom(discipline: str, expected: list[float]) -> None:
    assert starts(run(THREE, discipline=discipline)) == expected


def test_backfill_lets_short_jobs_pass_and_those_that_leave_enough() -> None:
    jobs = [
        job("a", 6, 0, 10),
        job("big", 7, 1, 10),
        job("short", 1, 2, 7),
        job("long", 1, 3, 50),
        job("late", 1, 4, 50),
    ]
    # short ends at 9; long leaves seven nodes for big; late would not.
    assert starts(run(jobs, discipline="backfill")) == [0, 10, 2, 3, 20]


def test_priority_comes_first() -> None:
    jobs = [job("a", 8, 0, 10), job("low", 8, 1, 10), job("high", 8, 2, 10, priority=5)]
    assert starts(run(jobs, discipline="priority")) == [0, 20, 10]


def test_shares_go_to_the_queue_that_holds_least_for_its_weight() -> None:
    jobs = [job(f"{queue}{i}", 2, i / 10, 10, queue=queue) for i in range(4) for queue in "ab"]
    jobs = [job("first", 8, 0, 5), *(dataclasses.replace(each, submitted_s=1 + each.submitted_s) for each in jobs)]
    frame = run(jobs, discipline="shares", weights={"a": 3}).to_dataframe()
    assert frame[frame["started_s"] == 5]["job"].tolist() == [f"default/{name}" for name in ("a0", "b0", "a1", "a2")]


def test_quotas_hold_up_nobody_else() -> None:
    jobs = [job(name, 3, 0, 10, queue=name[0]) for name in ("a0", "a1", "b0")]
    for discipline in DISCIPLINES:
        result = run(jobs, able(discipline), discipline=discipline, quotas={"a": {GPU: 3 * PER_NODE}})
        assert starts(result) == [0, 10, 0]
    result = run([job("a", 3, 0, 1)], quotas={"default": {GPU: 1}})
    assert result.refused == {0: "the quota of queue default is used up"}


def test_a_job_larger_than_the_cluster_is_never_placed_and_named() -> None:
    result = run([job("huge", 9, 0, 1), job("a", 8, 0, 1)])
    assert starts(result) == [None, 0]
    assert list(result.refused) == [0]
    assert "never as it is written" in result.refused[0]
    assert result.summary()["never_placed"] == 1


@pytest.mark.parametrize(
    ("policy", "discipline"),
    [
        pytest.param(policy, discipline, marks=() if (policy, discipline) in QUICK else pytest.mark.slow)
        for policy in ("binpack", "volcano", "allocate")
        for discipline in DISCIPLINES
        if able(discipline, policy) == policy or policy == "allocate"
    ],
)
def test_nothing_is_lost(policy: str, discipline: str) -> None:
    random = np.random.default_rng(5)
    # Every instant of a session asks for all that wait, so half of the jobs take a quarter of the time.
    n = (30 if discipline == "session" else 60) // (1 if whole_run() else 2)
    at = random.exponential(4, n).cumsum()
    shapes = zip(at, random.integers(1, 9, n), random.exponential(9, n), random.integers(0, 3, n), strict=True)
    # In a session a job larger than the share of its queue waits for ever while the other queue asks for the rest.
    queues = "aa" if discipline == "session" else "ab"
    jobs = [
        job(f"j{i}", int(n), float(t), float(s), int(p), checkpoint_s=2.0, restart_s=0.5, queue=queues[i % 2])
        for i, (t, n, s, p) in enumerate(shapes)
    ]
    rates = FaultRates(node_per_1000_days=4e6, gpu_per_1000_days=3e5, switch_per_1000_days=1e6, repair_s=5)
    breakdowns = draw_breakdowns(SNAPSHOT, rates, 600, random)
    result = run(jobs, policy, discipline=discipline, breakdowns=breakdowns)

    frame, usage = result.to_dataframe(), result.usage_frame()
    assert frame["restarts"].sum() > 0
    assert not frame["ended_s"].isna().any()
    assert (frame["waited_s"] >= 0).all()
    assert usage["gpus"].between(0, 8 * PER_NODE).all()
    assert usage.iloc[-1][["waiting", "running", "gpus"]].tolist() == [0, 0, 0]
    held = np.diff(usage["time_s"])
    used = (usage["gpus"].to_numpy()[:-1] * held).sum()
    attempts = result.attempt_frame()
    assert used == pytest.approx(((attempts["end_s"] - attempts["start_s"]) * attempts["gpus"]).sum())
    # All work is done once: what lasts of the attempts of a job adds up to its duration.
    kept = attempts.groupby("job")["saved_s"].sum()
    assert [kept[each.gang.key] for each in jobs] == pytest.approx([each.duration_s for each in jobs])
    # Little's law over the whole run: jobs waiting, integrated over time, are the waiting times together.
    assert (usage["waiting"].to_numpy()[:-1] * held).sum() == pytest.approx(frame["waited_s"].sum())
    # No two attempts hold a node at once, and none holds a broken one.
    spans: list[tuple[int, float, float]] = []
    for one in result.attempts:
        for node in one.nodes:
            assert all(end <= one.start_s or one.end_s <= start for at, start, end in spans if at == node)
            spans.append((node, one.start_s, one.end_s))
    for broken in breakdowns:
        for node, start, end in spans:
            assert node not in broken.nodes or end <= broken.at_s or start >= broken.until_s
    again = run(jobs, policy, discipline=discipline, breakdowns=breakdowns)
    assert pickle.dumps((again.attempts, again.usage)) == pickle.dumps((result.attempts, result.usage))


def test_a_simulation_goes_on_after_a_stop_and_a_copy() -> None:
    random = np.random.default_rng(8)
    jobs = [job(f"j{i}", int(random.integers(1, 6)), float(i), float(random.exponential(6))) for i in range(40)]
    breakdowns = [Breakdown(7.5, 20.0, (0, 1), what="rack"), Breakdown(9.0, 12.0, (2,), 0b11)]
    whole = run(jobs, breakdowns=breakdowns)
    simulation = Simulation(SNAPSHOT, get_policy("binpack"), jobs, breakdowns=breakdowns)
    for until in (3.0, 8.0, 11.0, 30.0):
        simulation = pickle.loads(pickle.dumps(simulation.run(until)))
        assert simulation.now_s <= until
        now = simulation.snapshot()
        row = simulation.result().usage[-1]
        assert int(np.bitwise_count(SNAPSHOT.gpu_free).sum() - np.bitwise_count(now.gpu_free).sum()) >= row.gpus
        assert len({pod.gang for pod in now.running}) == row.running
        assert bool(now.not_ready[0]) == (7.5 <= until < 20)
    assert not simulation.done
    rest = simulation.run().result()
    assert simulation.done
    assert (rest.attempts, rest.usage) == (whole.attempts, whole.usage)


def test_a_fault_costs_what_no_checkpoint_holds() -> None:
    for checkpoint, writing, end in ((None, 0.0, 60 + 2 + 100), (30.0, 0.0, 60 + 2 + 70), (30.0, 4.0, 60 + 2 + 70 + 8)):
        work = job("a", 2, 0, 100, checkpoint_s=checkpoint, writing_s=writing, restart_s=2)
        result = run([work], breakdowns=[Breakdown(59.0, 60.0, tuple(range(8)))])
        frame = result.to_dataframe()
        assert frame["ended_s"].tolist() == [end]
        assert frame["restarts"].tolist() == [1]
        assert frame["waited_s"].tolist() == [1]


def test_a_broken_gpu_stops_only_who_holds_it() -> None:
    one = Gang("default", "one", (Role("w", 1, {GPU: 1}),), 1)
    two = Gang("default", "two", (Role("w", 1, {GPU: 1}),), 1)
    jobs = [SimulatedJob(one, 0, 100), SimulatedJob(two, 0, 100)]
    result = run(
        jobs,
        "gang+gpu-lowest-index",
        breakdowns=[Breakdown(10.0, 1000.0, (int(np.argmin(SNAPSHOT.topology.node_rank)),), 0b1)],
    )
    frame = result.to_dataframe()
    assert frame["restarts"].tolist() == [1, 0]
    assert frame["ended_s"].tolist() == [110, 100]


@pytest.mark.slow
def test_one_server_waits_as_the_theory_says() -> None:
    # M/M/c with c = 8 nodes: the mean wait is Erlang's C over (c mu - lambda).
    random = np.random.default_rng(1)
    n, rate, servers = 6_000, 6.4, 8
    at, work = random.exponential(1 / rate, n).cumsum(), random.exponential(1.0, n)
    jobs = [job(f"j{i}", 1, float(t), float(s)) for i, (t, s) in enumerate(zip(at, work, strict=True))]
    waited = run(jobs, "gang", discipline="fifo").summary()["waited_mean_s"]
    terms = [rate**k / float(np.prod(range(1, k + 1))) for k in range(servers + 1)]
    busy = terms[-1] * servers / (servers - rate)
    expected = busy / (sum(terms[:-1]) + busy) / (servers - rate)
    assert waited == pytest.approx(expected, rel=0.2)


def test_lost_work_is_what_the_first_order_formula_says() -> None:
    # Interval T, writing d, restart R, mean time between faults M: lost share d/T + (T/2 + R)/M.
    interval, writing, restart, between = 100.0, 2.0, 5.0, 5_000.0
    random = np.random.default_rng(2)
    faults = random.exponential(between, 400).cumsum()
    breakdowns = [Breakdown(float(at), float(at) + 1e-3, (0,)) for at in faults]
    work = job("a", 8, 0, 1_000_000, checkpoint_s=interval, writing_s=writing, restart_s=restart)
    frame = run([work], breakdowns=breakdowns).to_dataframe()
    lost = frame["ended_s"][0] / 1_000_000 - 1
    assert lost == pytest.approx(writing / interval + (interval / 2 + restart) / between, rel=0.1)


def test_kinds_of_jobs() -> None:
    first, second = job("a", 2, 0, 1).gang, job("b", 2, 5, 9).gang
    assert kind_of(first) == kind_of(second)
    assert kind_of(first) != kind_of(job("c", 3, 0, 1).gang)
    assert kind_of(first) != kind_of(dataclasses.replace(second, queue="other"))
    labelled = dataclasses.replace(first.roles[0], labels={"app": "x"})
    assert kind_of(dataclasses.replace(first, roles=(labelled,))) is None
    assert kind_of(dataclasses.replace(first, min_subgroups={"x": 1})) is None


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="submitted_s"):
        job("a", 1, -1, 1)
    with pytest.raises(InputError, match="duration_s"):
        dataclasses.replace(THREE[0], duration_s=float("nan"))
    with pytest.raises(InputError, match="checkpoint_s"):
        dataclasses.replace(THREE[0], checkpoint_s=0.0)
    with pytest.raises(InputError, match="two jobs with the same name"):
        run([THREE[0], THREE[0]])
    with pytest.raises(UnknownNameError):
        run(THREE, discipline="lifo")
    with pytest.raises(InputError, match="not a breakdown"):
        Breakdown(2.0, 1.0, (0,))
    with pytest.raises(InputError, match="a node that the cluster does not have"):
        run(THREE, breakdowns=[Breakdown(1.0, 2.0, (99,), what="ghost")])
    with pytest.raises(InputError, match="weight"):
        run(THREE, weights={"a": 0.0})
    with pytest.raises(InputError, match="negative quota"):
        run(THREE, quotas={"a": {GPU: -1}})
    with pytest.raises(InputError, match="not a rate"):
        FaultRates(repair_s=-1)


def test_closed_nodes_take_no_pod_in_any_stream() -> None:
    for name in ("volcano", "binpack", "fgd"):
        stream = get_policy(name).stream(SNAPSHOT)
        stream.place(job("warm", 1, 0, 1).gang)
        for node in range(1, 8):
            if node not in {int(n) for placed in stream.held for n in placed.node}:
                stream.close(node)
        before = stream.ledger.idle.copy()
        assert len(stream.closed) in (6, 7)
        for held in stream.held:
            stream.give_back(held)
        answers = [stream.place(job(f"j{i}", 1, 0, 1).gang) for i in range(3)]
        assert [hasattr(answer, "node") for answer in answers] == [True, len(stream.closed) == 6, False]
        copied = pickle.loads(pickle.dumps(stream))
        for each in (stream, copied):
            for node in each.closed:
                each.reopen(node)
            assert hasattr(each.place(job("after", 6, 0, 1).gang), "node")
        assert before.shape == stream.ledger.idle.shape
        with pytest.raises(InputError, match="not closed"):
            stream.reopen(0)


def test_a_job_with_fewer_pods_than_it_has_works_longer() -> None:
    gang = Gang("default", "elastic", (Role("w", 8, {GPU: PER_NODE}),), 2)
    elastic = SimulatedJob(gang, 1, 30, checkpoint_s=10)
    result = run([job("other", 4, 0, 500), elastic], policy="gang")
    assert [sum(node >= 0 for node in attempt.nodes) for attempt in result.attempts] == [4, 4]
    # Half of its pods: 30 s of work take 60 s.
    assert result.to_dataframe()["ended_s"].tolist() == [500, 61]
    node = next(node for node in result.attempts[1].nodes if node >= 0)
    stopped = run([job("other", 4, 0, 500), elastic], policy="gang", breakdowns=[Breakdown(31, 32, (node,))])
    # 30 s at half the speed are 15 s of work, of which a checkpoint holds 10: 20 s of those 30.
    frame = stopped.to_dataframe()
    assert stopped.attempts[1].saved_s == 10
    assert frame["redone_s"][1] == 10


def test_waiting_jobs_are_tried_in_cycles() -> None:
    jobs = [job("a", 8, 0, 12.5), job("b", 8, 1, 4), job("low", 8, 11, 3), job("high", 8, 16.5, 3, priority=5)]
    # a ends between the cycles at 10 and 15; b ends at 19, and high overtakes low in the cycle at 20, although low
    # would have started at 19.
    assert starts(run(jobs, discipline="priority", retry=RetryRule(cycle_s=5))) == [0, 15, 25, 20]
    assert starts(run(jobs[:3], discipline="priority")) == [0, 12.5, 16.5]
    assert starts(run([job("late", 1, 3, 5)], retry=RetryRule(cycle_s=2))) == [4]
    # A time that binary fractions do not hold: no cycle is missed, and none comes before what it waits for.
    many = [job(f"j{i}", 8, i * 0.3, 0.2) for i in range(50)]
    for at, one in zip(starts(run(many, retry=RetryRule(cycle_s=0.1))), many, strict=True):
        assert at is not None and one.submitted_s <= at < one.submitted_s + 0.1 + 1e-9
    with pytest.raises(InputError, match="not a time"):
        run(jobs, retry=RetryRule(cycle_s=-1))


def test_a_simulation_stopped_between_cycles_goes_on() -> None:
    jobs = [job("a", 8, 0, 12.5), job("b", 8, 1, 4)]
    straight = run(jobs, retry=RetryRule(cycle_s=5))
    halfway = Simulation(SNAPSHOT, get_policy("binpack"), jobs, retry=RetryRule(cycle_s=5)).run(13)
    assert not halfway.done
    assert pickle.loads(pickle.dumps(halfway)).run().result().attempts == straight.attempts


def test_a_job_beyond_its_quota_holds_up_nobody_in_any_discipline() -> None:
    jobs = [
        job("a0", 3, 0, 10, queue="a"),
        job("b0", 2, 0, 10, queue="b"),
        job("a1", 4, 1, 10, queue="a"),
        job("b1", 1, 2, 10, queue="b"),
    ]
    for discipline in DISCIPLINES:
        result = run(jobs, able(discipline, "gang"), discipline=discipline, quotas={"a": {GPU: 4 * PER_NODE}})
        assert starts(result)[3] == 2


def test_a_simulation_takes_names_and_says_how_far_it_is() -> None:
    simulation = Simulation(SNAPSHOT, "binpack", [job("a", 6, 0, 10), job("b", 6, 1, 10)])
    told = "Simulation(binpack, best-effort, at 5 s: 0 of 2 jobs completed, 1 running, 1 waiting)"
    assert repr(simulation.run(5)) == told
    for wrong in (4.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="backwards"):
            simulation.run(wrong)
    with pytest.raises(UnknownNameError, match="did you mean binpack"):
        Simulation(SNAPSHOT, "binpak", [])


def test_a_simulation_looked_at_before_its_end_counts_time_up_to_then() -> None:
    jobs = [job("a", 4, 0, 100), job("b", 4, 0, 1000), job("c", 8, 5, 10)]
    simulation = Simulation(SNAPSHOT, get_policy("gang"), jobs).run(500)
    result = simulation.result()
    assert (simulation.now_s, result.ended_s) == (500, 500)
    assert [(one.job, one.end_s, one.outcome) for one in result.attempts] == [
        (0, 100, "completed"),
        (1, 500, "running"),
    ]
    told = result.summary()
    assert (told["span_s"], told["makespan_s"], told["never_placed"]) == (500, 100, 1)
    assert told["gpu_use"] == pytest.approx((4 * 100 + 4 * 500) / (8 * 500))
    before = Simulation(SNAPSHOT, get_policy("gang"), jobs).run(2).result().summary()
    assert (before["span_s"], before["never_placed"], before["gpu_use"]) == (2, 0, 1)
    assert simulation.run().result().attempts == run(jobs, "gang").attempts


def test_shares_of_what_was_in_use_are_of_the_whole_time() -> None:
    breakdowns = [Breakdown(100 * i - 1, 100 * i, tuple(range(8))) for i in range(1, 10)]
    jobs = [job("a", 1, 0, 10), job("b", 7, 0, 1000)]
    told = Simulation(SNAPSHOT, get_policy("binpack"), jobs, breakdowns=breakdowns).run(950).result().summary()
    # Nine times all work of seven nodes since the last restart is lost: 890 of 940 seconds, beside ten of one node.
    lost = 7 * (99 + 8 * 99)
    assert told["redone"] == pytest.approx(lost / (lost + 7 * 50 + 10))


def test_a_job_that_waits_again_at_the_end_has_waited_up_to_then() -> None:
    jobs = [job("a", 8, 0, 100), job("z", 1, 500, 1)]
    result = Simulation(SNAPSHOT, get_policy("binpack"), jobs, breakdowns=[Breakdown(10, 900, (0,))]).run(600).result()
    assert result.to_dataframe()["waited_s"].tolist() == [590, 0]


def test_cancelled_among_the_waiting_jobs_of_an_instant_it_goes_on_alike() -> None:
    jobs = [job("a", 6, 0, 10), job("b", 4, 1, 10), job("c", 8, 2, 10), job("d", 1, 3, 30)]
    breakdowns = [Breakdown(5.0, 6.0, (0,))]
    straight = run(jobs, breakdowns=breakdowns)
    cancelled = 0
    moments = a_few(range(1, 30), 10)
    for last in moments:
        token, calls = Token(), [0]

        def tick(token: Token = token, calls: list[int] = calls, last: int = last) -> None:
            calls[0] += 1
            if calls[0] == last:
                token.cancel()

        token.tick = tick
        simulation = Simulation(SNAPSHOT, get_policy("binpack"), jobs, breakdowns=breakdowns)
        try:
            with token.watched():
                simulation.run()
        except Cancelled:
            cancelled += 1
        stored = pickle.loads(pickle.dumps(simulation))
        for each in (stored, simulation):
            result = each.run().result()
            assert (result.attempts, result.usage) == (straight.attempts, straight.usage)
    assert cancelled > len(moments) // 3


def test_a_policy_that_fails_once_leaves_the_simulation_as_it_was() -> None:
    fails = [False]

    def first_free(gang: Gang, ledger: Ledger) -> list[int] | str:
        if fails[0]:
            fails[0] = False
            raise RuntimeError("broken for once")
        free = np.flatnonzero(ledger.free_gpus() >= PER_NODE)
        return free[: gang.n_pods].tolist() if len(free) >= gang.n_pods else "no room"

    policy = Composed("first-free", FunctionPolicy("first-free", first_free), GpuLowestIndex(NoParameters()))
    jobs = [job("a", 6, 0, 10), job("b", 4, 1, 10)]
    straight = Simulation(SNAPSHOT, policy, jobs).run().result()
    simulation = Simulation(SNAPSHOT, policy, jobs).run(5)
    fails[0] = True
    with pytest.raises(Exception, match="broken for once"):
        simulation.run()
    assert simulation.run().result().attempts == straight.attempts


def test_a_gang_that_needs_no_pod_waits_for_one() -> None:
    gang = Gang("default", "none", (Role("w", 4, {GPU: PER_NODE}),), 0)
    for policy in ("gang", "binpack", "volcano", "allocate"):
        result = run([job("a", 8, 0, 10), SimulatedJob(gang, 1, 10)], policy)
        assert starts(result)[1] == 10
    with pytest.raises(InputError, match="without pods"):
        SimulatedJob(Gang("default", "empty", (), 0), 0, 1)


def test_queues_that_hold_equally_much_are_served_by_name() -> None:
    def part(name: str, milli: int, seconds: float) -> SimulatedJob:
        gang = Gang("default", name, (Role("w", 1, {}, gpu_milli=milli),), 1, queue="a")
        return SimulatedJob(gang, 0, seconds)

    jobs = [part("x", 100, 10), part("y", 200, 20), part("z", 100, 30), job("full", 8, 50, 10, queue="c")]
    jobs += [job("a1", 8, 51, 10, queue="a"), job("b1", 8, 51.5, 10, queue="b")]
    # 0.1 + 0.2 + 0.1 - 0.1 - 0.2 - 0.1 is not 0 in binary fractions.
    assert starts(run(jobs, "fgd", discipline="shares"))[-2:] == [60, 70]


def test_work_that_a_fault_undoes_is_no_checkpoint_and_no_restart() -> None:
    one = job("a", 8, 0, 100, checkpoint_s=30, writing_s=4, restart_s=20)
    # 59 s are 30 of work, 4 of writing and 25 of work; the second fault comes before the work goes on.
    result = run([one], breakdowns=[Breakdown(59, 60, (0,)), Breakdown(65, 66, (0,))])
    assert [attempt.redone_s for attempt in result.attempts] == [25, 0, 0]
    assert result.to_dataframe()["redone_s"].tolist() == [25]


def test_checkpoints_are_counted_as_in_decimal_fractions() -> None:
    one = job("a", 1, 0, 4.2, checkpoint_s=0.6, writing_s=1)
    assert one.time_for(4.2) == pytest.approx(10.2)
    assert job("a", 1, 0, 1, checkpoint_s=0.1).saved_after(0.3, 1) == pytest.approx(0.3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": (0, 0)},
        {"nodes": (-1,)},
        {"nodes": (), "cables": (-1,)},
        {"nodes": (0,), "gpus": -1},
        {"nodes": (0, 1), "gpus": 1},
    ],
)
def test_breakdowns_that_are_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="not a breakdown"):
        Breakdown(0, 1, **wrong)


def test_a_breakdown_of_a_gpu_that_is_not_there() -> None:
    with pytest.raises(InputError, match="a GPU that the node does not have"):
        Simulation(SNAPSHOT, get_policy("binpack"), [job("a", 1, 0, 1)], breakdowns=[Breakdown(0, 1, (0,), 1 << 70)])
