"""Charts of a comparison: the values of their parts."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest
from rich.console import Console

from tests.hand_made import document_tree, gang_of, snapshot_of
from tests.switch_fabric import Switch, fabric, job
from workbench.evaluate.compare import compare
from workbench.model.extras import AscendWish
from workbench.model.gang import TopologyConstraint
from workbench.report import html
from workbench.report.charts import bottleneck_chart, comparison_charts, switch_chart, tier_chart
from workbench.report.colours import heat, tier_colour
from workbench.report.comparison_tables import comparison_tables
from workbench.widgets.comparison_view import comparison_view

#   two switches of 3 nodes; "a" and "b" of 2 pods each cross both under `spread`, none under `switch-affinity`.
CLUSTER = fabric([Switch("s0", 3, 3), Switch("s1", 3, 3)], 3)
COMPARED = compare([job("a", "common", 2), job("b", "common", 2)], CLUSTER, ["spread", "switch-affinity"])


def test_switches_are_parts_by_their_cross_switch_jobs() -> None:
    chart = switch_chart(COMPARED)
    rows = {row.policy: row.metrics.switches for row in COMPARED.rows if row.metrics is not None}
    for policy, found in rows.items():
        assert found is not None
        for jobs in set(found.crossing.values()):
            count = list(found.crossing.values()).count(jobs)
            name = "no cross-switch job" if jobs == 0 else str(jobs)
            assert f"{policy}: {count} of 2 switches, {name} (" in chart


def test_no_chart_and_no_table_where_nobody_asks_about_switches() -> None:
    plain = dataclasses.replace(CLUSTER, switches=None)
    compared = compare([job("a", "common", 2).with_extra(AscendWish())], plain, ["spread"])
    assert switch_chart(compared) == ""
    assert "shared switches" not in html.comparison_html(compared)
    assert not any("Switches by" in chart for chart in comparison_view(compared)["charts"])


def test_every_view_of_a_comparison_shows_the_switches() -> None:
    assert any("Switches by" in chart for chart in comparison_view(COMPARED)["charts"])
    page = html.report_html(COMPARED)
    assert 'text-align:right;padding:3px 10px;border-bottom:1px solid currentColor">pairs across<' in page
    assert page.count("<td") > html.comparison_html(COMPARED).count("<td") + 2 * 2 * 3
    assert "cross-switch jobs" in page and "Switches by the number of cross-switch jobs" in page
    console = Console(width=80, file=io.StringIO())
    for part in comparison_tables(COMPARED):
        console.print(part)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "switches" in text and "most jobs" in text
    assert max(map(len, text.splitlines())) <= 80


#   one leaf holds two nodes: `volcano-1.13` refuses the four pods that a leaf must hold, `spread` places them anyhow.
PENDING = compare(
    [gang_of("pair", 2), gang_of("wide", 4, constraint=TopologyConstraint("hard", 1))],
    snapshot_of(document_tree()),
    ["volcano-1.13+gpu-bottleneck", "spread+gpu-bottleneck"],
)

_PART = re.compile(
    r"<rect x='[0-9.]+' y='[0-9]+' width='(?P<width>[0-9.]+)' height='15' (?P<paint>[^>]*)>"
    r"<title>(?P<policy>[^:]+): (?P<amount>[0-9,]+) of (?P<total>[0-9,]+) (?P<unit>\w+), (?P<name>.*?) \(\d+%\)</title>"
)


def parts_of(chart: str) -> dict[str, list[re.Match[str]]]:
    """The parts of each policy's bar."""
    found: dict[str, list[re.Match[str]]] = {}
    for part in _PART.finditer(chart):
        found.setdefault(part["policy"], []).append(part)
    return found


@pytest.mark.parametrize(
    ("draw", "amounts"), [(tier_chart, {"placed": 1, "all": 7}), (bottleneck_chart, {"placed": 2, "all": 6})]
)
def test_what_is_pending_is_hatched_and_as_long_as_it_would_be_placed(draw, amounts) -> None:
    chart = draw(PENDING)
    careful, careless = parts_of(chart).values()
    assert [part["name"] == "pending" for part in careful] == [False, True]
    assert [int(part["amount"]) for part in careful] == [amounts["placed"], amounts["all"] - amounts["placed"]]
    assert "url(#" in careful[1]["paint"] and "pending" not in {part["name"] for part in careless}
    assert f">{amounts['placed']} of {amounts['all']}</text>" in chart and f">{amounts['all']}</text>" in chart
    # The same scale: what is placed takes no more room because less is placed.
    lengths = [sum(float(part["width"]) for part in bar) for bar in (careful, careless)]
    assert lengths[0] == pytest.approx(lengths[1], abs=0.3)
    assert float(careful[0]["width"]) / lengths[0] == pytest.approx(amounts["placed"] / amounts["all"], abs=0.01)


def test_a_policy_that_failed_or_is_there_twice_has_a_bar_of_its_own() -> None:
    failed = dataclasses.replace(PENDING.rows[0], metrics=None, decisions=())
    compared = dataclasses.replace(PENDING, rows=(PENDING.rows[1], PENDING.rows[1], failed))
    for chart in (tier_chart(compared), bottleneck_chart(compared)):
        assert chart.count(">failed</text>") == 1 and len(re.findall(r"height='15'", chart)) % 2 == 0


def test_jobs_that_use_no_switch_because_they_are_pending_are_counted() -> None:
    #   three pods for each of two jobs, and two switches of two nodes each: the second job finds no room.
    cluster = fabric([Switch("s0", 2, 2), Switch("s1", 2, 2)], 2)
    chart = switch_chart(compare([job("a", "common", 3), job("b", "common", 3)], cluster, ["spread"]))
    assert ">1 of 2 jobs pending</text>" in chart


def test_page_and_report_have_the_same_charts() -> None:
    charts = comparison_charts(PENDING)
    assert len(charts) == 2 and comparison_view(PENDING)["charts"] == charts
    assert all(chart in html.comparison_html(PENDING) for chart in charts)


def test_the_parts_of_the_tiers_have_the_colours_of_the_tiers() -> None:
    paints = {part["name"]: part["paint"] for bar in parts_of(tier_chart(PENDING)).values() for part in bar}
    tiers = {name: paint for name, paint in paints.items() if name.startswith("tier ")}
    assert tiers and tiers == {name: f"fill='{tier_colour(int(name.removeprefix('tier ')))}'" for name in tiers}


def test_bottlenecks_have_ordered_colours_from_the_slowest_to_the_fastest() -> None:
    gangs = [gang_of("two", 1, 2), gang_of("six", 1, 6)]
    compared = compare(gangs, snapshot_of(document_tree()), ["spread+gpu-lowest-index"])
    paints = {part["name"]: part["paint"] for part in parts_of(bottleneck_chart(compared))["spread+gpu-lowest-index"]}
    speeds = sorted(float(name.removesuffix(" GB/s")) for name in paints if name.endswith(" GB/s"))
    assert len(speeds) == 2
    assert [paints[f"{speed:.4g} GB/s"] for speed in speeds] == [f"fill='{heat(0.0)}'", f"fill='{heat(1.0)}'"]
