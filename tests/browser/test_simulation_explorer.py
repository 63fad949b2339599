"""The simulation explorer in JupyterLab: a handle of the slider and a typed name change every chart."""

from __future__ import annotations

import pytest

from tests.browser.lab import PATIENCE_MS, ROOT, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = f"""
import os
import workbench
from workbench.formats.job_logs import read_job_log
from workbench.simulate import SimulatedJob, Simulation

os.chdir({str(ROOT)!r})
cluster = workbench.load("datasets/job-log/cluster.yaml").snapshot
log = read_job_log("datasets/job-log/jobs.csv")
jobs = [SimulatedJob(job.gang, job.submitted_s, job.duration_s) for job in log.jobs]
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
