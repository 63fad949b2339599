"""The topology editor in JupyterLab, by mouse and keyboard; what is drawn is read back from the kernel."""

from __future__ import annotations

import pytest

from tests.browser.lab import Notebook, Server, open_notebook

pytestmark = pytest.mark.browser

EMPTY = """
from workbench.widgets.editor import TopologyEditor
editor = TopologyEditor()
editor
"""


def names(notebook: Notebook) -> list[str]:
    return notebook.kernel("sorted(item.name for item in editor.draft)")


def where(panel, name):
    found = panel.evaluate("(root, name) => root.whereIs(name)", name)
    assert found is not None, f"{name} is not drawn"
    return found


def click(panel, name):
    at = where(panel, name)
    panel.page.mouse.click(at["x"], at["y"])


def drag(panel, name, onto):
    start, end = where(panel, name), where(panel, onto)
    mouse = panel.page.mouse
    mouse.move(start["x"], start["y"])
    mouse.down()
    mouse.move((start["x"] + end["x"]) / 2, (start["y"] + end["y"]) / 2, steps=4)
    mouse.move(end["x"], end["y"] + 4, steps=4)
    mouse.up()


def test_a_tree_is_drawn_from_nothing_by_mouse_and_keyboard(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "editor", [EMPTY])
    notebook.run(0)
    panel = notebook.panel("editor")
    page = notebook.page
    canvas = panel.locator(".wb-canvas")

    palette = panel.get_by_role("button", name="+ switch")
    box, target = palette.bounding_box(), canvas.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(target["x"] + 300, target["y"] + 200, steps=5)
    page.mouse.up()
    notebook.settle(panel)
    assert names(notebook) == ["s0"]

    canvas.focus()
    for key in ("s", "s", "n", "n"):
        page.keyboard.press(key)
        notebook.settle(panel)
        page.keyboard.press("ArrowUp") if key == "n" else None
        notebook.settle(panel)
    assert names(notebook) == ["node-0", "node-1", "s0", "s1", "s2"]
    tiers = "{i.name: i.tier for i in editor.draft if i.kind == 'switch'}"
    assert notebook.kernel(tiers) == {"s0": 3, "s1": 2, "s2": 1}

    click(panel, "s0")
    notebook.settle(panel)
    panel.get_by_label("switches").fill("2")
    panel.get_by_label("nodes of each").fill("3")
    panel.get_by_role("button", name="Add", exact=True).click()
    notebook.settle(panel)
    assert len(names(notebook)) == 5 + 2 + 6

    drag(panel, "node-0", "leaf-1")
    notebook.settle(panel)
    assert notebook.kernel("editor.draft[editor.draft.find('node', 'node-0').parent].name") == "leaf-1"
    notebook.screenshot(panel, "editor-small")

    drawn = notebook.kernel("[i.to_dict() for i in editor.draft]")
    canvas.focus()
    for _ in range(20):
        page.keyboard.press("Control+z")
    notebook.settle(panel)
    assert names(notebook) == []
    for _ in range(20):
        page.keyboard.press("Control+Shift+Z")
    notebook.settle(panel)
    assert notebook.kernel("[i.to_dict() for i in editor.draft]") == drawn
    assert notebook.page.locator(".jp-Cell").count() == 1, "a key reached the notebook"
    assert notebook.outside == [] and notebook.complaints == []
