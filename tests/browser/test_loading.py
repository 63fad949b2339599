"""A file of 20,000 nodes: its progress is on the page from the beginning, and Cancel leaves what was shown."""

from __future__ import annotations

import pytest

from tests.browser.gestures import drop_text
from tests.browser.lab import PATIENCE_MS, Server, open_notebook
from workbench.formats.fabric.registry import get_format
from workbench.topology.generate import Fabric

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def text() -> str:
    return get_format("cluster").write(Fabric((20, 25, 40)).snapshot()).text


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (1000, "dark")])
def test_a_large_file_in_a_cell_tells_its_progress_and_can_be_cancelled(
    chromium, lab: Server, text, tmp_path, width, theme
):
    (tmp_path / "cluster.yaml").write_text(text)
    cell = f"""
from workbench.widgets.workbench import Workbench
bench = Workbench({str(tmp_path / "cluster.yaml")!r})
bench
"""
    notebook = open_notebook(chromium, lab, f"loading-{width}", [cell], theme)
    notebook.page.set_viewport_size({"width": width, "height": 900})
    notebook.run(0)
    bar = notebook.panel("scenario")
    bar.locator(".wb-loading").get_by_text("cluster.yaml: ").wait_for(timeout=PATIENCE_MS)
    notebook.screenshot(bar, f"loading-{width}-{theme}")
    bar.get_by_role("button", name="Cancel").press("Enter")
    bar.locator(".wb-message").get_by_text("cancelled; nothing was changed").wait_for(timeout=PATIENCE_MS)
    assert notebook.kernel("len(bench.editor.draft)") == 0

    # Read to its end, it is shown without another word of the user's.
    drop_text(bar, ".wb-tabs", "again.yaml", text)
    bar.locator(".wb-loading").get_by_text("reading again.yaml").wait_for(timeout=PATIENCE_MS)
    bar.locator(".wb-message").get_by_text("again.yaml is shown").wait_for(timeout=PATIENCE_MS)
    assert bar.locator(".wb-loading").is_hidden()
    notebook.panel("editor")
    assert notebook.kernel("sum(item.kind == 'node' for item in bench.editor.draft)") == 20_000

    # An import into the drawing, given up: not one item has changed.
    editor = notebook.panel("editor")
    before = notebook.kernel("bench.editor.history.revision")
    drop_text(editor, ".wb-canvas", "third.yaml", text.replace("node", "other"))
    line = editor.locator(".wb-loading").get_by_text("reading third.yaml")
    line.wait_for(timeout=PATIENCE_MS)
    legend = editor.locator(".wb-legend")
    for place in (editor.locator(".wb-bar").first, legend):
        place.scroll_into_view_if_needed()
        assert in_view(notebook, line.bounding_box()), "hidden where the page is scrolled to"
        assert not overlap(line.bounding_box(), legend.bounding_box())
    notebook.screenshot(editor, f"loading-editor-{width}-{theme}")
    editor.locator(".wb-loading").get_by_role("button", name="Cancel").click()
    editor.locator(".wb-message").get_by_text("cancelled; nothing was changed").wait_for(timeout=PATIENCE_MS)
    assert notebook.kernel("bench.editor.history.revision") == before
    assert notebook.outside == [] and notebook.complaints == []


def in_view(notebook, box) -> bool:
    size = notebook.page.viewport_size
    return box["y"] >= 0 and box["y"] + box["height"] <= size["height"] and box["x"] + box["width"] <= size["width"]


def overlap(a, b) -> bool:
    return (
        a["x"] < b["x"] + b["width"]
        and b["x"] < a["x"] + a["width"]
        and a["y"] < b["y"] + b["height"]
        and b["y"] < a["y"] + a["height"]
    )
