"""The simulation explorer: one time, one policy and one job for all charts."""

from __future__ import annotations

import dataclasses

import pytest

import workbench
from tests.simulate.test_engine import job
from tests.simulate.test_lost_pods import hyper_job, simulate, switches
from tests.widgets.page import ask, refused
from workbench.errors import InputError
from workbench.model.number_text import duration_text
from workbench.report.colours import OTHER_JOBS, job_colours
from workbench.report.occupancy import OTHERS
from workbench.report.simulation_moment import jobs_at
from workbench.report.simulation_views import draw_usage, run_names
from workbench.simulate import Breakdown, SimulationResult
from workbench.simulate.waiting import FEW_GPUS, meaning_of
from workbench.widgets.simulation_explorer import SimulationExplorer

HOUR = 3600.0
JOBS = [hyper_job(), job("one", 3, 5 * HOUR, 70 * HOUR), job("two<b>", 2, 40 * HOUR, 200 * HOUR)]
FAULT = Breakdown(25, 90, (2,))


@pytest.fixture(scope="module")
def results() -> list[SimulationResult]:
    return [simulate(4, JOBS, FAULT, policy=policy).run().result() for policy in ("volcano", "binpack")]


def charts(explorer: SimulationExplorer) -> list[str]:
    over_time = [one["svg"] for one in explorer.charts.charts if one["chart"] in ("usage", "waiting")]
    return [*over_time, explorer.charts.cluster, explorer.charts.gantt]


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
    assert f"the cluster after {duration_text(busiest * HOUR)}" in explorer.charts.cluster
    explorer.time.value = (0.0, 60.0)
    assert explorer.at.value == 60.0
    explorer.at.value = 10.0
    assert "the cluster after 10 h" in explorer.charts.cluster and "60 h" in explorer.charts.gantt


def test_a_job_stands_out_and_is_told_of(results: list[SimulationResult]) -> None:
    explorer = SimulationExplorer(results[0], switches(4))
    explorer.job.value = "default/one"
    explorer.time.value = (0.0, 60.0)
    assert "default/one: submitted at 5 h; ran 5 to 75 h on 3 nodes" in explorer.charts.said["story"]
    assert OTHERS in explorer.charts.cluster and f"fill='{OTHER_JOBS}'" in explorer.charts.cluster
    assert "default/two" not in explorer.charts.cluster
    assert "font-weight='700'" in explorer.charts.gantt
    explorer.job.value = "nobody"
    assert "no job is called nobody" in explorer.charts.said["story"]
    explorer.job.value = ""
    assert "3 of 3 jobs completed" in explorer.charts.said["story"]


def test_the_chosen_policy_is_drawn(results: list[SimulationResult]) -> None:
    explorer = SimulationExplorer(results, switches(4))
    explorer.policy.value = 1
    assert (
        "binpack: the cluster after" in explorer.charts.cluster
        and "binpack, 0 to 240 h: 3 jobs" in explorer.charts.gantt
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
    assert "0 of 0 jobs completed" in explorer.charts.said["story"]


def waiting_explorer() -> SimulationExplorer:
    """Four nodes of each of two switches: a holds six of eight for 100 h, b and c wait for them."""
    jobs = [job("a", 6, 0, 100 * HOUR), job("b", 8, 10 * HOUR, 50 * HOUR), job("c", 4, 20 * HOUR, 5 * HOUR)]
    return SimulationExplorer(simulate(4, jobs, policy="binpack").run().result(), switches(4))


def test_jobs_that_wait_are_listed_with_their_reasons() -> None:
    explorer = waiting_explorer()
    explorer.at.value = 30.0
    said = explorer.charts.said
    assert said["title"] == "2 jobs wait after 30 h"
    why = meaning_of(FEW_GPUS)
    assert [one["text"] for one in said["jobs"]] == [
        f"20 h: {why[0].lower()}{why[1:-1]}",
        f"10 h: {why[0].lower()}{why[1:-1]}",
    ]
    assert [one["job"] for one in said["jobs"]] == ["default/b", "default/c"]
    reasons = next(one["svg"] for one in explorer.charts.charts if one["chart"] == "reasons")
    assert "Why jobs wait, binpack" in reasons and "too few free GPUs" in reasons
    explorer.at.value = explorer.at.max
    assert explorer.charts.said["title"] == "0 jobs wait after 155 h" and explorer.charts.said["jobs"] == []


def test_a_click_on_a_bar_names_the_job_and_another_click_nobody() -> None:
    explorer = waiting_explorer()
    explorer.at.value = 30.0
    assert "data-job='default/b'" in explorer.charts.gantt
    ask(explorer.charts, "name", job="default/b")
    assert explorer.job.value == "default/b"
    assert [one["named"] for one in explorer.charts.said["jobs"]] == [True, False]
    # It has its colour while it waits, in the drawing and in the chart; the other jobs are grey and pale.
    own = job_colours(1)[0].colour
    for picture in (explorer.charts.cluster, explorer.charts.gantt):
        assert own in picture and OTHER_JOBS in picture and "#e69f00" not in picture
    assert "stroke-dasharray" in explorer.charts.gantt and "b waits" in explorer.charts.charts[0]["svg"]
    ask(explorer.charts, "name", job="default/b")
    assert explorer.job.value == ""
    assert "no such job" in refused(explorer.charts, "name", job="nobody")


def test_a_click_into_a_chart_shows_the_instant_and_names_a_job() -> None:
    explorer = waiting_explorer()
    ask(explorer.charts, "point", chart="waiting", seconds=30 * HOUR)
    assert explorer.at.value == pytest.approx(30.0, abs=0.4) and explorer.job.value == "default/b"
    ask(explorer.charts, "point", chart="usage", seconds=30 * HOUR)
    assert explorer.job.value == "default/a"
    assert "the cluster after 30" in explorer.charts.cluster
    ask(explorer.charts, "point", chart="", seconds=50 * HOUR)
    assert explorer.job.value == "default/a" and explorer.at.value == pytest.approx(50.0, abs=0.4)
    ask(explorer.charts, "point", chart="usage", seconds=1e12)
    assert explorer.at.value == explorer.at.max
    for wrong in (None, "1", True, float("nan")):
        assert "no time" in refused(explorer.charts, "point", chart="usage", seconds=wrong)


def test_a_click_on_a_node_names_its_jobs_in_turn() -> None:
    explorer = waiting_explorer()
    explorer.at.value = 30.0
    first = explorer._results[0].attempts[0]
    node = explorer._results[0].node_names[first.nodes[0]]
    ask(explorer.charts, "cell", cell=node)
    assert explorer.job.value == "default/a"
    ask(explorer.charts, "cell", cell=node)
    assert explorer.job.value == ""
    ask(explorer.charts, "cell", cell="no such square")
    assert explorer.job.value == ""


def test_a_short_simulation_has_sliders_in_seconds() -> None:
    explorer = SimulationExplorer(simulate(4, [job("a", 6, 0, 40)], policy="binpack").run().result(), switches(4))
    assert explorer.time.description == "seconds" and explorer.time.max == 40.0
    assert "the cluster after 0 s" in explorer.charts.cluster


def test_only_what_has_changed_is_drawn_anew() -> None:
    explorer = waiting_explorer()
    over_time, gantt = explorer.charts.charts, explorer.charts.gantt
    explorer.at.value = 30.0
    assert explorer.charts.charts is over_time and explorer.charts.gantt is gantt


def test_a_result_is_summed_up_once(results: list[SimulationResult], monkeypatch: pytest.MonkeyPatch) -> None:
    summed = []
    told = SimulationResult.__repr__

    def counted(result: SimulationResult) -> str:
        summed.append(result.policy)
        return told(result)

    monkeypatch.setattr(SimulationResult, "__repr__", counted)
    explorer = SimulationExplorer(results, switches(4))
    for hours in (60.0, 70.0, 80.0):
        explorer.time.value = (10.0, hours)
    explorer.policy.value = 1
    explorer.at.value = 20.0
    explorer.policy.value = 0
    assert len(summed) == 2
    assert explorer.charts.said["story"] == repr(results[0])
