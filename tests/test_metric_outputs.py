"""A metric is declared once: what a test adds is in every output, and nothing else has to know of it."""

from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

import workbench
from tests.hand_made import document_tree, gang_of, placement_of, snapshot_of
from tests.widgets.page import ask
from workbench.errors import InputError
from workbench.evaluate import metric_table
from workbench.evaluate.compare import Comparison, compare
from workbench.evaluate.facts import JobFacts, RunFacts
from workbench.evaluate.metric import Metric, View
from workbench.evaluate.metric_table import metric
from workbench.evaluate.metrics import measure, measure_run
from workbench.evaluate.session_metrics import SESSION_METRICS
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Refusal
from workbench.model.scenario import Scenario
from workbench.report import html, tables
from workbench.report.comparison_tables import comparison_tables
from workbench.widgets.comparer import PlacementComparer
from workbench.widgets.comparison_view import comparison_view

TOPOLOGY = document_tree()
SNAPSHOT = snapshot_of(TOPOLOGY)
GANGS = [gang_of("a", 4), gang_of("b", 2)]


@pytest.fixture(autouse=True)
def own_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds is gone after it."""
    monkeypatch.setattr(metric_table, "_registered", {})


class Fixed:
    """Places the gangs on the given nodes; None: pending."""

    def __init__(self, name: str, *nodes: list[int] | None) -> None:
        self.name, self.parameters, self.nodes = name, {}, nodes

    def schedule(self, gangs: Any, snapshot: Any) -> list[Decision]:
        return [
            Decision(
                gang,
                Refusal(gang, self.name, {}, (Notice("insufficient", "no room", numbers={"count": 8}),))
                if at is None
                else placement_of(gang, snapshot.topology, at, [0x0F] * len(at)),
            )
            for gang, at in zip(gangs, self.nodes, strict=True)
        ]


def compared(*policies: Any) -> Comparison:
    return compare(
        GANGS, SNAPSHOT, policies or [Fixed("near", [0, 0, 1, 1], [2, 3]), Fixed("far", [0, 2, 4, 6], [1, 7])]
    )


def terminal(parts: list[Any], style: bool = False) -> str:
    colours = "standard" if style else None
    console = Console(file=io.StringIO(), width=400, highlight=False, force_terminal=style, color_system=colours)
    for part in parts:
        console.print(part)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def session(comparison: Comparison, row: int = 0) -> str:
    one = comparison.rows[row]
    assert one.metrics is not None
    return terminal(tables.session_tables(one.policy, one.decisions, one.metrics))


def text_of(page: str) -> str:
    """Cells of the tables of a page, one per line."""
    return re.sub(r"<[^>]*>", "", re.sub(r"</t[dh]>", "\n", re.sub(r"<svg.*?</svg>", "", page, flags=re.S)))


def exported_csv() -> str:
    comparer = PlacementComparer(Scenario(SNAPSHOT, tuple(GANGS), {}), ["gang", "spread"])
    try:
        ask(comparer, "state")
        comparer.wait(60)
        return str(ask(comparer, "export", kind="csv")["text"])
    finally:
        comparer.close()


def add_hops() -> Callable[[JobFacts], float]:
    """What a newcomer writes."""

    @workbench.metric("mean_ring_hops", "ring hops", unit="hops", better="lower", total="mean")
    def mean_ring_hops(job: JobFacts) -> float:
        """Tiers up and down again per link of the ring of ranks."""
        return float((2 * (job.ring_levels + 1)).mean())

    return mean_ring_hops


def test_a_metric_that_a_cell_adds_is_in_every_output() -> None:
    add_hops()
    found = compared()
    near, far = found.rows
    assert near.metrics is not None and far.metrics is not None
    # "near": a has links node, tier 1, node, tier 1, b has two links of tier 1: (0 + 2 + 0 + 2) / 4 and 2.
    assert near.metrics.jobs["default/a"]["mean_ring_hops"] == 1.0
    assert near.metrics["mean_ring_hops"] == 1.5

    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))["policies"][0]["metrics"]
    assert (record["mean_ring_hops"], record["jobs"]["default/b"]["mean_ring_hops"]) == (1.5, 2.0)

    frame = found.to_dataframe()
    assert frame["mean_ring_hops"].tolist()[:2] == [1.0, 2.0]
    assert found.to_dataframe("run")["mean_ring_hops"].tolist()[0] == 1.5

    shown = terminal(comparison_tables(found))
    assert "ring hops hops" in shown and "1.5" in shown
    assert "ring hops hops: Tiers up and down again per link of the ring of ranks." in shown
    assert "ring hops hops" in session(found)

    page = html.report_html(found)
    assert text_of(page).count("ring hops hops\n") == 2  # the table of policies, and that of jobs
    assert "Tiers up and down again" in page

    view = json.loads(json.dumps(comparison_view(found), allow_nan=False))
    (line,) = (one for one in view["metrics"] if one["heading"] == "ring hops hops")
    assert line["values"][0] == {"text": "1.5", "best": True} and line["values"][1]["best"] is False
    (cell,) = (one for one in view["jobs"][0]["cells"][0]["metrics"] if one["heading"] == "ring hops")
    assert (cell["text"], cell["unit"], cell["best"]) == ("1", "hops", True)

    header = exported_csv().splitlines()[0].split(",")
    assert "mean_ring_hops" in header


def test_a_metric_with_ends_shows_its_interval() -> None:
    shown = {"in_jobs": View(0), "in_runs": View(0), "total": "min"}
    workbench.metric("guess_low", **shown)(lambda job: 1.0)
    workbench.metric("guess_high", **shown)(lambda job: 20.5)
    workbench.metric("guess", ends=("guess_low", "guess_high"), total="min")(lambda job: 12.25)
    found = compared()
    for output in (
        terminal(comparison_tables(found)),
        session(found),
        text_of(html.report_html(found)),
        json.dumps(comparison_view(found), ensure_ascii=False),
    ):
        assert "12.25 (1–20.5)" in output
        assert "guess_low" not in output and "guess low" not in output
    assert found.to_dataframe()[["guess", "guess_low", "guess_high"]].iloc[0].tolist() == [12.25, 1.0, 20.5]


def test_without_it_no_output_knows_it() -> None:
    found = compared()
    outputs = [
        json.dumps(found.to_dict()),
        found.to_dataframe().to_csv(),
        terminal(comparison_tables(found)),
        session(found),
        html.report_html(found),
        json.dumps(comparison_view(found)),
    ]
    assert not any("hops" in output for output in outputs)


def test_a_metric_of_runs_is_in_the_outputs_with_a_line_per_policy() -> None:
    @metric("busiest_node", per="run", better="lower")
    def busiest_node(run: RunFacts) -> int:
        return max(int(job.pods_per_node.max()) for job in run.jobs.values())

    found = compared()
    assert found.to_dict()["policies"][0]["metrics"]["busiest_node"] == 2
    assert found.to_dataframe("run")["busiest_node"].tolist() == [2, 1]
    assert "busiest_node" not in found.to_dataframe().columns
    assert "busiest node" in terminal(comparison_tables(found)) and "busiest node" not in session(found)
    assert text_of(html.report_html(found)).count("busiest node\n") == 1
    assert {"heading": "busiest node", "meaning": ""}.items() <= comparison_view(found)["metrics"][-1].items()


def test_a_metric_by_tier_has_a_column_per_tier_that_is_reached() -> None:
    @metric("slow_pairs", by="tier", total="sum", column="slow")
    def slow_pairs(job: JobFacts) -> dict[str, int]:
        return job.pod_pairs

    found = compared()
    assert found.to_dict()["policies"][0]["metrics"]["slow_pairs"] == {"node": 2, "1": 5, "2": 0, "3": 0, "4": 0}
    assert {"slow_node", "slow_1", "slow_4"} <= set(found.to_dataframe().columns)
    for shown in (terminal(comparison_tables(found)), session(found)):
        assert "slow pairs node" in shown and "slow pairs t3" in shown and "slow pairs t4" not in shown
    page = text_of(html.report_html(found))
    assert "slow pairs same node\n" in page and "slow pairs tier 3\n" in page and "slow pairs tier 4" not in page


def test_a_group_has_a_table_of_its_own_and_is_left_out_where_nothing_is_known() -> None:
    @metric("power_w", group="power", total="sum", unit="W")
    def power_w(job: JobFacts) -> float | None:
        return None if len(job.nodes) > 2 else 100.0 * len(job.nodes)

    found = compared(Fixed("near", [0, 0, 1, 1], [2, 3]))
    assert found.to_dict()["policies"][0]["metrics"]["power"] == {"power_w": 400.0}
    assert "\npower\n" in terminal(comparison_tables(found)).replace(" ", "")
    assert "<h3>Power</h3>" in html.report_html(found)
    assert any(line["heading"] == "power w W" for line in comparison_view(found)["metrics"])
    far = compared(Fixed("far", [0, 2, 4, 6], None))
    assert "power" not in json.dumps(far.to_dict()) and "power_w" not in far.to_dataframe().columns


def test_results_are_shown_where_the_function_is_not_known() -> None:
    add_hops()
    found = compared()
    metric_table._registered.clear()
    copied = pickle.loads(pickle.dumps(found))
    assert copied.to_dict() == found.to_dict()
    assert "ring hops hops" in terminal(comparison_tables(copied))


def test_the_default_column_may_be_given() -> None:
    metric("constant", column="")(lambda job: 1)
    assert compared().to_dataframe()["constant"].tolist()[0] == 1


def test_doing_it_again_replaces_the_metric() -> None:
    for value in (1, 2):
        metric("constant", total="max")(lambda job, value=value: value)
    assert compared().rows[0].metrics["constant"] == 2  # type: ignore[index]


@pytest.mark.parametrize("key", ["nodes", "pairs", "ring", "switches", "hypernode", "jobs", "decision_s"])
def test_names_that_outputs_use_already_are_refused(key: str) -> None:
    with pytest.raises(InputError, match=f"metric: this name is taken .*{key}"):
        metric(key)
    with pytest.raises(InputError, match="this name is taken"):
        metric("mine", column=key)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ({"key": "Mean Hops"}, "not a key of a metric"),
        ({"key": "hops", "better": "up"}, "unknown value of better"),
        ({"key": "hops", "total": "median"}, "unknown value of total"),
        ({"key": "hops", "colour": "red"}, "no such attribute of a metric"),
        ({"key": "hops", "per": "pod"}, "unknown value of per"),
        ({"key": "hops", "uint": "GB/s"}, "no such attribute of a metric .found uint, expected unit"),
        ({"key": "hops", "group": "placed"}, "metric hops: group: the name of the group is taken by a value"),
        ({"key": "hops", "group": "hops"}, "metric hops: group: the name of the group is taken by a value"),
        ({"key": "hops", "group": 3}, "wrong value of group .found 3, expected a text"),
        (
            {"key": "hops", "whole": ("paris",)},
            "metric hops: whole: no metric of that key .found 'paris', expected pod_pairs",
        ),
        (
            {"key": "hops", "ends": ("paris", "nodes")},
            "metric hops: ends: no metric of that key .found 'paris', expected pod_pairs",
        ),
        ({"key": "hops", "ends": ("nodes",)}, "wrong value of ends .found .'nodes',., expected the keys"),
        ({"key": "hops", "whole": "nodes"}, "wrong value of whole .found 'nodes', expected a tuple"),
        ({"key": "hops", "in_jobs": "x"}, "wrong value of in_jobs .found 'x', expected View.TABLE"),
        ({"key": "hops", "in_runs": None}, "wrong value of in_runs"),
        ({"key": "hops", "job": len}, "job is the function under the decorator"),
        ({"key": "hops", "per": "run", "job": len}, "job is the function under the decorator"),
        ({"key": 3}, "not a key of a metric"),
        ({"key": "hops", "share": 1}, "wrong value of share .found 1, expected True or False"),
        ({"key": "hops", "per": "simulation", "total": "sum"}, "an attribute of metrics of sessions"),
        ({"key": "hops", "per": "fill", "by": "tier"}, "found by='tier', expected per='job' or per='run' beside it"),
        ({"key": "hops", "whole": ("jobs",)}, "metric hops: whole: no metric of that key"),
    ],
)
def test_a_wrong_declaration_is_refused_and_adds_nothing(declaration: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        metric(**declaration)(lambda job: 1)
    assert metric_table._registered == {}


@pytest.mark.parametrize(
    ("by", "value", "message"),
    [
        ("", [1], "not a value of a metric"),
        ("", float("inf"), "expected a finite number"),
        ("tier", 3, "not a mapping"),
        ("tier", {"1": "x"}, "not a value of a metric"),
        ("", ZeroDivisionError("division by zero"), "the function of the metric raised (found ZeroDivisionError"),
    ],
)
def test_a_function_that_answers_badly_is_named_and_harms_no_other_metric(by: str, value: Any, message: str) -> None:
    @metric("bad", by=by)
    def bad(job: JobFacts) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    (row,) = compared(Fixed("near", [0, 0, 1, 1], [2, 3])).rows
    assert row.error is not None and "metric bad" in row.error.message and message in row.error.message


def test_values_are_plain_python_and_nan_is_unknown() -> None:
    import numpy as np

    metric("counted")(lambda job: np.int64(3))
    metric("unknown")(lambda job: np.float64("nan"))
    metric("by_tier", by="tier")(lambda job: {1: np.float32(0.5)})
    placement = compared().rows[0].placements[0]
    found = measure(placement, SNAPSHOT)
    assert type(found["counted"]) is int and found["unknown"] is None
    assert found["by_tier"] == {"1": 0.5} and type(found["by_tier"]["1"]) is float


@pytest.mark.parametrize(("total", "want"), [("sum", 6), ("min", 2), ("max", 4), ("mean", 3.0)])
def test_the_value_of_a_run_follows_from_those_of_its_jobs(total: Any, want: float) -> None:
    metric("size", total=total)(lambda job: len(job.placed))
    metric("only_b", total=total)(lambda job: None if len(job.placed) > 2 else 2)
    run = compared().rows[0].metrics
    assert run is not None and (run["size"], run["only_b"]) == (want, 2)
    nothing = measure_run(Fixed("none", None, None).schedule(GANGS, SNAPSHOT), SNAPSHOT)
    assert nothing["size"] == (0 if total == "sum" else None)


def best(comparison: Comparison, heading: str) -> list[bool]:
    (line,) = (one for one in comparison_view(comparison)["metrics"] if one["heading"] == heading)
    return [value["best"] for value in line["values"]]


def test_the_best_is_chosen_among_policies_that_placed_as_much() -> None:
    near, far = Fixed("near", [0, 0, 1, 1], [2, 3]), Fixed("far", [0, 2, 4, 6], [1, 7])
    half = Fixed("half", [0, 0, 1, 1], None)
    metric("spread", better="lower", total="sum")(lambda job: len(job.nodes))
    # "half" has the fewest nodes because a job waits.
    assert best(compared(near, far, half), "spread") == [True, False, False]
    assert best(compared(near, far, half), "placed") == [True, True, False]
    assert best(compared(near, near), "spread") == [False, False]
    metric("spread", better="higher", total="sum")(lambda job: len(job.nodes))
    assert best(compared(near, far), "spread") == [False, True]
    metric("spread", total="sum")(lambda job: len(job.nodes))
    assert best(compared(near, far), "spread") == [False, False]


def test_the_best_is_emphasised_in_a_terminal_and_on_the_page() -> None:
    metric("spread", better="lower", total="sum")(lambda job: 700 + len(job.nodes))
    found = compared()
    shown = terminal(comparison_tables(found), style=True)
    assert re.search(r"\x1b\[1m *1,404", shown) and not re.search(r"\x1b\[1m *1,406", shown)
    assert 'font-weight:600">1,404<' in html.report_html(found)
    assert 'font-weight:600">1,406<' not in html.report_html(found)


@pytest.mark.parametrize("declared", [one for one in SESSION_METRICS if not one.group], ids=lambda one: one.key)
def test_every_built_in_metric_is_where_its_declaration_says(declared: Metric) -> None:
    found = compared()
    record = found.to_dict()["policies"][0]["metrics"]
    of_run, of_job = declared.run is not None or bool(declared.total), declared.job is not None
    assert (declared.key in record) is of_run
    assert (declared.key in record["jobs"]["default/a"]) is of_job
    column = (declared.column or declared.key) + ("_1" if declared.by else "")
    assert (column in found.to_dataframe().columns) is of_job
    assert (column in found.to_dataframe("run").columns) is of_run

    view = comparison_view(found)
    for headings, shown in (
        ([line["heading"] for line in view["metrics"]], of_run and View.COMPARER in declared.in_runs),
        (
            [one["heading"] for one in view["jobs"][0]["cells"][0]["metrics"]],
            of_job and View.COMPARER in declared.in_jobs,
        ),
        (text_of(html.comparison_html(found)).splitlines(), of_run and View.PAGE in declared.in_runs),
    ):
        # "pods" is the heading of two metrics.
        assert (
            shown is any(re.match(rf"{declared.heading}( |$)", one) for one in headings) or declared.heading == "pods"
        )


def test_a_frame_is_per_job_or_per_run() -> None:
    with pytest.raises(InputError, match="per: no such kind of line"):
        compared().to_dataframe("pod")  # type: ignore[arg-type]

    class Broken(Fixed):
        def schedule(self, gangs: Any, snapshot: Any) -> list[Decision]:
            raise ValueError("no")

    frame = compared(Fixed("near", [0, 0, 1, 1], [2, 3]), Broken("mine")).to_dataframe("run")
    assert frame["outcome"].tolist() == ["ran", "error"]
    assert frame.loc[0, "pairs_1"] == 5 and frame.loc[1, "reasons"] == "ValueError: no"
    assert "hypernode" not in frame.columns and frame["decision_s"].notna().all()
