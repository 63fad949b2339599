"""The arrangement of the workbench in JupyterLab, in a wide and in a narrow window, by mouse and keyboard."""

from __future__ import annotations

import pytest

from tests.browser.gestures import show_part
from tests.browser.lab import PATIENCE_MS, ROOT, Notebook, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = f"""
from workbench.widgets.workbench import Workbench
bench = Workbench({str(ROOT / "datasets" / "demo")!r}, ["gang"])
bench
"""


@pytest.fixture
def bench(chromium, lab: Server, request) -> Notebook:
    width, theme = request.param
    notebook = open_notebook(chromium, lab, f"layout-{width}", [CELL], theme)
    notebook.page.set_viewport_size({"width": width, "height": 900})
    notebook.run(0)
    notebook.panel("editor")
    result(notebook).get_by_text("4 placed").wait_for(timeout=PATIENCE_MS)
    return notebook


def result(notebook: Notebook):
    return notebook.panel("scenario").get_by_label("result")


def picture_of(notebook: Notebook, name: str) -> None:
    notebook.page.screenshot(path=ROOT / "out" / "screenshots" / f"{name}.png")


@pytest.mark.parametrize("bench", [(1440, "light"), (1200, "dark")], indirect=True)
def test_a_wide_window_shows_placements_beside_the_drawing_or_the_matrix(bench):
    page = bench.page
    editor, comparer = bench.panel("editor"), bench.panel("comparer")
    left, right = editor.bounding_box(), comparer.bounding_box()
    assert left["x"] + left["width"] <= right["x"]
    assert abs(left["y"] - right["y"]) < 2
    assert abs(left["width"] - right["width"]) < 20
    tabs = page.locator(".wb-tabs").get_by_role("tab")
    assert [tab.inner_text() for tab in tabs.all() if tab.is_visible()] == ["Topology", "GPU bandwidth"]

    show_part(page, "GPU bandwidth")
    matrix = bench.panel("matrix").bounding_box()
    assert comparer.is_visible() and not editor.is_visible()
    assert matrix["x"] == left["x"]
    page.keyboard.press("ArrowLeft")
    editor.wait_for()
    assert comparer.is_visible() and page.get_by_role("tab", name="Topology", selected=True).is_visible()
    picture_of(bench, f"layout-{page.viewport_size['width']}")
    assert bench.outside == [] and bench.complaints == []


@pytest.mark.parametrize("bench", [(1000, "dark")], indirect=True)
def test_a_narrow_window_shows_one_part_and_keeps_the_result_in_sight(bench):
    page = bench.page
    editor, comparer = bench.panel("editor"), page.locator(".wb-comparer")
    assert not comparer.is_visible()
    page.get_by_role("tab", name="Topology").focus()
    page.keyboard.press("ArrowRight")
    bench.panel("matrix")
    page.keyboard.press("ArrowRight")
    comparer.wait_for()
    assert not editor.is_visible()
    picture_of(bench, "layout-1000")

    # Far down in the placements, the result still stands in the window.
    page.locator(".jp-WindowedPanel-outer").evaluate("scroller => scroller.scrollTo(0, 400)")
    page.wait_for_function("() => document.querySelector('.wb-comparer').getBoundingClientRect().top < 0")
    at = result(bench).bounding_box()
    assert 0 < at["y"] < 200
    hit = page.evaluate("({x, y}) => document.elementFromPoint(x + 5, y + 5).className", at)
    assert hit == "wb-result-line"
    picture_of(bench, "layout-1000-scrolled")

    # The line follows an edit whose placements are out of sight.
    show_part(page, "Topology")
    editor.locator(".wb-canvas").focus()
    for key in ("Control+a", "c"):
        page.keyboard.press(key)
        bench.settle(editor)
    result(bench).get_by_text("4 pending").wait_for(timeout=PATIENCE_MS)
    assert not comparer.is_visible()

    # In a wider window the drawing stands beside the placements, whichever of the two was chosen.
    show_part(page, "Placements")
    page.set_viewport_size({"width": 1440, "height": 900})
    editor.wait_for()
    assert comparer.is_visible()
    assert bench.outside == [] and bench.complaints == []


@pytest.mark.parametrize("bench", [(1000, "light"), (1440, "dark")], indirect=True)
def test_a_long_result_line_leaves_the_bar_one_line(bench):
    bar = bench.panel("scenario")
    text = "1 placed, 1 pending (volcano-1.15, volcano-1.13); 2 placed (gang, binpack, spread, allocate, random)"
    height = bar.bounding_box()["height"]
    bench.kernel(f"[bench._bar.show_result({text * 2!r}), 0][1]")
    line = result(bench)
    line.get_by_text(text).wait_for(timeout=PATIENCE_MS)
    assert bar.bounding_box()["height"] == height
    opened = bar.get_by_role("button", name="Open …").bounding_box()
    assert opened["x"] >= line.bounding_box()["x"] + line.bounding_box()["width"]
    assert line.bounding_box()["width"] > 150
