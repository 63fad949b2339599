"""A first visit: draw from nothing, give a matrix, enter a job and read why it is pending, without reading a manual."""

from __future__ import annotations

import re

import pytest

from tests.browser.gestures import show_part, where
from tests.browser.lab import PATIENCE_MS, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = """
from workbench.widgets.workbench import Workbench
bench = Workbench()
bench
"""

PRINTOUT = """\
\tGPU0\tGPU1\tGPU2\tGPU3
GPU0\t X \tNV2\tSYS\tSYS
GPU1\tNV2\t X \tSYS\tSYS
GPU2\tSYS\tSYS\t X \tNV2
GPU3\tSYS\tSYS\tNV2\t X
"""

PARENTS = "{i.name: bench.editor.draft[i.parent].name if i.parent else '' for i in bench.editor.draft if i.tier}"


def test_three_tiers_a_matrix_and_a_pending_job(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "newcomer", [CELL])
    page = notebook.page
    page.set_viewport_size({"width": 1500, "height": 2600})
    notebook.run(0)
    editor, comparer = notebook.panel("editor"), notebook.panel("comparer")
    status = comparer.locator("output").first
    status.get_by_text("no node yet: draw a topology or load one").wait_for(timeout=PATIENCE_MS)

    # Twice two leaves: "Add" selects what it added, and adds beside what is selected, never under a leaf.
    add = editor.get_by_role("button", name="Add", exact=True)
    for label, number in (("leaves", "2"), ("nodes of each", "2"), ("GPUs of each node", "4")):
        editor.get_by_label(label).fill(number)
    add.click()
    editor.get_by_text("2 HyperNodes, 4 nodes").wait_for(timeout=PATIENCE_MS)
    add.click()
    editor.get_by_text("4 HyperNodes, 8 nodes").wait_for(timeout=PATIENCE_MS)
    notebook.settle(editor)
    assert notebook.kernel("[item.name for item in bench.editor.selected]") == ["leaf-2", "leaf-3"]
    assert notebook.kernel(PARENTS) == {"leaf-0": "", "leaf-1": "", "leaf-2": "", "leaf-3": ""}

    # A group is selected once it is made, so two groups on each other are two tiers.
    editor.locator(".wb-canvas").focus()
    page.keyboard.press("Escape")
    box(editor, "leaf-0", "leaf-1")
    editor.locator(".wb-inspector h4").get_by_text("2 switches").wait_for(timeout=PATIENCE_MS)
    notebook.settle(editor)
    page.keyboard.press("g")
    notebook.settle(editor)
    page.keyboard.press("g")
    notebook.settle(editor)
    assert notebook.kernel("{i.name: i.tier for i in bench.editor.draft if i.tier > 1}") == {"s0": 2, "s1": 3}
    assert notebook.kernel(PARENTS) == {
        "leaf-0": "s0",
        "leaf-1": "s0",
        "leaf-2": "",
        "leaf-3": "",
        "s0": "s1",
        "s1": "",
    }
    status.get_by_text("no job yet: “Jobs …” adds one").wait_for(timeout=PATIENCE_MS)

    # What "Assign" did, and why it did not, stands beside the button.
    show_part(page, "GPU bandwidth")
    matrices = notebook.panel("matrix")
    matrices.get_by_label("printout", exact=True).fill(PRINTOUT)
    matrices.get_by_role("button", name="Load text").click()
    matrices.get_by_text("4 GPUs from pasted text").wait_for(timeout=PATIENCE_MS)
    button = matrices.get_by_role("button", name="Assign")
    for names, said in (
        ("all", "no node and no switch has this name (found 'all'"),
        ("node-.*", "assigned to 8 nodes"),
    ):
        matrices.get_by_label("nodes", exact=True).fill(names)
        button.click()
        answer = matrices.get_by_text(said)
        answer.wait_for(timeout=PATIENCE_MS)
        assert abs(answer.bounding_box()["y"] - button.bounding_box()["y"]) < 60

    # Only a hard job has a highest tier.
    comparer.get_by_role("button", name="Jobs …").click()
    tier = comparer.get_by_label("highest tier", exact=True)
    assert tier.is_disabled()
    comparer.get_by_label("network topology").select_option("hard")
    assert tier.is_enabled()
    comparer.get_by_label("GPUs each", exact=True).fill("4")
    comparer.get_by_role("button", name="Add job").click()
    pending = comparer.locator(".wb-pending").first
    pending.wait_for(timeout=PATIENCE_MS)
    assert status.inner_text().startswith("1 job, ")
    pending.click()
    why = comparer.locator(".wb-detail")
    why.locator(".wb-fix").wait_for(timeout=PATIENCE_MS)
    told = why.evaluate("(detail) => detail.textContent")
    assert re.search(r"default/job-1.* is pending \(volcano-1.15\)", told)
    notebook.screenshot(comparer, "newcomer-pending")
    assert notebook.outside == [] and notebook.complaints == []


def test_the_wheel_scrolls_the_page_until_the_drawing_is_clicked(chromium, lab: Server):
    cell = "from workbench.widgets.editor import TopologyEditor\neditor = TopologyEditor()\neditor"
    notebook = open_notebook(chromium, lab, "newcomer-wheel", [cell])
    notebook.run(0)
    editor, page = notebook.panel("editor"), notebook.page
    editor.get_by_label("leaves").fill("4")
    editor.get_by_label("nodes of each").fill("2")
    editor.get_by_role("button", name="Add", exact=True).click()
    editor.get_by_text("4 HyperNodes, 8 nodes").wait_for(timeout=PATIENCE_MS)
    size = "(root) => root.whereIs('leaf-0').width"
    before, at = editor.evaluate(size), where(editor, "leaf-0")
    page.mouse.move(at["x"], at["y"])
    page.mouse.wheel(0, 120)
    page.wait_for_timeout(500)
    assert editor.evaluate(size) == before
    page.mouse.click(at["x"], at["y"] - 60)
    page.mouse.wheel(0, 120)
    page.wait_for_function(
        "([root, size]) => root.whereIs('leaf-0').width < size", arg=[editor.element_handle(), before]
    )
    assert notebook.complaints == []


def box(panel, first: str, last: str) -> None:
    """Draw a box around two items that stand side by side."""
    start, end = where(panel, first), where(panel, last)
    mouse, keys = panel.page.mouse, panel.page.keyboard
    keys.down("Shift")
    mouse.move(start["x"] - 50, start["y"] - 35)
    mouse.down()
    mouse.move(end["x"], end["y"], steps=3)
    mouse.move(end["x"] + 50, end["y"] + 45, steps=3)
    mouse.up()
    keys.up("Shift")
