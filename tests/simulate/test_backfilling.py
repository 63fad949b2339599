"""Backfilling keeps what the first job that does not fit needs: nobody who passes it delays it.

Two switches of four nodes, eight GPUs each; every pod takes a whole node unless it says otherwise.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.policies.hyper_job.cases import hard, hyper
from tests.simulate.test_engine import GPU, PER_NODE, SNAPSHOT, job, run, starts
from workbench.model.gang import Gang, Role
from workbench.policies.registry import get_policy
from workbench.simulate import Breakdown, SimulatedJob, Simulation
from workbench.simulate.disciplines import Reservation, reserve
from workbench.simulate.job_run import fewest_gpus, most_gpus


def elastic(name: str, pods: int, needed: int, at: float, seconds: float) -> SimulatedJob:
    return SimulatedJob(Gang("default", name, (Role("w", pods, {GPU: PER_NODE}),), needed), at, seconds)


def backfilled(jobs: list[SimulatedJob], policy: str = "gang", **more: Any) -> list[float | None]:
    return starts(run(jobs, policy, discipline="backfill", **more))


def test_a_job_that_restarts_counts_its_delay() -> None:
    # It passes head, and is stopped; the second time it would end at 136.
    jobs = [job("a", 6, 0, 50), job("head", 8, 1, 10), job("r", 2, 2, 20, restart_s=100)]
    result = run(jobs, "gang", discipline="backfill", breakdowns=[Breakdown(15, 16, (6, 7))])
    assert starts(result) == [0, 50, 2]
    assert [attempt.start_s for attempt in result.attempts if attempt.job == 2] == [2, 60]


def test_an_elastic_job_counts_with_all_its_pods_and_at_its_slowest() -> None:
    # With one pod it would leave enough for head; it would get four, and then two until head may start.
    assert backfilled([job("a", 4, 0, 50), job("head", 6, 1, 10), elastic("e", 4, 1, 2, 100)])[1] == 50
    # It would end before 50 with all its pods; with two of eight it takes four times as long.
    assert backfilled([job("a", 6, 0, 50), job("head", 8, 1, 10), elastic("e", 8, 2, 2, 40)])[1] == 50
    assert backfilled([job("a", 6, 0, 50), job("head", 8, 1, 10), elastic("e", 8, 2, 2, 12)])[2] == 2


def test_a_share_of_a_gpu_takes_a_gpu() -> None:
    share = SimulatedJob(Gang("default", "f", (Role("w", 1, {}, gpu_milli=500),), 1), 2, 1000)
    jobs = [job("a", 7, 0, 50), job("head", 8, 1, 10), share]
    assert backfilled(jobs, "fgd") == [0, 50, 60]


def test_a_hyper_job_counts_as_head_and_as_one_who_passes() -> None:
    def member(name: str, index: int) -> Gang:
        return Gang("ml", f"{name}-m-{index}", (Role("w", 2, {GPU: PER_NODE}),), 2, hard(1))

    gang = hyper([member("h", 0), member("h", 1)], name="h")
    assert (fewest_gpus(gang), most_gpus(gang)) == (4 * PER_NODE, 4 * PER_NODE)
    busy, head = job("a", 4, 0, 50), job("head", 5, 1, 10)
    assert backfilled([busy, head, SimulatedJob(gang, 2, 500)], "volcano")[1] == 50


def test_a_head_that_gpus_enough_do_not_help_keeps_its_place() -> None:
    cordoned = SNAPSHOT.unschedulable.copy()
    cordoned[4:] = True
    snapshot = dataclasses.replace(SNAPSHOT, unschedulable=cordoned)
    jobs = [job("a", 3, 0, 10), job("head", 4, 1, 10), *(job(f"s{i}", 1, 2 + i, 25) for i in range(40))]
    simulation = Simulation(snapshot, get_policy("binpack"), jobs, discipline="backfill")
    assert starts(simulation.run().result())[1] == 10


def test_a_head_that_never_fits_holds_up_nobody() -> None:
    assert backfilled([job("a", 1, 0, 10), job("huge", 9, 1, 10), job("s", 1, 2, 100)]) == [0, None, 2]


def test_all_that_ends_at_one_instant_is_free_then() -> None:
    # At 10 eight nodes are free, of which head needs five.
    jobs = [job("a", 3, 0, 10), job("b", 3, 0, 10), job("head", 5, 1, 10), job("late", 1, 2, 50)]
    assert backfilled(jobs) == [0, 0, 10, 2]


def test_a_reservation_by_hand() -> None:
    assert reserve(6, 2, 0, [(10, 3), (20, 3), (20, 1), (30, 1)]) == Reservation(20, 3)
    assert reserve(6, 8, 0, [(10, 3)]) == Reservation(10, 5)
    assert reserve(60, 8, 0, [(10, 3)]) == Reservation(float("inf"), 0)
    assert reserve(6, 8, 5, []) == Reservation(float("inf"), 0)


@given(
    st.lists(
        st.tuples(st.integers(1, 8), st.integers(0, 60), st.integers(1, 40)),
        min_size=2,
        max_size=14,
        unique_by=lambda x: x[1],
    )
)
def test_nobody_who_passes_delays_the_first_that_waits(shapes: list[tuple[int, int, int]]) -> None:
    """Whole nodes without faults: the first job that waits starts no later than if all behind it never came."""
    jobs = [job(f"j{i}", pods, at, seconds) for i, (pods, at, seconds) in enumerate(sorted(shapes, key=lambda x: x[1]))]
    result = run(jobs, "binpack", discipline="backfill")
    began = starts(result)
    for number, one in enumerate(jobs):
        # Before it starts, its own start depends on those before it only, if these start as they did.
        before = [SimulatedJob(other.gang, began[i] or 0.0, other.duration_s) for i, other in enumerate(jobs[:number])]
        alone = starts(run([*before, one], "binpack", discipline="fifo"))
        waits = [i for i in range(number) if (began[i] or 0.0) > one.submitted_s]
        if not waits and alone[:number] == [each.submitted_s for each in before]:
            assert began[number] == alone[number]
    assert not np.isnan(np.array(began, dtype=float)).any()
