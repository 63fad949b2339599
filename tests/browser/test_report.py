"""Tests of the report page as a browser without a network shows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.hand_made import document_tree, gang_of, snapshot_of, tree
from tests.simulate.test_engine import SNAPSHOT, job
from workbench.evaluate.compare import compare
from workbench.policies import get_policy
from workbench.report.displays import view_topology
from workbench.report.html import report_html
from workbench.report.simulation_views import simulation_page
from workbench.simulate import Simulation

if TYPE_CHECKING:
    from tests.browser.conftest import Offline

pytestmark = pytest.mark.browser

POLICIES = ["allocate", "spread+gpu-lowest-index", "volcano-1.13"]


def boxes(offline: Offline, selector: str) -> list[dict[str, float]]:
    """Position and size in pixels of the elements on the screen."""
    found: list[dict[str, float]] = offline.page.eval_on_selector_all(
        selector,
        "all => all.map(e => { const b = e.getBoundingClientRect();"
        " return {x: b.x, y: b.y, width: b.width, height: b.height}; })",
    )
    return found


@pytest.fixture(params=[(2, 2, 2), (10, 10, 10), (16, 25, 10, 5)], ids=["8 nodes", "1,000 nodes", "20,000 nodes"])
def report(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    topology = document_tree() if request.param == (2, 2, 2) else tree(request.param)
    pods = max(2, topology.n_nodes // 10)
    gangs = [
        gang_of("<script>alert(1)</script>", pods, 6),
        gang_of("pair", 2, 2),
        gang_of("huge", topology.n_nodes * 2),
    ]
    path = tmp_path / "report.html"
    path.write_text(report_html(compare(gangs, snapshot_of(topology), POLICIES)), encoding="utf-8")
    return path


def test_the_report_shows_its_pictures_asks_for_nothing_and_has_no_error(offline: Offline, report: Path) -> None:
    offline.open(report)
    pictures = boxes(offline, "svg.tw-topology")
    assert len(pictures) == len(POLICIES)
    for box in [*pictures, *boxes(offline, "svg.tw-heatmap")]:
        assert box["width"] >= 180 and box["height"] >= 120
        assert 0.5 <= box["width"] / box["height"] <= 3
    assert all(min(box["width"], box["height"]) >= 4 for box in boxes(offline, ".tw-nodes > g > rect:first-of-type"))
    assert offline.outside == []
    assert offline.complaints == []
    assert offline.page.evaluate("document.scripts.length") == 0


def test_pictures_stand_beside_each_other_where_there_is_room(offline: Offline, report: Path) -> None:
    offline.open(report)
    first, second = boxes(offline, "svg.tw-topology")[:2]
    assert first["y"] == second["y"] and second["x"] >= first["x"] + first["width"]
    assert first["width"] == second["width"] and first["height"] == second["height"]
    assert len(boxes(offline, ".tw-key")) == 1
    # Where its letters would be too small, the name of a picture stands above it.
    names = [name.inner_text() for name in offline.page.locator(".tw-name").all() if name.is_visible()]
    letters = offline.page.eval_on_selector(
        "svg.tw-topology", "e => 11 * e.getBoundingClientRect().width / e.viewBox.baseVal.width"
    )
    assert names == (POLICIES if letters < 5.5 else [])
    # Nothing makes the page itself scroll sideways.
    assert offline.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_lines_and_text_differ_from_the_ground_in_both_themes(offline: Offline, report: Path) -> None:
    offline.open(report)
    ground, ink = offline.page.evaluate(
        "[getComputedStyle(document.body).backgroundColor,"
        " getComputedStyle(document.querySelector('.tw-labels text')).fill]"
    )

    def brightness(colour: str) -> float:
        return sum(float(c) for c in colour[colour.index("(") + 1 : -1].split(",")[:3])

    assert abs(brightness(ground) - brightness(ink)) > 400


def test_the_pyvis_view_draws_without_asking_the_outside(offline: Offline, tmp_path: Path) -> None:
    path = tmp_path / "network.html"
    picture: Any = view_topology(document_tree(), kind="pyvis")
    path.write_text(f"<!DOCTYPE html><meta charset=utf-8><title>t</title>{picture.html}", encoding="utf-8")
    offline.open(path)
    frame = offline.page.frames[1]
    frame.wait_for_selector("canvas")
    drawn = (
        "(() => { const c = document.querySelector('canvas');"
        " return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v) })()"
    )
    frame.wait_for_function(drawn)
    assert offline.outside == []
    assert offline.complaints == []


@pytest.fixture(scope="module")
def simulation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    jobs = [job("a", 6, 0, 36_000), job("b", 8, 3_600, 18_000), job("c<b>", 1, 7_200, 1_800)]
    results = [Simulation(SNAPSHOT, get_policy(name), jobs).run().result() for name in ("binpack", "spread")]
    path = tmp_path_factory.mktemp("simulation") / "page.html"
    path.write_text(simulation_page(results, SNAPSHOT), encoding="utf-8")
    return path


@pytest.mark.parametrize("size", [(1920, 1080), (1366, 768)], ids=["1920", "1366"])
def test_charts_of_a_simulation_fill_the_width_and_share_a_crosshair(
    offline: Offline, simulation: Path, size: tuple[int, int]
) -> None:
    width, height = size
    offline.page.set_viewport_size({"width": width, "height": height})
    offline.open(simulation)
    charts = boxes(offline, "svg.tw-lines")
    first_row = [box for box in charts if box["y"] == charts[0]["y"]]
    assert len(first_row) >= 3
    assert first_row[-1]["x"] + first_row[-1]["width"] - first_row[0]["x"] > 0.9 * width
    assert offline.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    offline.page.mouse.move(charts[0]["x"] + charts[0]["width"] * 0.5, charts[0]["y"] + charts[0]["height"] * 0.4)
    timed = offline.page.locator("svg[data-time]")
    assert offline.page.locator(".tw-crosshair").count() == timed.count() >= 6
    text = offline.page.locator(".tw-crosshair text").all_text_contents()
    assert all(one.partition(" h")[0] == text[0].partition(" h")[0] for one in text)
    assert "binpack: " in text[0] and "spread: " in text[0]
    # By keys as well: the axis from end to end.
    timed.first.focus()
    offline.page.keyboard.press("Home")
    offline.page.keyboard.press("ArrowRight")
    moved = offline.page.locator(".tw-crosshair text").first.text_content()
    assert moved is not None and moved.partition(" h")[0] != text[0].partition(" h")[0]
    assert offline.outside == [] and offline.complaints == []
