"""The drawing at 12 to 5,000 nodes: readable labels, links inside, room beside the YAML, stable edits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.gestures import click, where
from tests.browser.lab import PATIENCE_MS, Notebook, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = """
from workbench.topology.generate import Fabric
from workbench.widgets.workbench import Workbench
bench = Workbench(Fabric(({sizes})).snapshot(), ["gang"])
bench
"""

#: Nodes per leaf, leaves per HyperNode above, and so on, by number of nodes.
SIZES = {12: "4, 3", 64: "4, 4, 4", 512: "16, 8, 4", 5_000: "25, 20, 10"}
WINDOWS = [(1366, 768, "light"), (1920, 1080, "dark"), (1000, 768, "dark")]

#: Smallest letters that can be read, and least width of a drawing beside its YAML; in pixels.
READABLE, LEAST = 9.0, 400.0


@pytest.fixture(params=WINDOWS, ids=lambda window: f"{window[0]}-{window[2]}")
def window(request) -> tuple[int, int, str]:
    return request.param


def opened(chromium, lab: Server, nodes: int, width: int, height: int, theme: str) -> Notebook:
    notebook = open_notebook(chromium, lab, f"readable-{nodes}-{width}", [CELL.format(sizes=SIZES[nodes])], theme)
    notebook.page.set_viewport_size({"width": width, "height": height})
    notebook.run(0)
    notebook.settle(notebook.panel("editor"))
    notebook.page.wait_for_timeout(500)
    return notebook


def check(notebook: Notebook) -> None:
    """Labels can be read, and neither links nor symbols leave the canvas."""
    panel = notebook.panel("editor")
    notebook.settle(panel)
    box = panel.evaluate("root => root.pictureBox()")
    canvas = panel.locator(".wb-canvas").bounding_box()
    assert box["label"] >= READABLE
    links = box["links"]
    assert links["left"] >= 0 and links["top"] >= 0
    assert links["right"] <= canvas["width"] and links["bottom"] <= canvas["height"]
    assert box["width"] <= canvas["width"] and box["height"] <= canvas["height"]


def places(notebook: Notebook) -> dict[str, tuple[float, float]]:
    """Middles of the drawn items in the window, by name."""
    names = notebook.kernel("[item.name for item in bench.editor.draft]")
    panel = notebook.panel("editor")
    notebook.settle(panel)
    found = {name: panel.evaluate("(root, name) => root.whereIs(name)", name) for name in names}
    return {name: (round(at["x"], 2), round(at["y"], 2)) for name, at in found.items() if at is not None}


def edit(notebook: Notebook, op: str) -> None:
    panel = notebook.panel("editor")
    before = panel.get_attribute("data-revision")
    notebook.kernel(f"[{op}, 0][1]")
    panel.page.wait_for_function(
        "([root, before]) => root.dataset.revision !== before",
        arg=[panel.element_handle(), before],
        timeout=PATIENCE_MS,
    )
    notebook.page.wait_for_timeout(200)


def ids(*names: str) -> str:
    return f"[i.id for i in bench.editor.draft if i.name in {names!r}]"


@pytest.mark.parametrize("nodes", SIZES)
def test_labels_can_be_read_and_the_text_leaves_room_for_the_drawing(chromium, lab: Server, window, nodes):
    notebook = opened(chromium, lab, nodes, *window)
    panel = notebook.panel("editor")
    check(notebook)
    canvas = panel.locator(".wb-canvas")
    before = canvas.bounding_box()
    panel.get_by_role("button", name="YAML", exact=True).click()
    notebook.settle(panel)
    panel.locator(".wb-yaml").wait_for(timeout=PATIENCE_MS)
    after, text = canvas.bounding_box(), panel.locator(".wb-yaml").bounding_box()
    assert after["width"] >= min(LEAST, before["width"]) and after["height"] >= min(LEAST, before["height"])
    assert text["width"] >= 250 and text["height"] >= 150
    check(notebook)
    assert notebook.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    notebook.page.screenshot(path=f"out/screenshots/readable-{nodes}-{window[0]}.png")
    assert notebook.outside == [] and notebook.complaints == []


@pytest.fixture
def racks(chromium, lab: Server) -> Iterator[Notebook]:
    notebook = opened(chromium, lab, 64, 1366, 768, "light")
    yield notebook
    assert notebook.outside == [] and notebook.complaints == []


def test_a_click_unfolds_a_rack_that_says_what_it_holds(racks):
    panel = racks.panel("editor")
    labels = "root => root.shown(false).nodes.map((node) => node.label)"
    rack = racks.kernel("bench.editor.draft.find('switch', 's00').name")
    assert f"{rack}\n▸ 4 nodes" in panel.evaluate(labels)
    assert panel.evaluate("(root) => root.whereIs('node00')") is None
    click(panel, rack)
    panel.page.wait_for_function(
        "root => root.whereIs('node00') !== null", arg=panel.element_handle(), timeout=PATIENCE_MS
    )
    check(racks)
    # The names of nodes lose what all begin with; the legend and the card have it.
    assert {"00", "01", "02", "03"} <= {*panel.evaluate(labels)}
    assert "without “node”" in panel.locator(".wb-legend").inner_text()
    at = where(panel, "node00")
    panel.page.mouse.move(at["x"], at["y"])
    panel.locator(".wb-card strong").get_by_text("node00", exact=True).wait_for(timeout=PATIENCE_MS)
    # A failed node shows in the folded rack, too.
    edit(racks, f"bench.editor.edit(op='set', ids={ids('node00')}, fields={{'failed': True}})")
    panel.page.mouse.dblclick(where(panel, rack)["x"], where(panel, rack)["y"])
    panel.page.wait_for_function(
        "root => root.whereIs('node00') === null", arg=panel.element_handle(), timeout=PATIENCE_MS
    )
    assert [node["inside"] for node in panel.evaluate("root => root.shown(false).nodes") if node["inside"]] == [
        "failed"
    ]
    panel.locator(".wb-legend").get_by_text("folded, with a failed item").wait_for(timeout=PATIENCE_MS)
    check(racks)


@pytest.mark.parametrize("nodes", [12, 64])
def test_one_edit_moves_nothing_else_and_links_stay_inside(chromium, lab: Server, nodes):
    notebook = opened(chromium, lab, nodes, 1366, 768, "dark")
    panel = notebook.panel("editor")
    if nodes == 64:
        click(panel, "s00")
        panel.page.wait_for_function(
            "root => root.whereIs('node00') !== null", arg=panel.element_handle(), timeout=PATIENCE_MS
        )
    node, other = "node01", "s1" if nodes == 12 else "s01"
    for op, moves in (
        (f"bench.editor.edit(op='move', ids={ids(node)}, parent={ids(other)}[0])", {node}),
        ("bench.editor.undo()", {node}),
        (f"bench.editor.edit(op='rename', ids={ids('node02')}, name='a-name-much-longer-than-the-others')", set()),
        ("bench.editor.undo()", set()),
        (f"bench.editor.edit(op='set', ids={ids('node03')}, fields={{'cordoned': True}})", set()),
        (f"bench.editor.edit(op='delete', ids={ids('node03')})", set()),
    ):
        before = places(notebook)
        edit(notebook, op)
        after = places(notebook)
        assert {name for name in before.keys() & after.keys() if before[name] != after[name]} <= moves, op
        check(notebook)
    # Much more is drawn by an import; then all of it is fitted and folded again.
    edit(notebook, "bench.editor.edit(op='add_switches', parent=0, count=24, nodes_each=8)")
    check(notebook)
    panel.get_by_role("button", name="Fold", exact=True).click()
    check(notebook)
