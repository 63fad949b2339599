"""The simulation explorer in JupyterLab: its sliders, names by click and by key, and the crosshair of all charts."""

from __future__ import annotations

import pytest

from tests.browser.lab import PATIENCE_MS, ROOT, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = f"""
import os
import workbench
from workbench.formats.job_logs import load_jobs
from workbench.simulate import SimulatedJob, Simulation

os.chdir({str(ROOT)!r})
cluster = workbench.load("datasets/job-log/cluster.yaml").snapshot
log = load_jobs("datasets/job-log/jobs.csv")
# Twice as many jobs in the time, so that some wait.
jobs = [SimulatedJob(job.gang, job.submitted_s / 2, job.duration_s) for job in log.jobs]
results = [Simulation(cluster, workbench.get_policy(name), jobs).run().result() for name in ("volcano", "spread")]
explorer = workbench.SimulationExplorer(results, cluster)
explorer
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_slider_and_a_name_change_every_chart(chromium, lab: Server, theme: str) -> None:
    notebook = open_notebook(chromium, lab, f"explorer-{theme}", [CELL], theme)
    notebook.run(0)
    page = notebook.page
    explorer = page.locator(".tw-simulation-explorer")
    explorer.locator("svg").nth(3).wait_for(state="visible", timeout=PATIENCE_MS)
    titles = "() => [...document.querySelectorAll('.tw-simulation-explorer svg')].map(one => one.outerHTML)"
    before = page.evaluate(titles)
    handle = explorer.locator(".noUi-handle-upper")
    handle.focus()
    for _ in range(40):
        handle.press("ArrowLeft")
    page.wait_for_function(
        f"before => {{ const now = ({titles})(); return now.length === before.length && "
        "now.every((one, i) => one !== before[i]); }",
        arg=before,
        timeout=PATIENCE_MS,
    )
    low, high = notebook.kernel("list(explorer.time.value)")
    assert low == 0 and 0 < high < notebook.kernel("explorer.time.max")
    name = notebook.kernel("results[0].jobs[3].gang.key")
    field = explorer.locator("input[type=text]")
    field.fill(name)
    field.press("Enter")
    explorer.get_by_text(f"{name}: submitted at").wait_for(timeout=PATIENCE_MS)
    explorer.locator("select").select_option("spread")
    explorer.get_by_text("spread: the cluster after").first.wait_for(state="attached", timeout=PATIENCE_MS)
    notebook.screenshot(explorer, f"simulation-explorer-{theme}")
    assert not notebook.complaints


def test_jobs_are_named_by_click_and_by_key(chromium, lab: Server) -> None:
    notebook = open_notebook(chromium, lab, "explorer-named", [CELL])
    notebook.run(0)
    page = notebook.page
    root = notebook.panel("explorer")
    bars = root.locator("g.tw-row")
    named = bars.nth(2).get_attribute("data-job")
    bars.nth(2).locator("rect").last.click()
    root.get_by_text(f"{named}: submitted at").wait_for(timeout=PATIENCE_MS)
    assert notebook.kernel("explorer.job.value") == named
    # The others are grey; the named one is not.
    blue = [row.get_attribute("data-job") for row in root.locator("g.tw-row:has(rect[fill='#0072b2'])").all()]
    assert blue == [named]
    # Escape names nobody; arrows go from bar to bar, Enter names.
    bars.nth(0).focus()
    page.keyboard.press("Escape")
    page.wait_for_function(
        "root => !root.querySelector('.wb-said').textContent.includes('submitted at')",
        arg=root.element_handle(),
        timeout=PATIENCE_MS,
    )
    bars.nth(0).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    second = bars.nth(1).get_attribute("data-job")
    root.get_by_text(f"{second}: submitted at").wait_for(timeout=PATIENCE_MS)
    assert page.evaluate("document.activeElement.dataset.job") == second, "the focus stays on the bar"
    notebook.screenshot(root, "simulation-explorer-named")
    assert not notebook.complaints


def test_a_crosshair_goes_through_all_charts_and_a_click_shows_who_waits(chromium, lab: Server) -> None:
    notebook = open_notebook(chromium, lab, "explorer-crosshair", [CELL])
    notebook.run(0)
    page = notebook.page
    root = notebook.panel("explorer")
    chart = root.locator("[data-chart=waiting] svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.4)
    crosses = root.locator(".tw-crosshair")
    assert crosses.count() == root.locator("svg[data-time]").count() >= 4
    text = root.locator("[data-chart=usage] .tw-crosshair text").text_content()
    assert " h · volcano" in text and "spread: " in text
    # By keys, too: the arrow moves it, Enter shows the cluster then.
    chart.focus()
    page.keyboard.press("Home")
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    before = text
    text = root.locator("[data-chart=usage] .tw-crosshair text").text_content()
    assert text != before
    page.keyboard.press("Enter")
    hours = float(text.split(" h")[0])
    notebook.settle(root)
    assert abs(notebook.kernel("explorer.at.value") - hours) < notebook.kernel("explorer.at.max") / 200
    assert notebook.kernel("explorer.job.value") != ""
    assert root.locator(".wb-waiting li button").count() >= 1
    assert not notebook.complaints
