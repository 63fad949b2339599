"""Tests that a picture patched edit by edit equals the picture drawn afresh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.lab import PATIENCE_MS, Notebook, Server, open_notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = pytest.mark.browser

CELL = """
from workbench.topology.generate import Fabric
from workbench.topology.job_shape import JobShape, scenario_of
from workbench.widgets.comparison_view import picture_after
from workbench.widgets.job_text import job_yaml
from workbench.widgets.workbench import Workbench
jobs = [JobShape("train", 9, mode="soft"), JobShape("tune", 4, mode="hard", highest_tier=2)]
bench = Workbench(scenario_of(Fabric((4, 3, 2)), jobs), ["volcano-1.13", "spread"])
ids = {item.name: item.id for item in bench.editor.draft}
edit = bench.editor.edit

def form(name):
    return job_yaml({"name": name, "pods": 1, "gpus": 1, "cpu": 1, "mode": "none", "tier": 0})
bench
"""

# The pictures of the page against markup that was never on it; the third: were they patched rather than replaced?
_SAME = """
(root, fresh) => [...root.querySelectorAll('.wb-picture svg.tw-topology')].map((svg, i) => {
  const box = document.createElement('div');
  box.innerHTML = fresh[i];
  // The page gives each part of a square coordinates of its own where the markup moves the square as a whole.
  for (const square of box.querySelectorAll('.tw-nodes > g')) {
    const [x, y] = square.getAttribute('transform').match(/[-.\\d]+/g).map(Number);
    square.removeAttribute('transform');
    for (const part of square.children) {
      part.setAttribute('x', Number(part.getAttribute('x')) + x);
      part.setAttribute('y', Number(part.getAttribute('y')) + y);
    }
  }
  const kept = svg.drawnFirst === true;
  svg.drawnFirst = true;
  return [svg.isEqualNode(box.firstElementChild), svg.querySelectorAll('[data-cell]').length, kept];
})
"""


def pictures(notebook: Notebook, comparer: Locator) -> list[list[object]]:
    """Per picture: equal to a fresh one, its number of squares, patched."""
    rows = "range(len(bench.comparer.comparison.rows))"
    fresh = notebook.kernel(f"[str(picture_after(bench.comparer.comparison, i, 10**6)) for i in {rows}]")
    found: list[list[object]] = comparer.evaluate(_SAME, fresh)
    assert len(found) == len(fresh)
    return found


def after(notebook: Notebook, comparer: Locator, statement: str) -> list[list[object]]:
    """Run a statement that changes what is compared; the pictures once its result is drawn."""
    before = comparer.get_attribute("data-results")
    notebook.kernel(f"[{statement}, 0][1]")
    comparer.page.wait_for_function(
        "([root, before]) => root.dataset.results !== before && root.dataset.running === '0'",
        arg=[comparer.element_handle(), before],
        timeout=PATIENCE_MS,
    )
    return pictures(notebook, comparer)


def test_patched_pictures_of_placements_equal_fresh_ones(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "patches", [CELL])
    notebook.run(0)
    editor, comparer = notebook.panel("editor"), notebook.panel("comparer")
    comparer.page.wait_for_function(
        "root => Number(root.dataset.results ?? 0) > 0", arg=comparer.element_handle(), timeout=PATIENCE_MS
    )
    notebook.settle(editor)
    assert pictures(notebook, comparer) == [[True, 24, False]] * 2
    for statement, squares in (
        ("edit(op='set', ids=[ids['node00'], ids['node05']], fields={'cordoned': True})", 24),
        ("edit(op='add_nodes', parent=ids['s7'], gpus=4)", 25),
        ("edit(op='move', ids=[ids['node11']], parent=ids['s5'])", 25),
        ("edit(op='rename', ids=[ids['node01']], name=\"a<b>&'c\")", 25),
        ("edit(op='delete', ids=[ids['node02']])", 24),
        ("bench.editor.undo()", 25),
        ("bench.editor.redo()", 24),
        ("bench.comparer.choose([('gang', {}), ('binpack', {})])", 24),
    ):
        assert after(notebook, comparer, statement) == [[True, squares, True]] * 2, statement
    # Many switches are folded into squares; undone, every node is a square again.
    folded = after(notebook, comparer, "edit(op='add_switches', parent=0, count=700, nodes_each=3)")
    assert [(same, kept) for same, _, kept in folded] == [(True, True)] * 2 and folded[0][1] < 1000
    assert after(notebook, comparer, "bench.editor.undo()") == [[True, 24, True]] * 2
    # With the thirteenth job there are hatched colours: a part that was not there is no patch.
    many = "bench.comparer.take_jobs('\\n'.join(form(f'job-{i}') for i in range(14)))"
    assert after(notebook, comparer, many) == [[True, 24, False]] * 2
    three = after(notebook, comparer, "bench.comparer.choose([('gang', {}), ('spread', {}), ('random', {})])")
    assert three == [[True, 24, True]] * 2 + [[True, 24, False]]

    # A step back, with a job followed through the pictures.
    comparer.locator("tr[data-job='0'] th").hover()
    comparer.get_by_role("slider").fill("1")
    notebook.settle(comparer)
    assert "1 of" in comparer.inner_text()
    comparer.page.mouse.move(0, 0)
    # Tidied up: what the page's own marks leave behind them on elements.
    comparer.evaluate("root => root.querySelectorAll('[data-cell]').forEach((cell) => cell.removeAttribute('class'))")
    step = notebook.kernel("str(picture_after(bench.comparer.comparison, 0, 1))")
    assert comparer.evaluate(_SAME, [step])[0] == [True, 24, True]
    assert notebook.outside == [] and notebook.complaints == []


def test_the_patched_drawing_of_a_topology_equals_a_fresh_one(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "patches-editor", [CELL])
    notebook.run(0)
    editor = notebook.panel("editor")
    canvas = editor.locator(".wb-canvas")

    def same(items: int) -> None:
        notebook.settle(editor)
        editor.page.wait_for_function(
            "([root, n]) => Number(root.dataset.drawn) === n", arg=[editor.element_handle(), items], timeout=PATIENCE_MS
        )
        # In one call, so that no finding arrives between the two.
        patched, fresh = editor.evaluate("root => [root.shown(false), root.shown(true)]")
        for kind in ("nodes", "links"):
            assert sorted(patched[kind], key=str) == sorted(fresh[kind], key=str)
        assert len(fresh["nodes"]) == items and len(fresh["links"]) == items - 1

    # All of it, however small.
    editor.get_by_role("button", name="Unfold", exact=True).click()
    same(33)
    for statement, items in (
        ("edit(op='set', ids=[ids['node00']], fields={'failed': True, 'link_failed': True})", 33),
        ("edit(op='set', ids=[ids['s1']], fields={'link_gbit_s': 400})", 33),
        ("edit(op='add_nodes', parent=ids['s7'], gpus=0)", 34),
        ("edit(op='move', ids=[ids['s1']], parent=ids['s7'])", 34),
        ("edit(op='group', ids=[ids['s3'], ids['s4']])", 35),
        ("edit(op='delete', ids=[ids['node02'], ids['s2']])", 29),
        ("bench.editor.undo()", 35),
        ("bench.editor.undo()", 34),
        ("bench.editor.redo()", 35),
    ):
        notebook.kernel(f"[{statement}, 0][1]")
        same(items)
    # Folded and unfolded by keyboard, and an edit below what is folded.
    canvas.focus()
    for key in ("ArrowUp", "ArrowDown", "Enter"):
        editor.page.keyboard.press(key)
        notebook.settle(editor)
    hidden = int(editor.get_attribute("data-drawn") or 0)
    assert hidden < 35
    same(hidden)
    notebook.kernel("[edit(op='add_nodes', parent=ids['s0'], count=2), 0][1]")
    same(hidden)
    editor.page.keyboard.press("Enter")
    same(37)
    assert notebook.outside == [] and notebook.complaints == []
