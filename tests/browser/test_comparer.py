"""The placement comparer in JupyterLab: what the page says is what the policies decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.lab import PATIENCE_MS, ROOT, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = f"""
import workbench
from workbench.widgets.comparer import PlacementComparer
comparer = PlacementComparer(workbench.load({str(ROOT / "datasets" / "demo")!r}))
comparer
"""

OWN_POLICY = """
@workbench.policy("last-nodes")
def last_nodes(gang, ledger):
    return None if len(ledger.topology.node_names) < gang.n_pods else list(ledger.topology.node_names[-gang.n_pods:])
"""


LARGE = """
from workbench.topology.generate import Fabric
from workbench.topology.job_shape import JobShape, scenario_of
fabric = Fabric({sizes})
scenario = scenario_of(fabric, [JobShape("train", fabric.n_nodes // 4, mode="soft")])
PlacementComparer(scenario, ["gang", "spread", "binpack"])
"""


def results(panel, at_least):
    panel.page.wait_for_function(
        "([root, n]) => Number(root.dataset.results ?? 0) >= n && root.dataset.running === '0'",
        arg=[panel.element_handle(), at_least],
        timeout=PATIENCE_MS,
    )


def test_three_policies_a_reason_and_a_policy_from_a_cell(chromium, lab: Server):
    large = [LARGE.format(sizes=sizes) for sizes in ((10, 10, 10), (25, 20, 40))]
    notebook = open_notebook(chromium, lab, "comparer", [CELL, OWN_POLICY, *large])
    notebook.run(0)
    panel = notebook.panel("comparer")
    results(panel, 1)
    assert panel.locator(".wb-picture svg.tw-topology").count() == 3
    notebook.screenshot(panel, "comparer-demo")

    panel.get_by_role("button", name="Jobs …").click()
    panel.get_by_label("name", exact=True).fill("too-big-1")
    panel.get_by_label("network topology").select_option("hard")
    panel.get_by_role("button", name="Add job").click()
    results(panel, 2)
    assert "too-big-1" in panel.locator(".wb-job-text").inner_text()

    pending = panel.locator("td.wb-pending").first
    why = pending.inner_text()
    # What would help may be there already, or not yet.
    assert any(words in why for words in ("holds", "has room for", "Insufficient")), why
    pending.click()
    notebook.settle(panel)
    assert panel.locator(".wb-detail").is_visible()
    notebook.screenshot(panel, "comparer-explained")

    notebook.run(1)
    more = panel.get_by_label("add a policy")
    panel.page.wait_for_function(
        "select => [...select.options].some(o => o.value === 'last-nodes')",
        arg=more.element_handle(),
        timeout=PATIENCE_MS,
    )
    before = int(panel.get_attribute("data-results"))
    more.select_option("last-nodes")
    results(panel, before + 1)
    assert notebook.kernel("[row.policy for row in comparer.comparison.rows][-1]").startswith("last-nodes")
    assert panel.locator(".wb-picture").count() == 4

    # Three pictures beside each other can still be seen at 1,000 and at 20,000 nodes.
    for nth in (1, 2):
        notebook.run(1 + nth)
        panel = notebook.panel("comparer", nth)
        results(panel, 1)
        for picture in panel.locator("svg.tw-topology").all():
            box = picture.bounding_box()
            assert box["width"] >= 400 and 0.5 <= box["width"] / box["height"] <= 3
        sizes = (
            "all => all.map(e => e.querySelector('rect').getBoundingClientRect()).map(b => Math.min(b.width, b.height))"
        )
        assert min(panel.locator("[data-cell]").evaluate_all(sizes)) >= 4
    assert notebook.outside == [] and notebook.complaints == []


OWN = """
import workbench
@workbench.policy("mine")
def mine(gang, ledger):
    {body}
"""


def shows(panel, text):
    panel.page.wait_for_function(
        "([root, text]) => root.dataset.running === '0' && root.querySelector('.wb-pictures').innerText.includes(text)",
        arg=[panel.element_handle(), text],
        timeout=PATIENCE_MS,
    )


def test_an_exception_is_shown_a_step_and_a_link_and_nothing_survives_a_restart(chromium, lab: Server):
    raises = OWN.format(body="raise LookupError('no idea')")
    mended = OWN.format(body="return 'not today'")
    notebook = open_notebook(chromium, lab, "comparer-own", [CELL, raises, mended], "dark")
    notebook.run(0)
    panel, page = notebook.panel("comparer"), notebook.page
    results(panel, 1)

    # One slider goes through the decisions of all pictures.
    picture = panel.locator(".wb-picture").first
    drawings = panel.locator(".wb-picture svg.tw-topology")
    full = drawings.evaluate_all("all => all.map(e => e.innerHTML)")
    slider = panel.get_by_role("slider")
    assert slider.count() == 1
    slider.fill("0")
    notebook.settle(panel)
    assert "before any decision" in panel.inner_text()
    empty = drawings.evaluate_all("all => all.map(e => e.innerHTML)")
    slider.press("ArrowRight")
    notebook.settle(panel)
    assert "1 of 4: " in panel.inner_text()
    one = drawings.evaluate_all("all => all.map(e => e.innerHTML)")
    assert len(full) == 3 and all(len({*states}) == 3 for states in zip(full, empty, one, strict=True))

    # A job is followed through every picture, and a node likewise.
    panel.locator("tr[data-job='0'] th").hover()
    assert panel.locator(".wb-faded").count() > 0
    picture.locator("[data-cell]").first.hover()
    assert panel.locator(".wb-same").count() == 3

    # A policy that raises says so with its traceback; the others stay, and running the cell again replaces it.
    notebook.run(1)
    more = panel.get_by_label("add a policy")
    page.wait_for_function(
        "select => [...select.options].some(o => o.value === 'mine')", arg=more.element_handle(), timeout=PATIENCE_MS
    )
    more.select_option("mine")
    shows(panel, "no idea")
    failed = panel.locator(".wb-picture").last
    assert "raise LookupError" in (failed.locator("pre").text_content() or "")
    assert panel.locator(".wb-picture svg.tw-topology").count() == 3
    notebook.screenshot(panel, "comparer-exception")
    before = int(panel.get_attribute("data-results"))
    notebook.run(2)
    results(panel, before + 1)
    assert "not today" in panel.locator("td.wb-pending").last.inner_text()
    assert panel.locator(".wb-picture svg.tw-topology").count() == 4

    # After a restart the same cell makes one widget that answers, and nothing is left of the old one.
    notebook.restart()
    notebook.run(0)
    page.wait_for_function("() => document.querySelectorAll('.wb-comparer').length === 1", timeout=PATIENCE_MS)
    panel = notebook.panel("comparer")
    results(panel, 1)
    assert panel.locator(".wb-picture").count() == 3
    assert "mine" not in panel.get_by_label("add a policy").inner_text()
    assert notebook.outside == [] and notebook.complaints == []


SLOW = """
import time
@workbench.policy("slow")
def slow(gang, ledger):
    while True:
        time.sleep(0.01)
"""


def saved_by(panel, button, count):
    """What a button saves: the bytes by file name."""
    came = []

    def keep(one):
        came.append(one)

    panel.page.on("download", keep)
    panel.get_by_role("button", name=button, exact=True).click()
    for _ in range(PATIENCE_MS // 100):
        if len(came) >= count:
            break
        panel.page.wait_for_timeout(100)
    panel.page.remove_listener("download", keep)
    return {one.suggested_filename: Path(one.path()).read_bytes() for one in came}


#: A metric of a cell; the page has never heard of it.
METRIC = """
@workbench.metric("widest_ring", "widest ring link", unit="tiers", better="lower", total="max")
def widest_ring(job):
    return int(job.ring_levels.max()) + 1
comparer.run()
"""


def test_the_page_shows_whatever_metrics_it_is_sent(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "comparer-metrics", [CELL, METRIC])
    notebook.run(0)
    panel = notebook.panel("comparer")
    results(panel, 1)
    assert panel.locator("tr.wb-metric th").all_inner_texts() == ["placed", "pods", "bottleneck GB/s", "GPUs stranded"]
    notebook.run(1)
    results(panel, 2)
    line = panel.locator("tr.wb-metric", has_text="widest ring link tiers")
    widest, pods = (
        notebook.kernel(f"[row.metrics[{key!r}] for row in comparer.comparison.rows]")
        for key in ("widest_ring", "pods_placed")
    )
    assert line.locator("td").all_inner_texts()[1:] == [str(value) for value in widest]
    # The best of different values is bold, in the lines of metrics and in the cells of jobs; whoever leaves pods out
    # does not compete.
    compete = [value for value, n in zip(widest, pods, strict=True) if n == max(pods)]
    assert len(set(compete)) == 2 and line.locator("b").all_inner_texts() == [str(min(compete))]
    cell = panel.locator("td.wb-placed").first
    assert "widest ring link" in cell.inner_text() and "bottleneck" in cell.inner_text()
    assert panel.locator("td.wb-placed b").count() > 0
    assert notebook.outside == [] and notebook.complaints == []


def test_links_charts_exports_errors_parameters_and_a_run_that_is_cancelled(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "comparer-parts", [CELL, SLOW], "dark")
    notebook.run(0)
    panel, page = notebook.panel("comparer"), notebook.page
    results(panel, 1)

    # A job that is clicked in one picture stays marked in all of them and in the table, until it is clicked again.
    cell = panel.locator(".wb-picture").first.locator("[data-cell='node0']")
    cell.click()
    page.mouse.move(5, 5)
    job = panel.locator("tr.wb-linked").get_attribute("data-job")
    clear = panel.locator("[data-cell]:not(.wb-faded)")
    assert all(job in (jobs or "").split() for jobs in clear.evaluate_all("all => all.map(e => e.dataset.jobs)"))
    pictures = clear.evaluate_all("all => new Set(all.map(e => e.closest('.wb-picture'))).size")
    assert pictures == 3 and panel.locator(".wb-faded").count() > 0
    cell.click()
    page.mouse.move(5, 5)
    assert panel.locator(".wb-faded").count() == panel.locator("tr.wb-linked").count() == 0
    charts = panel.locator(".wb-columns svg, .wb-columns .tw-chart").all_inner_texts()
    assert len(charts) >= 2

    # Everything can be taken away as a file.
    assert saved_by(panel, "Report", 1)["comparison.html"].startswith(b"<!DOCTYPE html>")
    rows = saved_by(panel, "CSV", 1)["comparison.csv"].splitlines()
    assert len(rows) == 1 + 3 * len(notebook.kernel("[gang.key for gang in comparer.gangs]"))
    for kind, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        ((name, content),) = saved_by(panel, kind, 1).items()
        assert name == f"comparison.{kind.lower()}" and content.startswith(begins)

    # A field of the wrong type is marked at its line; the jobs from before stay.
    panel.get_by_role("button", name="Jobs …").click()
    panel.get_by_label("name", exact=True).fill("mine-1")
    panel.get_by_role("button", name="Add job").click()
    results(panel, 2)
    text = panel.locator(".wb-job-text .cm-content")
    text.get_by_text("minAvailable").click()
    page.keyboard.press("End")
    page.keyboard.type("x")
    panel.locator(".cm-lint-marker-error").wait_for(timeout=PATIENCE_MS)
    assert "minAvailable" in panel.locator(".wb-message").first.inner_text()
    assert "default/mine-1" in notebook.kernel("[gang.key for gang in comparer.gangs]")
    page.keyboard.press("Backspace")
    panel.locator(".cm-lint-marker-error").wait_for(state="hidden", timeout=PATIENCE_MS)
    results(panel, 3)

    # A parameter is set in place, and the form stays open for the next.
    policy = panel.locator("details.wb-policy").first
    policy.locator("summary").click()
    weight = policy.get_by_label("binpack_weight")
    weight.fill("5")
    weight.press("Enter")
    results(panel, 4)
    assert notebook.kernel("comparer.comparison.rows[0].parameters['binpack_weight']") == 5
    assert policy.get_by_label("binpack_weight").input_value() == "5"
    assert policy.get_by_label("binpack_resources", exact=True).get_attribute("placeholder") != "[object Object]"
    notebook.screenshot(panel, "comparer-parameters")
    policy.locator("summary").click()

    # A run that takes long says how far it is, leaves the kernel free, and can be given up.
    notebook.run(1)
    more = panel.get_by_label("add a policy")
    offered = "select => [...select.options].some(o => o.value === 'slow')"
    page.wait_for_function(offered, arg=more.element_handle(), timeout=PATIENCE_MS)
    more.select_option("slow")
    page.wait_for_function(
        "bar => !bar.hidden && bar.value === 3 && bar.max === 4",
        arg=panel.get_by_label("progress").element_handle(),
        timeout=PATIENCE_MS,
    )
    assert notebook.kernel("1 + 1") == 2
    panel.get_by_role("button", name="Cancel").click()
    panel.get_by_label("progress").wait_for(state="hidden", timeout=PATIENCE_MS)
    assert panel.get_attribute("data-running") == "0"
    assert len(notebook.kernel("[row.policy for row in comparer.comparison.rows]")) == 3
    assert notebook.outside == [] and notebook.complaints == []
