"""How full nodes and switches are, in the editor's drawing."""

from __future__ import annotations

import pytest

from tests.browser.gestures import where
from tests.browser.lab import Server, open_notebook

pytestmark = pytest.mark.browser

CELL = """
from tests.hand_made import document_tree, snapshot_of
from workbench.widgets.editor import TopologyEditor
editor = TopologyEditor(snapshot_of(document_tree(), busy={0: 0b11111, 1: 0b11111111}))
editor
"""

LEVELS = "root => Object.fromEntries(root.shown(false).nodes.map(({name, used, of}) => [name, [used, of]]))"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_symbols_show_the_gpus_in_use(chromium, lab: Server, theme):
    notebook = open_notebook(chromium, lab, f"levels-{theme}", [CELL], theme)
    page = notebook.page
    notebook.run(0)
    editor = notebook.panel("editor")
    # The theme's colours are read once more a while after the drawing.
    page.wait_for_timeout(1500)

    def bar(name: str) -> bytes:
        """The lower part of an item's symbol as a picture."""
        at = where(editor, name)
        clip = {"x": at["x"] - 9, "y": at["y"], "width": 18, "height": 10}
        return page.screenshot(clip=clip)

    levels = editor.evaluate(LEVELS)
    assert levels["node0"] == [5, 8] and levels["node1"] == [8, 8] and levels["node2"] == [0, 8]
    assert (
        levels["s0"] == [13, 16] and levels["s4"] == [13, 32] and levels["s6"] == [13, 64] and levels["s5"] == [0, 32]
    )
    editor.locator(".wb-legend").get_by_text("GPUs in use").wait_for()
    notebook.screenshot(editor, f"levels-{theme}")
    pictures = [bar(name) for name in ("node0", "node1", "node2")]
    assert len(set(pictures)) == 3
    assert bar("node3") == pictures[2]
    assert bar("s0") != bar("s1")

    # The level follows the drawing: what is moved takes its pods along, and a node that is gone holds nothing.
    names = "{item.name: item.id for item in editor.draft}"
    notebook.kernel(f"[editor.edit(op='move', ids=[{names}['node1']], parent={names}['s2']), 0][1]")
    notebook.settle(editor)
    levels = editor.evaluate(LEVELS)
    assert (levels["s0"], levels["s2"], levels["s6"]) == ([5, 8], [8, 24], [13, 64])
    notebook.kernel(f"[editor.edit(op='delete', ids=[{names}['node0'], {names}['node1']]), 0][1]")
    notebook.settle(editor)
    assert {used for used, _ in editor.evaluate(LEVELS).values()} == {0}
    page.wait_for_timeout(500)
    assert bar("s2") == bar("s3")
    assert editor.locator(".wb-legend").get_by_text("GPUs in use").count() == 0
    assert notebook.complaints == []
