"""The editor at 8, 1,000 and 20,000 nodes, at 1,000 and 1,440 pixels, by keyboard only but for the dropped file."""

from __future__ import annotations

import pytest

from tests.browser.gestures import drop_text
from tests.browser.lab import PATIENCE_MS, ROOT, Notebook, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = """
from workbench.widgets.editor import TopologyEditor
editor = TopologyEditor()
editor
"""

#: The parameter `sizes` of the preset `balanced` by number of nodes, and the HyperNodes that it makes.
SIZES = {8: ("2,2,2", 7), 1_000: ("20,10,5", 56), 20_000: ("20,25,40", 1_041)}


def press(notebook: Notebook, panel, *keys: str) -> None:
    panel.locator(".wb-canvas").focus()
    for key in keys:
        notebook.page.keyboard.press(key)
        notebook.settle(panel)


def drawn(notebook: Notebook) -> int:
    return notebook.kernel("len(editor.draft)")


@pytest.mark.parametrize(
    ("nodes", "width", "theme"),
    [(8, 1000, "dark"), (1_000, 1440, "light"), (1_000, 1000, "dark"), (20_000, 1440, "dark"), (20_000, 1000, "light")],
)
def test_a_preset_is_drawn_selected_grouped_and_exported_by_keyboard(chromium, lab: Server, nodes, width, theme):
    notebook = open_notebook(chromium, lab, f"editor-{nodes}-{width}", [CELL], theme)
    page = notebook.page
    page.set_viewport_size({"width": width, "height": 900})
    notebook.run(0)
    panel = notebook.panel("editor")
    sizes, switches = SIZES[nodes]

    # Choose, see what it would make, one step.
    panel.get_by_role("button", name="Presets").press("Enter")
    panel.get_by_label("preset", exact=True).select_option("balanced")
    field = panel.locator(".wb-preset input[name=sizes]")
    field.fill("nonsense")
    draw = panel.get_by_role("button", name="Draw", exact=True)
    said = panel.get_by_label("what the preset makes")
    said.get_by_text("not a value of this parameter").wait_for(timeout=PATIENCE_MS)
    assert draw.is_disabled()
    field.fill(sizes)
    said.get_by_text(f"{switches:,} HyperNodes in 3 tiers, {nodes:,} nodes of 8 GPUs").wait_for(timeout=PATIENCE_MS)
    draw.press("Enter")
    notebook.settle(panel)
    page.wait_for_function("r => Number(r.dataset.drawn) > 0", arg=panel.element_handle(), timeout=PATIENCE_MS)
    assert drawn(notebook) == nodes + switches
    top = notebook.kernel("[item.name for item in editor.selected]")
    assert len(top) == 1
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    notebook.screenshot(panel, f"editor-preset-{nodes}-{width}-{theme}")

    # Everything is selected, however much is folded, and the form says so.
    press(notebook, panel, "Control+a")
    assert notebook.kernel("len(editor.selection)") == nodes + switches

    # What is selected becomes a group, is renamed, and every step is taken back and made again.
    press(notebook, panel, "Escape", "ArrowUp", "g")
    assert notebook.kernel("[item.tier for item in editor.selected]") == [4]
    press(notebook, panel, "F2")
    page.keyboard.type("fabric")
    page.keyboard.press("Enter")
    notebook.settle(panel)
    assert notebook.kernel("[item.name for item in editor.selected]") == ["fabric"]
    press(notebook, panel, "Control+z", "Control+z")
    assert drawn(notebook) == nodes + switches
    press(notebook, panel, "Control+z")
    assert drawn(notebook) == 0
    press(notebook, panel, "Control+Shift+Z", "Control+Shift+Z", "Control+Shift+Z")
    assert notebook.kernel("editor.draft.find('switch', 'fabric') is not None")

    # The Nodes are exported with their HyperNodes, and dropped again they make the same drawing.
    before = notebook.kernel(
        "[i.to_dict() | {'id': 0, 'parent': 0} for i in sorted(editor.draft, key=lambda i: i.name)]"
    )
    panel.get_by_label("format", exact=True).select_option("cluster")
    with page.expect_download(timeout=PATIENCE_MS) as download:
        panel.get_by_role("button", name="Export").press("Enter")
    text = download.value.path().read_text()
    assert text.count("kind: Node\n") == nodes
    press(notebook, panel, "Control+a", "Delete")
    assert drawn(notebook) == 0
    drop_text(panel, ".wb-canvas", "cluster.yaml", text)
    if nodes == 20_000:
        panel.locator(".wb-loading").get_by_text("reading cluster.yaml").wait_for(timeout=PATIENCE_MS)
    panel.locator(".wb-message").get_by_text("Ctrl+Z takes them back").wait_for(timeout=PATIENCE_MS)
    after = notebook.kernel(
        "[i.to_dict() | {'id': 0, 'parent': 0} for i in sorted(editor.draft, key=lambda i: i.name)]"
    )
    assert after == before
    assert notebook.outside == [] and notebook.complaints == []


DEMO = f"""
from workbench.widgets.editor import TopologyEditor
editor = TopologyEditor({str(ROOT / "datasets" / "three-level-tree" / "hypernodes.yaml")!r})
editor
"""


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (1000, "dark")])
def test_a_finding_with_one_remedy_is_mended_by_its_button(chromium, lab: Server, width, theme):
    notebook = open_notebook(chromium, lab, f"editor-fix-{width}", [DEMO], theme)
    notebook.page.set_viewport_size({"width": width, "height": 900})
    notebook.run(0)
    panel = notebook.panel("editor")
    notebook.kernel("editor.edit(op='set', ids=[editor.draft.find('switch', 's0').id], fields={'tier': 7})")
    button = panel.locator(".wb-findings").get_by_role("button", name="Fix", exact=True)
    button.wait_for(timeout=PATIENCE_MS)
    assert button.get_attribute("title").startswith("give s0 tier 1")
    notebook.screenshot(panel, f"editor-fix-{width}-{theme}")
    button.press("Enter")
    notebook.settle(panel)
    assert notebook.kernel("editor.draft.find('switch', 's0').tier") == 1
    panel.get_by_role("heading", name="no findings").wait_for(timeout=PATIENCE_MS)
    press(notebook, panel, "Control+z")
    assert notebook.kernel("editor.draft.find('switch', 's0').tier") == 7
    assert notebook.outside == [] and notebook.complaints == []
