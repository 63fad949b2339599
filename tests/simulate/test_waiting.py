"""Why jobs wait: what the simulation records of refused attempts, at an instant and over time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulate.test_engine import GPU, PER_NODE, able, job, run
from workbench.model.gang import Gang, Role
from workbench.model.notice_codes import CODES
from workbench.model.placement import Refusal
from workbench.simulate import Breakdown, SimulatedJob, SimulationResult
from workbench.simulate.disciplines import DISCIPLINES
from workbench.simulate.waiting import BEHIND, FEW_GPUS, NOT_TRIED, code_of, meaning_of, waiting_at, waiting_by_reason


def told(result: SimulationResult, time_s: float) -> dict[str, tuple[float, str]]:
    return {result.jobs[one.job].gang.name: (one.since_s, one.code) for one in waiting_at(result, time_s)}


def test_a_job_waits_for_room_and_others_behind_it() -> None:
    # Eight nodes: a takes six, b needs all of them, c would fit beside a.
    jobs = [job("a", 6, 0, 100), job("b", 8, 10, 50), job("c", 1, 20, 5)]
    fifo = run(jobs, discipline="fifo")
    assert told(fifo, 15) == {"b": (10.0, FEW_GPUS)}
    assert told(fifo, 30) == {"b": (10.0, FEW_GPUS), "c": (20.0, BEHIND)}
    assert told(fifo, 120) == {"c": (20.0, FEW_GPUS)} and told(fifo, 150) == {}
    assert told(run(jobs), 30) == {"b": (10.0, FEW_GPUS)}
    frame = fifo.waiting_frame(30)
    assert frame["job"].tolist() == ["default/b", "default/c"] and frame["code"].tolist() == [FEW_GPUS, BEHIND]


def test_the_reason_of_a_policy_is_kept() -> None:
    # Half of every node is free, and b needs a whole one.
    half = Gang("default", "a", (Role("w", 8, {GPU: PER_NODE // 2}),), 8)
    waits = run([SimulatedJob(half, 0, 100), job("b", 1, 5, 10)], "spread")
    assert told(waits, 50) == {"b": (5.0, "insufficient")}
    assert meaning_of("insufficient") == CODES["insufficient"] and meaning_of("else") == "else"


def test_a_policy_may_refuse_without_a_reason() -> None:
    gang = Gang("default", "a", (Role("w", 1, {GPU: 1}),), 1)
    assert code_of(Refusal(gang, "mine", {}, ())) == "refused"


def test_how_many_wait_for_what_adds_up_to_all_that_wait() -> None:
    jobs = [job("a", 6, 0, 100), job("b", 8, 10, 50), job("c", 1, 20, 5), job("d", 8, 30, 5)]
    result = run(jobs, discipline="fifo")
    by_reason = waiting_by_reason(result)
    assert set(by_reason) == {FEW_GPUS, BEHIND}
    for row in result.usage:
        assert sum(at(steps, row.time_s) for steps in by_reason.values()) == row.waiting


def at(steps: tuple[np.ndarray, np.ndarray], time_s: float) -> float:
    times, counts = steps
    return float(counts[np.searchsorted(times, time_s, side="right") - 1])


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 40), st.integers(1, 30)), max_size=12),
    st.sampled_from(DISCIPLINES),
    st.booleans(),
)
def test_everybody_who_waits_has_one_reason(drawn: list[tuple[int, int, int]], discipline: str, broken: bool) -> None:
    jobs = [job(f"j{i}", pods, float(start), float(lasts)) for i, (pods, start, lasts) in enumerate(drawn)]
    faults = [Breakdown(12, 20, (0,))] if broken else []
    result = run(jobs, able(discipline), discipline=discipline, breakdowns=faults)
    by_reason = waiting_by_reason(result)
    for row in [row for row in result.usage if row.time_s < result.ended_s]:
        now = waiting_at(result, row.time_s)
        assert len(now) == row.waiting
        assert sum(at(steps, row.time_s) for steps in by_reason.values()) == row.waiting
        assert all(one.code != NOT_TRIED and meaning_of(one.code) != one.code for one in now)


def test_a_job_that_stood_still_has_reasons_of_its_own() -> None:
    jobs = [job("a", 8, 0, 100, restarts="pods"), job("b", 8, 5, 10)]
    result = run(jobs, breakdowns=[Breakdown(20, 60, (1,))])
    assert told(result, 30).keys() == {"a", "b"}
    assert all(code for _, code in told(result, 30).values())


@pytest.mark.parametrize("time_s", [0.0, 1e9])
def test_nobody_waits_in_a_simulation_without_jobs(time_s: float) -> None:
    result = run([])
    assert waiting_at(result, time_s) == [] and waiting_by_reason(result) == {}
