"""What the comparer answers when it is asked: differences, reasons, files and the command line."""

from __future__ import annotations

import pytest

from tests.browser.gestures import drop_text
from tests.browser.lab import PATIENCE_MS, ROOT, Server, open_notebook
from tests.browser.test_comparer import CELL, results, saved_by

pytestmark = pytest.mark.browser


def test_the_differences_are_a_table_of_the_jobs_that_move_with_arrows(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "comparer-differences", [CELL])
    notebook.run(0)
    panel = notebook.panel("comparer")
    results(panel, 1)
    panel.get_by_role("button", name="Differences").press("Enter")
    table = panel.locator("table.wb-differences")
    table.wait_for(state="visible")
    found = notebook.kernel(
        "[[d.job, [[m.text for m in moves] for moves in d.moves]] "
        "for d in __import__('workbench.evaluate.differences', fromlist=['x']).differences(comparer.comparison)]"
    )
    assert table.locator("tbody th").all_inner_texts() == [job for job, _ in found]
    row = table.locator("tbody tr").first
    moves = row.locator("td").nth(2).locator(".wb-move").all_inner_texts()
    assert moves == [text.replace(":", "") for text in found[0][1][2]] and "→" in moves[0]
    notebook.screenshot(panel, "comparer-differences")

    # The switch stays through the next result, and goes back to all jobs.
    panel.get_by_role("button", name="remove gang").click()
    results(panel, 2)
    notebook.settle(panel)
    assert table.locator("thead th").count() == 3
    row.locator("th").hover()
    assert panel.locator(".wb-faded").count() > 0
    panel.get_by_role("button", name="Differences").click()
    assert panel.locator("table.wb-differences").count() == 0
    assert panel.locator("tr[data-job]").count() == 4
    assert notebook.outside == [] and notebook.complaints == []


def test_a_pending_cell_is_short_and_a_click_says_what_would_help(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "comparer-why", [CELL], "dark")
    notebook.run(0)
    panel = notebook.panel("comparer")
    results(panel, 1)
    panel.get_by_role("button", name="Jobs …").click()
    panel.get_by_label("name", exact=True).fill("too-big-1")
    panel.get_by_label("pods", exact=True).fill("2")
    panel.get_by_label("network topology").select_option("hard")
    panel.get_by_role("button", name="Add job").click()
    results(panel, 2)
    panel.get_by_role("button", name="Jobs …").click()
    cell = panel.locator("td.wb-pending").first
    assert cell.inner_text().startswith("pending") and cell.inner_text().endswith("why?")
    assert len(cell.inner_text()) < 160
    cell.get_by_role("button").press("Enter")
    notebook.settle(panel)
    fixes = panel.locator(".wb-fix")
    fixes.get_by_role("list", name="fixes").wait_for(timeout=PATIENCE_MS)
    assert "would help: " in fixes.inner_text()
    assert "Volcano writes: “" in panel.locator(".wb-detail").evaluate("(detail) => detail.textContent")
    notebook.screenshot(panel, "comparer-why")

    # A click below the text of a cell, where a longer answer of another policy has made room, counts.
    panel.locator(".wb-detail").get_by_role("button", name="Close").click()
    cell.evaluate("(cell) => cell.style.height = '200px'")
    cell.click(position={"x": 20, "y": 190})
    fixes.wait_for(timeout=PATIENCE_MS)
    assert notebook.outside == [] and notebook.complaints == []


#: The first answer why a job is pending comes after another result.
LATE = (
    CELL
    + """
from workbench.widgets.finished_comparison import FinishedComparison
explain, asked = FinishedComparison.explain, []
def late(self, row, job):
    answer = explain(self, row, job)
    asked.append(job)
    if len(asked) == 1:
        comparer.run()
        comparer.wait()
    return answer
FinishedComparison.explain = late
comparer
"""
)


def test_a_click_on_a_pending_cell_outlives_the_next_result(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "comparer-late", [LATE])
    notebook.run(0)
    panel = notebook.panel("comparer")
    results(panel, 1)
    panel.get_by_role("button", name="Jobs …").click()
    panel.get_by_label("name", exact=True).fill("too-big-1")
    panel.get_by_label("pods", exact=True).fill("2")
    panel.get_by_label("network topology").select_option("hard")
    panel.get_by_role("button", name="Add job").click()
    results(panel, 2)
    panel.locator("td.wb-pending").first.get_by_role("button").press("Enter")
    results(panel, 3)
    panel.locator(".wb-fix").get_by_role("list", name="fixes").wait_for(timeout=PATIENCE_MS)
    assert notebook.kernel("len(asked)") >= 2
    assert notebook.outside == [] and notebook.complaints == []


def test_a_dropped_configuration_counts_for_every_policy_that_reads_one(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "comparer-conf", [CELL])
    notebook.run(0)
    panel = notebook.panel("comparer")
    results(panel, 1)
    conf = "actions: allocate\ntiers:\n- plugins:\n  - {name: binpack, arguments: {binpack.weight: 7}}\n"
    drop_text(panel, ".wb-pictures", "volcano-scheduler.conf", conf)
    results(panel, 2)
    weights = "[row.parameters.get('binpack_weight') for row in comparer.comparison.rows]"
    assert notebook.kernel(weights) == [7, 7, None]
    assert "volcano-scheduler.conf" in panel.locator(".wb-bar").first.inner_text()
    notebook.screenshot(panel, "comparer-configuration")
    panel.get_by_role("button", name="remove volcano-scheduler.conf").click()
    results(panel, 3)
    assert notebook.kernel(weights) != [7, 7, None]
    assert panel.get_by_role("button", name="Configuration …").is_visible()
    drop_text(panel, ".wb-pictures", "notes.conf", "kind: Job\n")
    panel.locator(".wb-message").wait_for(state="visible")
    assert "notes.conf" in panel.locator(".wb-message").inner_text()
    assert notebook.outside == [] and notebook.complaints == []


def test_one_picture_of_all_is_saved_and_the_command_is_copied(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "comparer-files", [CELL])
    notebook.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    notebook.run(0)
    panel = notebook.panel("comparer")
    results(panel, 1)
    svg = saved_by(panel, "SVG", 1)["comparison.svg"]
    assert svg.count(b"tw-topology") >= 3
    png = saved_by(panel, "PNG", 1)["comparison.png"]
    (ROOT / "out" / "screenshots").mkdir(parents=True, exist_ok=True)
    (ROOT / "out" / "screenshots" / "comparer-side-by-side.png").write_bytes(png)
    assert png.startswith(b"\x89PNG") and len(png) > 10_000

    panel.get_by_role("button", name="Copy as command").press("Enter")
    line = panel.locator(".wb-message")
    line.wait_for(state="visible")
    copied = notebook.page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith("workbench compare ") and copied.endswith("--policies volcano-1.15,volcano-1.13,gang")
    assert line.inner_text() == f"copied: {copied}"
    notebook.screenshot(panel, "comparer-command")
    assert notebook.outside == [] and notebook.complaints == []


#: The last job of the list is the first that every policy decides on.
LAST_FIRST = (
    CELL
    + """
import dataclasses
first = dataclasses.replace(comparer.gangs[-1], priority=1000)
comparer.use(comparer.snapshot, [*comparer.gangs[:-1], first])
comparer
"""
)


def test_the_slider_follows_the_order_in_which_the_decisions_were_taken(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "comparer-order", [LAST_FIRST])
    notebook.run(0)
    panel = notebook.panel("comparer")
    results(panel, 1)
    job = notebook.kernel("comparer.gangs[-1].key")
    slider = panel.get_by_role("slider")
    slider.fill("1")
    notebook.settle(panel)
    assert slider.locator("xpath=..").locator("output").inner_text() == f"1 of 4: {job}"
    for picture in panel.locator(".wb-picture").all():
        drawn = picture.locator("[data-cell][data-jobs]").evaluate_all("all => all.map(e => e.dataset.jobs)")
        assert {jobs for jobs in drawn if jobs} == {"3"}
    assert notebook.outside == [] and notebook.complaints == []
