"""A fleet of a million GPUs in the editor: it opens folded, and one part is unfolded by keyboard."""

from __future__ import annotations

import pytest

from tests.browser.lab import PATIENCE_MS, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = """
import workbench as wb
editor = wb.TopologyEditor(wb.generate_scenario("fleet", pending=0))
editor
"""
#: The top with its 32 HyperNodes of tier 3; one of these holds 16 of tier 2.
FOLDED, BENEATH = 33, 16


def test_a_fleet_opens_folded_and_unfolds_in_parts(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "fleet", [CELL])
    notebook.run(0)
    panel = notebook.panel("editor")
    notebook.settle(panel)

    def drawn(items: int) -> None:
        waiting = "([r, items]) => Number(r.dataset.drawn) === items"
        notebook.page.wait_for_function(waiting, arg=[panel.element_handle(), items], timeout=PATIENCE_MS)

    panel.get_by_text("8,737 HyperNodes, 131,072 nodes").wait_for(timeout=PATIENCE_MS)
    drawn(FOLDED)
    notebook.screenshot(panel, "editor-fleet-folded")
    panel.locator(".wb-canvas").focus()
    for key in ("ArrowUp", "ArrowDown"):
        notebook.page.keyboard.press(key)
        notebook.settle(panel)
    assert notebook.kernel("[item.name for item in editor.selected]") == ["tier3-00"]
    panel.get_by_role("button", name="Unfold", exact=True).click()
    drawn(FOLDED + BENEATH)
    notebook.screenshot(panel, "editor-fleet-unfolded")
    panel.locator(".wb-canvas").focus()
    notebook.page.keyboard.press("Enter")
    drawn(FOLDED)
    assert notebook.kernel("len(editor.draft)") == 8_737 + 131_072
