"""Why a job is pending, and fixes that are tried by a click, in JupyterLab."""

from __future__ import annotations

import pytest

from tests.browser.lab import PATIENCE_MS, ROOT, Server, open_notebook
from tests.browser.test_workbench import compared_again

pytestmark = pytest.mark.browser

CELL = f"""
import workbench
from workbench.widgets.workbench import Workbench
bench = Workbench(workbench.load({str(ROOT / "datasets" / "three-level-tree")!r}).snapshot, ["volcano"])
bench
"""

WIDE = """
text = bench.comparer._form({"name": "wide", "pods": 4, "gpus": 8, "cpu": 8, "mode": "hard", "tier": 1})["text"]
_ = bench.comparer.take_jobs(text)
bench.comparer.wait()
"""


def test_a_fix_is_tried_and_undone_and_why_stays_open(chromium, lab: Server, tmp_path):
    notebook = open_notebook(chromium, lab, "fixes", [CELL, WIDE])
    notebook.page.set_viewport_size({"width": 1366, "height": 2000})
    notebook.run(0)
    panel = notebook.panel("comparer")
    notebook.run(1)
    shown = compared_again(panel, 0)
    pending = panel.locator("td.wb-pending").first
    notebook.screenshot(panel, "fix-pending")
    pending.get_by_text("never as it is written").wait_for(timeout=PATIENCE_MS)
    pending.click()
    fixes = panel.get_by_role("list", name="fixes")
    fixes.wait_for(timeout=PATIENCE_MS)
    assert "would help: allow tier 2" in panel.locator(".wb-fix").inner_text()
    notebook.screenshot(panel, "fix-why")

    fixes.get_by_role("button", name="apply: allow tier 2").first.click()
    shown = compared_again(panel, shown)
    detail = panel.locator(".wb-detail")
    detail.get_by_text("done: apply allow tier 2").wait_for(timeout=PATIENCE_MS)
    detail.get_by_text("is placed").wait_for(timeout=PATIENCE_MS)
    assert "highestTierAllowed: 2" in notebook.kernel("bench.comparer.text")
    notebook.screenshot(panel, "fix-applied")

    detail.get_by_role("button", name="Undo").click()
    shown = compared_again(panel, shown)
    fixes.wait_for(timeout=PATIENCE_MS)
    assert "highestTierAllowed: 1" in notebook.kernel("bench.comparer.text")

    # A file without jobs is refused by its name, and an error in the text greys what was compared before it.
    panel.get_by_role("button", name="Jobs …").click()
    picture = tmp_path / "picture.yaml"
    picture.write_bytes(bytes(range(256)) * 4)
    with notebook.page.expect_file_chooser() as chooser:
        panel.get_by_role("button", name="Open file …").click()
    chooser.value.set_files(picture)
    panel.locator(".wb-message").get_by_text("picture.yaml").wait_for(timeout=PATIENCE_MS)
    assert notebook.kernel("bench.comparer.text.count('kind:')") == 1
    assert panel.locator(".wb-outdated").count() == 0
    editor = panel.locator(".wb-job-text .cm-content")
    editor.click()
    notebook.page.keyboard.press("Control+Home")
    notebook.page.keyboard.type("no: [")
    panel.locator(".wb-results.wb-outdated").wait_for(timeout=PATIENCE_MS)
    notebook.screenshot(panel, "fix-outdated")
    notebook.page.keyboard.press("Control+z")
    panel.locator(".wb-results:not(.wb-outdated)").wait_for(timeout=PATIENCE_MS)
    fixes.wait_for(timeout=PATIENCE_MS)
    assert panel.locator(".wb-message").is_hidden()
    assert notebook.outside == [] and notebook.complaints == []


def test_opening_a_file_is_undone_in_the_drawing(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "open-undone", [CELL, WIDE])
    notebook.run(0)
    panel, bar = notebook.panel("comparer"), notebook.panel("scenario")
    notebook.run(1)
    compared_again(panel, 0)
    with notebook.page.expect_file_chooser() as chooser:
        bar.get_by_role("button", name="Open …").click()
    chooser.value.set_files(ROOT / "datasets" / "demo" / "cluster.yaml")
    bar.locator(".wb-message").get_by_text("cluster.yaml is shown").wait_for(timeout=PATIENCE_MS)
    editor = notebook.panel("editor")
    undo = editor.get_by_role("button", name="Undo")
    assert notebook.kernel("[name for name, _ in bench.comparer.policies]") == ["volcano"]
    undo.click()
    panel = notebook.panel("comparer")
    panel.locator("td.wb-pending").first.wait_for(timeout=PATIENCE_MS)
    assert notebook.kernel("[gang.key for gang in bench.comparer.gangs]") == ["default/wide"]
    assert notebook.outside == [] and notebook.complaints == []
