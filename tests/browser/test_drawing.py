"""The drawing in JupyterLab: legend, cards by mouse and keyboard, and what a drop would do, in both themes."""

from __future__ import annotations

import pytest

from tests.browser.gestures import where
from tests.browser.lab import PATIENCE_MS, ROOT, Notebook, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = """
from workbench.topology.generate import Fabric
from workbench.widgets.editor import TopologyEditor
editor = TopologyEditor(Fabric(({sizes})).snapshot())
editor
"""

#: Window width, theme, and nodes per HyperNode, HyperNodes per HyperNode above, and so on.
VIEWS = [
    (1000, "light", "2, 2, 2"),
    (1440, "dark", "2, 2, 2"),
    (1000, "dark", "10, 10, 10"),
    (1440, "light", "25, 20, 40"),
]


@pytest.fixture(params=VIEWS, ids=["-".join(map(str, view)).replace(", ", "x") for view in VIEWS])
def drawn(chromium, lab: Server, request) -> Notebook:
    width, theme, sizes = request.param
    return opened(chromium, lab, width, theme, sizes)


@pytest.fixture(params=VIEWS[:2], ids=["light", "dark"])
def small(chromium, lab: Server, request) -> Notebook:
    width, theme, sizes = request.param
    return opened(chromium, lab, width, theme, sizes)


def opened(chromium, lab: Server, width: int, theme: str, sizes: str) -> Notebook:
    notebook = open_notebook(chromium, lab, f"drawing-{width}", [CELL.format(sizes=sizes)], theme)
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    notebook.run(0)
    notebook.settle(notebook.panel("editor"))
    # The theme's own style sheet arrives late.
    notebook.page.wait_for_timeout(800)
    return notebook


def picture_of(notebook: Notebook, what: str) -> None:
    width = notebook.page.viewport_size["width"]
    nodes = notebook.kernel("sum(item.kind == 'node' for item in editor.draft)")
    notebook.page.screenshot(path=ROOT / "out" / "screenshots" / f"drawing-{what}-{nodes}-{width}.png")


def card_of(notebook: Notebook):
    card = notebook.panel("editor").locator(".wb-card")
    card.wait_for(timeout=PATIENCE_MS)
    return card


def test_a_legend_and_cards_by_mouse_and_keyboard(drawn):
    panel, page = drawn.panel("editor"), drawn.page
    legend = panel.locator(".wb-legend")
    assert "tier 3" in legend.inner_text()
    # No entry is cut off.
    ends = legend.locator("> span").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).map(b => [b.left, b.right])"
    )
    edge = panel.bounding_box()
    assert all(edge["x"] <= left and right <= edge["x"] + edge["width"] for left, right in ends)

    top = drawn.kernel("max((item for item in editor.draft), key=lambda item: item.tier).name")
    at = where(panel, top)
    page.mouse.move(at["x"], at["y"])
    card = card_of(drawn)
    assert top in card.inner_text() and "tier 3" in card.inner_text() and "GPUs" in card.inner_text()
    picture_of(drawn, "card")
    page.mouse.move(5, 5)
    card.wait_for(state="hidden", timeout=PATIENCE_MS)

    panel.locator(".wb-canvas").focus()
    page.keyboard.press("ArrowDown")
    drawn.settle(panel)
    assert card_of(drawn).locator("strong").inner_text() == top
    page.keyboard.press("ArrowDown")
    page.wait_for_function(
        "([card, top]) => !card.hidden && card.querySelector('strong').textContent !== top",
        arg=[card.element_handle(), top],
        timeout=PATIENCE_MS,
    )
    assert "tier 2" in card.inner_text() and f"{top} (tier 3)" in card.inner_text()
    picture_of(drawn, "keyboard")
    page.keyboard.press("Escape")
    card.wait_for(state="hidden", timeout=PATIENCE_MS)
    assert drawn.outside == [] and drawn.complaints == []


def test_the_drawing_has_the_colours_of_the_pictures(small):
    panel = small.panel("editor")
    shown = {node["name"]: node["colour"] for node in panel.evaluate("root => root.shown(false).nodes")}
    colours = small.kernel(
        "[__import__('workbench.report.colours').report.colours.tier_colour(tier) for tier in (1, 2, 3)]"
    )
    switches = small.kernel("[[item.name, item.tier] for item in editor.draft if item.kind == 'switch']")
    assert len(switches) == 7
    assert all(shown[name] == colours[tier - 1] for name, tier in switches)
    # Bandwidths have ordered colours, which the legend names.
    for name, speed in (("s0", 100), ("s1", 400)):
        small.kernel(
            f"[editor.edit(op='set', ids=[editor.draft.find('switch', {name!r}).id], "
            f"fields={{'link_gbit_s': {speed}}}), 0][1]"
        )
    small.settle(panel)
    panel.locator(".wb-legend").get_by_text("400 Gbit/s").wait_for(timeout=PATIENCE_MS)
    slow, fast = panel.locator(".wb-key-link").evaluate_all("all => all.map(e => getComputedStyle(e).backgroundColor)")
    assert slow == "rgb(68, 1, 84)" and fast == "rgb(253, 231, 37)"
    painted = """canvas => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const fast = [253, 231, 37];
        for (let i = 0; i < data.length; i += 4) if (fast.every((part, c) => data[i + c] === part)) return true;
        return false;
    }"""
    small.page.wait_for_function(painted, arg=panel.locator(".wb-links").element_handle(), timeout=PATIENCE_MS)
    picture_of(small, "links")


def test_a_dragged_switch_shows_where_it_may_be_dropped(small):
    panel, page = small.panel("editor"), small.page
    hint = panel.locator(".wb-drop-hint")
    start, other, child = (where(panel, name) for name in ("s4", "s5", "s0"))
    page.mouse.move(start["x"], start["y"])
    page.mouse.down()
    page.mouse.move(other["x"], other["y"] + 4, steps=6)
    assert panel.get_attribute("data-drop") == "accepted"
    assert hint.inner_text() == "under s5"
    picture_of(small, "accepts")
    # Under what hangs under it there is no place.
    page.mouse.move(child["x"], child["y"] + 4, steps=6)
    assert panel.get_attribute("data-drop") == "refused"
    assert hint.inner_text() == "a switch cannot hang under itself"
    picture_of(small, "refuses")
    page.mouse.up()
    small.settle(panel)
    assert hint.is_hidden()
    parent = "editor.draft[editor.draft.find('switch', 's4').parent].name"
    assert small.kernel(parent) == "s6"

    start = where(panel, "s4")
    page.mouse.move(start["x"], start["y"])
    page.mouse.down()
    other = where(panel, "s5")
    page.mouse.move(other["x"], other["y"] + 4, steps=6)
    page.mouse.up()
    small.settle(panel)
    assert small.kernel(parent) == "s5"
    assert small.outside == [] and small.complaints == []


_DRAG = """
(target, [name, type]) => {
    const dataTransfer = new DataTransfer();
    if (name) dataTransfer.items.add(new File(["x"], name, {type}));
    else dataTransfer.setData("text/plain", "x");
    target.dispatchEvent(new DragEvent("dragover", {dataTransfer, bubbles: true, cancelable: true}));
    return target.className;
}
"""


def test_a_dragged_file_is_accepted_where_it_is_text_and_refused_otherwise(small):
    canvas = small.panel("editor").locator(".wb-canvas")
    shown = "e => getComputedStyle(e, '::after').content"
    for name, kind, wanted, text in (
        ("cluster.yaml", "", "wb-drop", "drop the file here"),
        ("photo.png", "image/png", "wb-refuse", "no text: image/png"),
        ("", "", "wb-refuse", "only a file can be dropped here"),
    ):
        classes = canvas.evaluate(_DRAG, [name, kind]).split()
        assert {"wb-drop", "wb-refuse"} & {*classes} == {wanted}
        assert canvas.evaluate(shown) == f'"{text}"'
        picture_of(small, wanted)
    canvas.dispatch_event("dragleave")
    assert not {"wb-drop", "wb-refuse"} & {*(canvas.get_attribute("class") or "").split()}
    before = small.kernel("len(editor.draft)")
    canvas.evaluate(
        """target => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(["x"], "photo.png", {type: "image/png"}));
            target.dispatchEvent(new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true}));
        }"""
    )
    small.settle(small.panel("editor"))
    assert small.kernel("len(editor.draft)") == before
    assert small.panel("editor").locator(".wb-message").is_hidden()
    assert small.outside == [] and small.complaints == []
