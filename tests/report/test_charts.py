"""Charts of a comparison: what their parts say."""

from __future__ import annotations

import dataclasses
import io

from rich.console import Console

from tests.switch_fabric import Switch, fabric, job
from workbench.evaluate.compare import compare
from workbench.report import html, tables
from workbench.report.charts import switch_chart
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
    compared = compare([dataclasses.replace(job("a", "common", 2), job_class="")], plain, ["spread"])
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
    for part in tables.comparison_tables(COMPARED):
        console.print(part)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "switches" in text and "most jobs" in text
    assert max(map(len, text.splitlines())) <= 80
