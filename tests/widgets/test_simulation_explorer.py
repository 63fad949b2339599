"""The simulation explorer: one time, one policy and one job for all charts."""

from __future__ import annotations

import dataclasses

import pytest

import workbench
from tests.simulate.test_engine import job
from tests.simulate.test_lost_pods import hyper_job, simulate, switches
from workbench.errors import InputError
from workbench.report.colours import OTHER_JOBS
from workbench.report.occupancy import OTHERS
from workbench.report.simulation_moment import jobs_at
from workbench.report.simulation_views import draw_usage, run_names
from workbench.simulate import Breakdown, SimulationResult
from workbench.widgets.simulation_explorer import SimulationExplorer

HOUR = 3600.0
JOBS = [hyper_job(), job("one", 3, 5 * HOUR, 70 * HOUR), job("two<b>", 2, 40 * HOUR, 200 * HOUR)]
FAULT = Breakdown(25, 90, (2,))


@pytest.fixture(scope="module")
def results() -> list[SimulationResult]:
    return [simulate(4, JOBS, FAULT, policy=policy).run().result() for policy in ("volcano", "binpack")]


def charts(explorer: SimulationExplorer) -> list[str]:
    return [box.value for box in (explorer._usage, explorer._waiting, explorer._cluster, explorer._gantt)]


def test_all_charts_follow_the_time(results: list[SimulationResult]) -> None:
    explorer = workbench.SimulationExplorer(results, switches(4))
    assert explorer.time.value == (0.0, results[0].ended_s / HOUR)
    before = charts(explorer)
    explorer.time.value = (10.0, 60.0)
    usage, waiting, cluster, gantt = charts(explorer)
    assert all(now != then for now, then in zip((usage, waiting, cluster, gantt), before, strict=True))
    assert "the cluster after 60 h" in cluster and "default/one" in cluster and "two&lt;b&gt;" in cluster
    # What had ended before is not in the Gantt chart, and nothing is drawn left of it.
    assert ">h<" not in gantt and ">one<" in gantt and "<b>" not in "".join(charts(explorer))
    assert "10 h" in gantt and "60 h" in gantt


def test_it_opens_at_the_busiest_time_and_follows_the_range(results: list[SimulationResult]) -> None:
    explorer = SimulationExplorer(results[0], switches(4))
    busiest = explorer.at.value
    assert 0 <= busiest < results[0].ended_s / HOUR

    def held(hours: float) -> int:
        held_on = jobs_at(results[0], switches(4), hours * HOUR).held.values()
        return sum(one.n_gpus for entries in held_on for one in entries)

    assert held(busiest) == max(held(hours) for hours in range(0, 240)) > 0
    assert f"the cluster after {busiest:.4g} h" in explorer._cluster.value
    explorer.time.value = (0.0, 60.0)
    assert explorer.at.value == 60.0
    explorer.at.value = 10.0
    assert "the cluster after 10 h" in explorer._cluster.value and "60 h" in explorer._gantt.value


def test_a_job_stands_out_and_is_told_of(results: list[SimulationResult]) -> None:
    explorer = SimulationExplorer(results[0], switches(4))
    explorer.job.value = "default/one"
    explorer.time.value = (0.0, 60.0)
    assert "default/one: submitted at 5 h; ran 5 to 75 h on 3 nodes (completed)" in explorer._said.value
    assert OTHERS in explorer._cluster.value and f"fill='{OTHER_JOBS}'" in explorer._cluster.value
    assert "default/two" not in explorer._cluster.value
    assert "font-weight='700'" in explorer._gantt.value
    explorer.job.value = "nobody"
    assert "no job is called nobody" in explorer._said.value
    explorer.job.value = ""
    assert "3 of 3 jobs completed" in explorer._said.value


def test_the_chosen_policy_is_drawn(results: list[SimulationResult]) -> None:
    explorer = SimulationExplorer(results, switches(4))
    explorer.policy.value = 1
    assert (
        "binpack: the cluster after" in explorer._cluster.value
        and "binpack, 0 to 240 h: 3 jobs" in explorer._gantt.value
    )


def test_runs_of_one_policy_have_names_of_their_own(results: list[SimulationResult]) -> None:
    fifo = dataclasses.replace(results[0], discipline="fifo")
    assert run_names(results) == ["volcano-1.15", "binpack"]
    assert run_names([results[0], fifo]) == ["volcano-1.15, best-effort", "volcano-1.15, fifo"]
    assert run_names([results[0], results[0]]) == ["volcano-1.15, best-effort (1)", "volcano-1.15, best-effort (2)"]
    assert draw_usage([results[0], fifo]).count("<polyline") == 2


def test_jobs_at_an_instant(results: list[SimulationResult]) -> None:
    result, snapshot = results[0], switches(4)

    def nodes(time_s: float, number: int | None = None) -> dict[str, int]:
        who = jobs_at(result, snapshot, time_s, number)
        return {
            name: sum(one.job == i for held in who.held.values() for one in held) for i, name in enumerate(who.jobs)
        }

    assert nodes(0) == {"ml/h": 4} and nodes(150) == {}
    assert nodes(41 * HOUR) == {"default/one": 3, "default/two<b>": 2}
    assert nodes(41 * HOUR, 1) == {"default/one": 3, OTHERS: 2}
    assert nodes(150, 1) == {"default/one": 0, OTHERS: 0}
    # Jobs that run when the simulation is looked at are there.
    running = simulate(4, JOBS[:1]).run(50)
    early = simulate(4, [*JOBS[:1], job("late", 1, 40, 30)]).run(40).result()
    assert running.result().attempts[0].outcome == "running"
    for time_s in (40, 40.1, 100):
        assert sum(len(held) for held in jobs_at(early, snapshot, time_s).held.values()) == 5


def test_results_must_belong_together(results: list[SimulationResult]) -> None:
    for given, snapshot, why in [
        ([], switches(4), "no simulation to show"),
        ([results[0], simulate(4, JOBS[:1]).run().result()], switches(4), "simulations of different jobs"),
        (results, switches(3), "a simulation of another cluster"),
    ]:
        with pytest.raises(InputError, match=why):
            SimulationExplorer(given, snapshot)


def test_a_simulation_without_time_is_shown() -> None:
    explorer = SimulationExplorer(simulate(2, []).result(), switches(2))
    assert "0 of 0 jobs completed" in explorer._said.value
