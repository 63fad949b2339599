"""A metric of a simulation costs one declaration: what a test adds is in every output of simulations and studies."""

from __future__ import annotations

import io
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import workbench
from tests.study.small import small_study
from workbench.errors import InputError
from workbench.evaluate import metric_table
from workbench.evaluate.simulation_facts import FillFacts, SimulationFacts
from workbench.policies import get_policy
from workbench.report import simulation_views
from workbench.report.study_views import StudyView, draw_differences, study_page, study_tables
from workbench.simulate import Simulation
from workbench.simulate.fill_study import FillStudy
from workbench.simulate.result import SimulationResult
from workbench.study import Study
from workbench.study.statistics import compare_in_pairs, outcome, outcomes_of


@pytest.fixture(autouse=True)
def own_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds is gone after it."""
    monkeypatch.setattr(metric_table, "_registered", {})


def add_longest_wait(**declaration: Any) -> None:
    @workbench.metric("longest_wait_s", "longest wait", per="simulation", unit="s", better="lower", **declaration)
    def longest_wait(facts: SimulationFacts) -> float:
        """of the job that waited most"""
        return float(facts.waited_s.max())


def simulated(study: Study, policy: str = "binpack") -> SimulationResult:
    case = next(iter(study.cases.values()))
    return Simulation(case.snapshot, get_policy(policy), case.jobs).run().result()


def terminal(parts: list[Any], style: bool = False) -> str:
    console = Console(file=io.StringIO(), width=240, force_terminal=style, color_system="standard" if style else None)
    for part in parts:
        console.print(part)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def viewed(study: Study, results: Any) -> StudyView:
    shown = {one.key: one for one in outcomes_of(results)}
    differences = compare_in_pairs(results, study.compared_with, list(shown))
    return StudyView(study.name, study.compared_with, results, differences, shown, 0, study.provenance())


def test_a_simulation_shows_it_in_table_json_and_page(study: Study) -> None:
    add_longest_wait()
    result = simulated(study)
    snapshot = next(iter(study.cases.values())).snapshot
    want = float(result.to_dataframe()["waited_s"].max())
    assert result.to_dict()["summary"]["longest_wait_s"] == result.summary()["longest_wait_s"] == want
    table = terminal(simulation_views.simulation_tables([result]))
    assert re.search(r"longest wait \(\w+\)", table) and re.search(
        r"longest wait \(\w+\): of the job that waited most", table
    )
    page = simulation_views.simulation_page([result], snapshot)
    assert re.search(r"<th>longest wait \(\w+\)</th>", page) and "longest wait: of the job that waited most" in page
    # Another process shows a result without knowing the function.
    assert "longest_wait_s" in pickle.loads(pickle.dumps(result.measured())).values


@pytest.mark.slow
def test_a_study_has_it_in_results_tables_csv_and_page(study: Study, tmp_path: Path, address: str) -> None:
    plain = study.run(tmp_path / "out", address)
    add_longest_wait()
    again = small_study(tmp_path)
    assert not {run.digest for run in again.runs} & {run.digest for run in study.runs}
    frame = again.run(tmp_path / "out", address)
    assert "longest_wait_s" not in plain.columns and (frame["longest_wait_s"] >= frame["waited_p99_s"]).all()
    view = viewed(again, frame)
    assert "longest wait (" in terminal(study_tables(view)) and "longest wait: of the job" in terminal(
        study_tables(view)
    )
    assert "longest wait: of the job" in study_page(view)
    assert "longest wait (" in draw_differences(view, "longest_wait_s")
    rows = compare_in_pairs(frame, again.compared_with)
    mine = rows[rows["outcome"] == "longest_wait_s"]
    assert len(mine) and set(mine["wanted"]) == {"less"} and set(mine["unit"]) == {"s"}
    assert "longest_wait_s" in json.dumps(view.to_dict()["results"][0])


def test_another_function_makes_other_runs(study: Study, tmp_path: Path) -> None:
    seen = []
    for factor in (1, 2, 1):
        workbench.metric("factor", per="simulation", count=True)(lambda facts, factor=factor: factor)
        seen.append([run.digest for run in small_study(tmp_path).runs])
    assert seen[0] == seen[2] and not set(seen[0]) & set(seen[1])


def test_the_best_of_the_runs_that_completed_as_many_jobs_is_bold(study: Study) -> None:
    results = [simulated(study, policy) for policy in ("binpack", "spread")]
    order = {id(result): i for i, result in enumerate(results)}
    add_order = workbench.metric("order", per="simulation", better="lower")
    add_order(lambda facts: 700 + order[id(facts.result)])
    shown = terminal(simulation_views.simulation_tables(results), style=True)
    assert re.search(r"\x1b\[1m *700", shown) and not re.search(r"\x1b\[1m *701", shown)
    early = Simulation(
        next(iter(study.cases.values())).snapshot, get_policy("binpack"), next(iter(study.cases.values())).jobs
    )
    unfinished = early.run(1.0).result()
    order[id(unfinished)] = -1
    shown = terminal(simulation_views.simulation_tables([unfinished, *results]), style=True)
    assert re.search(r"\x1b\[1m *700", shown) and not re.search(r"\x1b\[1m *699", shown)


def test_a_share_is_shown_in_percent_and_a_rare_metric_only_where_it_is_not_zero(study: Study) -> None:
    workbench.metric("part", per="simulation", share=True, better="higher")(lambda facts: 0.25)
    workbench.metric("never", per="simulation", rare=True)(lambda facts: 0)
    result = simulated(study)
    table = terminal(simulation_views.simulation_tables([result]))
    assert "part (%)" in table and " 25 " in table.replace("25\n", "25 ") and "never" not in table
    assert result.summary()["part"] == 0.25 and result.summary()["never"] == 0


@pytest.mark.parametrize(
    ("value", "declaration", "message"),
    [
        ("text", {}, "metric bad: not a value of a metric .found 'text', expected a finite number"),
        (0.5, {"count": True}, "expected a whole number"),
        (float("inf"), {}, "expected a finite number"),
        (None, {"count": True}, "expected a whole number"),
    ],
)
def test_a_function_that_answers_badly_is_named(study: Study, value: Any, declaration: Any, message: str) -> None:
    workbench.metric("bad", per="simulation", **declaration)(lambda facts: value)
    with pytest.raises(InputError, match=message.replace("(", ".")):
        simulated(study).summary()


def test_only_a_metric_with_a_direction_is_compared(study: Study) -> None:
    workbench.metric("odd", per="simulation")(lambda facts: 1)
    with pytest.raises(InputError, match="no run can be better by it"):
        outcome("odd")


def test_a_filled_cluster_shows_it_in_table_and_json() -> None:
    import pandas as pd

    from workbench.evaluate.provenance import Provenance
    from workbench.report.study_views import fill_tables

    @workbench.metric("worst", per="fill", unit="%", better="higher", meaning="allocated with the worst seed")
    def worst(facts: FillFacts) -> float:
        return float(facts.allocated.min())

    def curve(end: float) -> pd.DataFrame:
        return pd.DataFrame({"allocated": [50.0, end], "fragmented": 0.0, "fragmented_of_idle": 0.0})

    curves = {("a", 1): curve(80.0), ("a", 2): curve(90.0), ("b", 1): curve(70.0), ("b", 2): curve(99.0)}
    study = FillStudy("trace", (1, 2), curves, {1: 100.0, 2: 100.0}, Provenance())
    assert study.summary()["worst"].tolist() == [80.0, 70.0]
    assert study.to_dict()["summary"][0]["worst"] == 80.0
    shown = terminal(fill_tables(study))
    assert "worst (%)" in shown and "worst (%): allocated with the worst seed" in shown
