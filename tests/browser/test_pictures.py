"""The pictures of a comparison in JupyterLab: equal sizes, one legend, cards by mouse and keyboard, in both themes."""

from __future__ import annotations

import pytest

from tests.browser.lab import PATIENCE_MS, ROOT, Notebook, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = f"""
import os
import workbench
from workbench.topology.generate import Fabric
from workbench.topology.job_shape import JobShape, scenario_of
from workbench.widgets.comparer import PlacementComparer

os.chdir({str(ROOT)!r})

def cluster(*sizes):
    n = Fabric(sizes).n_nodes
    jobs = [
        JobShape("pair", 2, mode="hard", highest_tier=1),
        JobShape("train", max(n // 4, 3), mode="soft"),
        JobShape("tune", max(n // 10, 2), mode="hard", highest_tier=2),
    ]
    return scenario_of(Fabric(sizes), jobs)

comparer = PlacementComparer(cluster({{sizes}}), ["volcano-1.13", "spread", "binpack"])
comparer
"""

#: Window width, theme, and nodes per HyperNode, HyperNodes per HyperNode above, and so on.
VIEWS = [
    (1000, "light", "2, 2, 2"),
    (1440, "dark", "2, 2, 2"),
    (1000, "dark", "10, 10, 10"),
    (1440, "light", "10, 10, 10"),
    (1440, "dark", "25, 20, 40"),
]


@pytest.fixture(params=VIEWS, ids=["-".join(map(str, view)).replace(", ", "x") for view in VIEWS])
def compared(chromium, lab: Server, request) -> Notebook:
    width, theme, sizes = request.param
    notebook = open_notebook(chromium, lab, f"pictures-{width}", [CELL.format(sizes=sizes)], theme)
    notebook.page.set_viewport_size({"width": width, "height": 1000})
    notebook.run(0)
    panel = notebook.panel("comparer")
    notebook.page.wait_for_function(
        "root => Number(root.dataset.results ?? 0) >= 1 && root.dataset.running === '0'",
        arg=panel.element_handle(),
        timeout=PATIENCE_MS,
    )
    # The theme's own style sheet arrives late.
    notebook.page.wait_for_timeout(800)
    return notebook


def picture_of(notebook: Notebook, what: str) -> None:
    size = notebook.page.viewport_size["width"]
    nodes = notebook.kernel("comparer.comparison.snapshot.n_nodes")
    notebook.page.screenshot(path=ROOT / "out" / "screenshots" / f"pictures-{what}-{nodes}-{size}.png")


def card_of(notebook: Notebook):
    card = notebook.panel("comparer").locator(".wb-card")
    card.wait_for(timeout=PATIENCE_MS)
    return card


def test_pictures_are_of_equal_size_over_one_legend_and_one_slider(compared):
    panel = compared.panel("comparer")
    boxes = [picture.bounding_box() for picture in panel.locator("svg.tw-topology").all()]
    assert len(boxes) == 3
    assert max(box["width"] for box in boxes) - min(box["width"] for box in boxes) < 1
    assert max(box["height"] for box in boxes) - min(box["height"] for box in boxes) < 1
    # Two or three stand in the first row.
    assert 2 <= sum(abs(box["y"] - boxes[0]["y"]) < 2 for box in boxes) <= 3
    assert panel.get_by_role("slider").count() == panel.locator(".tw-key").count() == 1
    assert panel.locator(".tw-legend").count() == 0
    legend = panel.locator(".tw-key").inner_text()
    assert "default/train" in legend and "tier 3" in legend and "in use" in legend
    # Nothing is cut off or stands outside of the panel.
    edge = panel.bounding_box()
    for entry in panel.locator(".tw-key > span").all():
        box = entry.bounding_box()
        assert edge["x"] <= box["x"] and box["x"] + box["width"] <= edge["x"] + edge["width"]
    picture_of(compared, "legend")
    assert compared.outside == [] and compared.complaints == []


def test_a_card_says_what_is_free_and_what_runs_under_the_pointer(compared):
    panel = compared.panel("comparer")
    second = panel.locator(".wb-drawing").nth(1)
    second.locator("[data-jobs]:not([data-jobs=''])").first.hover()
    card = card_of(compared)
    said = card.inner_text()
    assert "GPU" in said and "free" in said and "default/" in said and "tier" in said
    inside(card.bounding_box(), panel.bounding_box())
    picture_of(compared, "card")

    # The box of a HyperNode has a card, too; away from the pictures there is none.
    box = second.locator(".tw-blocks > rect").first.bounding_box()
    compared.page.mouse.move(box["x"] + 2, box["y"] + 2)
    card.get_by_text("HyperNode").wait_for(timeout=PATIENCE_MS)
    panel.locator("table").first.hover()
    card.wait_for(state="hidden", timeout=PATIENCE_MS)
    assert compared.outside == [] and compared.complaints == []


def inside(inner: dict, outer: dict) -> None:
    assert outer["x"] <= inner["x"] and inner["x"] + inner["width"] <= outer["x"] + outer["width"]
    assert outer["y"] <= inner["y"]


def test_the_keyboard_walks_from_hypernode_to_node(compared):
    panel, page = compared.panel("comparer"), compared.page
    # Tab reaches each picture.
    panel.get_by_role("slider", name="decisions").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel").startswith("placements by volcano-1.13")
    card = card_of(compared)
    card.get_by_text("HyperNode").wait_for(timeout=PATIENCE_MS)
    titles = [card.locator("strong").inner_text()]

    def press(key: str) -> None:
        page.keyboard.press(key)
        page.wait_for_function(
            "([card, before]) => card.querySelector('strong').textContent !== before",
            arg=[card.element_handle(), titles[-1]],
            timeout=PATIENCE_MS,
        )
        titles.append(card.locator("strong").inner_text())

    while "HyperNode" in card.inner_text():
        press("ArrowDown")
    node = titles[-1]
    press("ArrowRight")
    press("ArrowLeft")
    assert titles[-1] == node
    assert panel.locator(".wb-at").get_attribute("data-cell") == node
    picture_of(compared, "keyboard")
    press("ArrowUp")
    assert "HyperNode" in card.inner_text()
    page.keyboard.press("Escape")
    card.wait_for(state="hidden", timeout=PATIENCE_MS)
    assert compared.outside == [] and compared.complaints == []
