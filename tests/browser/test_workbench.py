"""Tests of the three widgets side by side: a change in one is seen in the next."""

from __future__ import annotations

import pytest

from tests.browser.gestures import click, show_part
from tests.browser.lab import PATIENCE_MS, ROOT, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = f"""
from workbench.widgets.workbench import Workbench
bench = Workbench({str(ROOT / "datasets" / "demo")!r})
bench
"""


def compared_again(panel, before):
    """Wait until more than `before` comparisons were shown and none runs; returns how many.

    The panel is looked up at every turn, because JupyterLab may build the output of a cell twice.
    """
    for _ in range(PATIENCE_MS // 100):
        shown, running = panel.evaluate("root => [Number(root.dataset.results ?? 0), root.dataset.running]")
        if shown > before and running == "0":
            return shown
        panel.page.wait_for_timeout(100)
    raise AssertionError(f"no comparison after the first {before} within {PATIENCE_MS} ms")


def test_a_matrix_goes_to_what_is_selected_and_an_edit_is_placed_on(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "workbench-parts", [CELL])
    notebook.page.set_viewport_size({"width": 1500, "height": 2600})
    notebook.run(0)
    editor, comparer = notebook.panel("editor"), notebook.panel("comparer")
    results = compared_again(comparer, 0)

    show_part(notebook.page, "GPU bandwidth")
    matrices = notebook.panel("matrix")
    with notebook.page.expect_file_chooser() as chooser:
        matrices.get_by_role("button", name="Open file …").click()
    chooser.value.set_files(ROOT / "datasets" / "koordinator-matrices" / "matrix-b.txt")
    matrices.locator(".wb-notes").get_by_text("matrix-b.txt").wait_for(timeout=PATIENCE_MS)
    show_part(notebook.page, "Topology")
    click(editor, "s4")
    editor.locator(".wb-inspector h4").get_by_text("switch").wait_for(timeout=PATIENCE_MS)
    notebook.settle(editor)
    show_part(notebook.page, "GPU bandwidth")
    matrices.get_by_role("button", name="Assign").click()
    note = "assigned to 4 nodes: node0, node1, node2, node3"
    matrices.locator(".wb-message").get_by_text(note).wait_for(timeout=PATIENCE_MS)
    results = compared_again(comparer, results)
    have = "[bench.snapshot.matrix_of(i) == bench.matrices.matrix for i in range(8)]"
    assert notebook.kernel(have) == [True] * 4 + [False] * 4

    # What fails in the drawing takes no pod, and undoing it gives the placements of before.
    placed = comparer.locator("table").inner_text()
    show_part(notebook.page, "Topology")
    editor.locator(".wb-canvas").focus()
    notebook.page.keyboard.press("x")
    results = compared_again(comparer, results)
    decisions = "(d.result for row in bench.comparer.comparison.rows for d in row.decisions)"
    used = notebook.kernel(f"sorted({{int(n) for result in {decisions} for n in getattr(result, 'node', ())}})")
    assert set(used) - {-1} == {4, 5, 6, 7}
    assert comparer.locator("table").inner_text() != placed
    notebook.page.keyboard.press("Control+z")
    compared_again(comparer, results)
    assert comparer.locator("table").inner_text() == placed
    notebook.screenshot(comparer, "workbench-comparer")

    # Kept as a file by the page, and shown again from it after everything was deleted.
    bar = notebook.panel("scenario")
    with notebook.page.expect_download() as saved:
        bar.get_by_role("button", name="Save scenario").click()
    editor.locator(".wb-canvas").focus()
    notebook.page.keyboard.press("Control+a")
    notebook.page.keyboard.press("Delete")
    notebook.settle(editor)
    assert notebook.kernel("len(bench.editor.draft)") == 0
    with notebook.page.expect_file_chooser() as chooser:
        bar.get_by_role("button", name="Open …").click()
    chooser.value.set_files(saved.value.path())
    bar.locator(".wb-message").get_by_text("is shown").wait_for(timeout=PATIENCE_MS)
    comparer = notebook.panel("comparer")
    compared_again(comparer, 0)
    assert comparer.locator("table").inner_text() == placed
    assert [notebook.page.locator(f".wb-{name}").count() for name in ("editor", "matrix", "comparer")] == [1, 1, 1]
    assert notebook.outside == [] and notebook.complaints == []


def test_nodes_without_gpus_are_given_some_by_a_button_and_by_undo_none(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "workbench-gpus", [CELL])
    notebook.page.set_viewport_size({"width": 1500, "height": 2600})
    notebook.run(0)
    editor, comparer = notebook.panel("editor"), notebook.panel("comparer")
    results = compared_again(comparer, 0)
    question = editor.get_by_role("group", name="nodes without GPUs")
    assert not question.is_visible()

    with notebook.page.expect_file_chooser() as chooser:
        editor.get_by_role("button", name="Import …").click()
    chooser.value.set_files(ROOT / "datasets" / "one-fabric" / "topology.conf")
    question.get_by_text("Jobs ask for GPUs, and 12 nodes have none.").wait_for(timeout=PATIENCE_MS)
    results = compared_again(comparer, results)
    notebook.screenshot(editor, "editor-no-gpus")
    placed = "sum(row.metrics['pods_placed'] for row in bench.comparer.comparison.rows)"
    assert notebook.kernel(placed) == 0

    question.get_by_label("GPUs to set").fill("4")
    question.get_by_role("button", name="Set").click()
    results = compared_again(comparer, results)
    assert not question.is_visible()
    gpus = "sorted({item.gpus for item in bench.editor.draft if item.kind == 'node'})"
    assert notebook.kernel(gpus) == [4] and notebook.kernel(placed) > 0
    editor.locator(".wb-canvas").focus()
    notebook.page.keyboard.press("Control+z")
    results = compared_again(comparer, results)
    assert notebook.kernel(gpus) == [0]

    # Asked again when the jobs are others, and told to leave them.
    comparer.get_by_role("button", name="Jobs …").click()
    comparer.get_by_label("name", exact=True).fill("more-1")
    comparer.get_by_role("button", name="Add job").click()
    question.wait_for(timeout=PATIENCE_MS)
    question.get_by_role("button", name="Leave them").click()
    assert not question.is_visible() and notebook.kernel(gpus) == [0]
    assert notebook.outside == [] and notebook.complaints == []
