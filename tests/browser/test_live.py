"""A live cluster in the Workbench: picked, read, changed and read again, on a real API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.lab import PATIENCE_MS, Notebook, Server, open_notebook
from tests.controlplane.faults import GPUS, RACKS, WIDTH, job
from tests.controlplane.live import Live
from tests.live.test_recording import recorded
from tests.waiting import until
from workbench.live.kubernetes.apply import apply

pytestmark = pytest.mark.browser


def opened(chromium, lab: Server, name: str, width: int, theme: str, config: Path, source: str = "") -> Notebook:
    """A notebook with a Workbench that knows the contexts of a kubeconfig."""
    cell = f"""
import os
os.environ["KUBECONFIG"] = {str(config)!r}
from workbench.widgets.workbench import Workbench
bench = Workbench({source})
bench
"""
    notebook = open_notebook(chromium, lab, f"{name}-{width}", [cell], theme)
    notebook.page.set_viewport_size({"width": width, "height": 900})
    notebook.run(0)
    return notebook


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (1000, "dark")])
def test_a_cluster_is_picked_and_its_present_moment_becomes_the_scenario(
    chromium, lab: Server, live: Live, width, theme
):
    apply(live.writer, [job("runs", 2, GPUS), job("waits", WIDTH + 1, GPUS)])
    live.until(lambda: live.job_phases().get("runs") == "Running", "the job to run")
    notebook = opened(chromium, lab, "live", width, theme, live.config)
    bar = notebook.panel("scenario")
    bar.get_by_role("button", name="Cluster …").click()
    choice = bar.get_by_label("context")
    choice.wait_for(timeout=PATIENCE_MS)
    assert choice.input_value() == "test"
    choice.press("Tab")
    notebook.page.keyboard.press("Enter")
    bar.locator(".wb-message").get_by_text("test is shown").wait_for(timeout=PATIENCE_MS)
    assert notebook.kernel("bench.snapshot.n_nodes") == RACKS * WIDTH
    assert notebook.kernel("len(bench.snapshot.running)") == 2
    assert notebook.kernel("[gang.key for gang in bench.comparer.gangs]") == ["default/waits"]
    notebook.screenshot(bar, f"live-{width}-{theme}")
    bar.locator(".wb-result-line").get_by_text("1 pending").wait_for(timeout=PATIENCE_MS)
    assert notebook.outside == [] and notebook.complaints == []


@pytest.mark.parametrize(("width", "theme"), [(1440, "dark"), (1000, "light")])
def test_a_cluster_is_followed_edits_pause_and_resume_goes_back(chromium, lab: Server, live: Live, width, theme):
    apply(live.writer, [job("first", 2, GPUS), job("waits", WIDTH + 1, GPUS)])
    live.until(lambda: live.job_phases().get("first") == "Running", "the job to run")
    notebook = opened(chromium, lab, "follow", width, theme, live.config)
    bar = notebook.panel("scenario")
    bar.get_by_role("button", name="Cluster …").click()
    bar.get_by_label("context").wait_for(timeout=PATIENCE_MS)
    bar.get_by_role("button", name="Follow").press("Enter")
    strip = notebook.panel("live")
    state = strip.locator(".wb-live-state")
    state.get_by_text("cluster test: followed").wait_for(timeout=PATIENCE_MS)
    row = strip.locator("tbody tr")
    row.filter(has_text="default/waits").get_by_text("Pending", exact=True).wait_for(timeout=PATIENCE_MS)
    assert "wb-waits" in row.nth(0).get_attribute("class") and "default/waits" in row.nth(0).inner_text()
    editor = notebook.panel("editor")
    drawn = editor.get_attribute("data-drawn")

    # Another job begins to run: the table and the GPUs in use follow.
    apply(live.writer, [job("second", 1, GPUS)])
    row.filter(has_text="default/second").get_by_text("1 running").wait_for(timeout=PATIENCE_MS)
    until(lambda: notebook.kernel("len(bench.snapshot.running)") == 3, "the drawing to follow")
    assert editor.get_attribute("data-drawn") == drawn, "what changed was patched, not drawn anew"
    notebook.screenshot(strip, f"follow-{width}-{theme}")

    # An edit pauses; what happens meanwhile waits until Resume.
    notebook.kernel("bench.editor.edit(op='add_nodes', count=1, prefix='mine-')")
    state.get_by_text("paused").wait_for(timeout=PATIENCE_MS)
    apply(live.writer, [job("third", 1, GPUS)])
    live.until(lambda: live.job_phases().get("third") == "Running", "the job to run")
    assert notebook.kernel("bench.snapshot.n_nodes") == RACKS * WIDTH + 1
    assert notebook.kernel("len(bench.snapshot.running)") == 3
    strip.get_by_role("button", name="Resume").click()
    row.filter(has_text="default/third").get_by_text("1 running").wait_for(timeout=PATIENCE_MS)
    until(lambda: notebook.kernel("len(bench.snapshot.running)") == 4, "the drawing to follow")
    assert notebook.kernel("bench.snapshot.n_nodes") == RACKS * WIDTH

    # The API server goes: one line says so, and what was seen stays.
    live.plane.kill_server()
    strip.locator(".wb-message").wait_for(timeout=PATIENCE_MS)
    state.get_by_text("does not answer").wait_for(timeout=PATIENCE_MS)
    assert row.count() == 4
    strip.get_by_role("button", name="Stop").click()
    state.get_by_text("no longer followed").wait_for(timeout=PATIENCE_MS)
    names = "[one.name for one in __import__('threading').enumerate()]"
    until(lambda: "follow-test" not in notebook.kernel(names), "the thread to end")
    assert notebook.outside == [] and notebook.complaints == []


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (1000, "dark")])
def test_a_recording_is_gone_through_by_its_slider(chromium, lab: Server, tmp_path: Path, width, theme):
    text, moments = recorded(steps=8)
    file = tmp_path / "tuesday.jsonl"
    file.write_text(text, "utf-8")
    notebook = opened(chromium, lab, "replay", width, theme, tmp_path / "none", repr(str(file)))
    strip = notebook.panel("live")
    state, slider = strip.locator(".wb-live-state"), strip.get_by_label("moment")
    state.get_by_text("moment 1 of 9").wait_for(timeout=PATIENCE_MS)
    slider.press("ArrowRight")
    state.get_by_text("moment 2 of 9").wait_for(timeout=PATIENCE_MS)
    slider.press("End")
    state.get_by_text("moment 9 of 9").wait_for(timeout=PATIENCE_MS)
    box = slider.bounding_box()
    assert box is not None
    slider.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    state.get_by_text("moment 5 of 9").wait_for(timeout=PATIENCE_MS)
    nodes = sorted(key.name for key in moments[4] if key.kind == "Node")
    assert sorted(notebook.kernel("list(bench.snapshot.topology.node_names)")) == nodes
    assert strip.get_by_role("button", name="Stop").is_hidden()
    notebook.screenshot(strip, f"replay-{width}-{theme}")
    assert notebook.outside == [] and notebook.complaints == []


def test_without_a_kubeconfig_one_line_tells(chromium, lab: Server, tmp_path):
    notebook = opened(chromium, lab, "live-none", 1440, "light", tmp_path / "none")
    bar = notebook.panel("scenario")
    bar.get_by_role("button", name="Cluster …").click()
    bar.locator(".wb-message").get_by_text("no kubeconfig").wait_for(timeout=PATIENCE_MS)
