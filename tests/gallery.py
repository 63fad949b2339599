"""Pictures of the README and docs/gallery.md: ``PYTHONPATH=. python -m tests.gallery [NAME ...]`` takes them.

Those of the gallery are taken in the real JupyterLab, ``comparison`` of the README from a report; ``fleets`` and
``placement-share`` are drawn from kept numbers (`tests.drawings`), without a browser.

One picture per widget, size and theme, as ``docs/images/gallery/<widget>-<size>-<theme>.png``; a NAME such as
``editor-1000`` takes those alone, and ``keep`` takes none but keeps what they show (`tests.gallery_record`).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import drawings, gallery_record, report_picture
from tests.browser.chromium import launched, missing
from tests.browser.lab import PATIENCE_MS, ROOT, Notebook, open_notebook, start_lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

    from tests.browser.lab import Server

IMAGES = drawings.IMAGES / "gallery"
THEMES = ("light", "dark")

#: Nodes per HyperNode of tier 1, HyperNodes per HyperNode above, and so on.
SIZES = {"8": (2, 2, 2), "1000": (10, 10, 10), "20000": (25, 20, 40)}

POLICIES = ["volcano-1.13", "spread", "binpack"]

_BEGIN = f"""
import os

os.chdir({str(ROOT)!r})

import workbench as wb
from workbench.topology.generate import Fabric
from workbench.topology.job_shape import JobShape, scenario_of
from workbench.widgets.editor import TopologyEditor
from workbench.widgets.comparer import PlacementComparer
from workbench.widgets.matrix_loader import MatrixLoader
from workbench.formats.job_logs import load_jobs
from workbench.simulate import SimulatedJob, Simulation
from workbench.topology.machines import nvl72, supernode_384


def cluster(sizes):
    n = Fabric(sizes).n_nodes
    jobs = [
        JobShape("pair", 2, mode="hard", highest_tier=1),
        JobShape("train", max(n // 4, 3), mode="soft"),
        JobShape("tune", max(n // 10, 2), mode="hard", highest_tier=2),
        JobShape("wide", n // 3, mode="hard", highest_tier=1),
    ]
    return scenario_of(Fabric(sizes), jobs)


def explorer():
    snapshot = wb.load("datasets/job-log/cluster.yaml").snapshot
    log = load_jobs("datasets/job-log/jobs.csv")
    jobs = [SimulatedJob(job.gang, job.submitted_s, job.duration_s) for job in log.jobs]
    results = [Simulation(snapshot, wb.get_policy(name), jobs).run().result() for name in ("volcano", "spread")]
    shown = wb.SimulationExplorer(results, snapshot)
    shown.time.value = (20.0, 26.0)
    return shown
"""


def _draw_an_editor(notebook: Notebook, panel: Locator, size: str) -> None:
    if size != "8":
        return
    for name, key in (("node3", "c"), ("node6", "x")):
        at = panel.evaluate("(root, name) => root.whereIs(name)", name)
        notebook.page.mouse.click(at["x"], at["y"])
        notebook.settle(panel)
        notebook.page.keyboard.press(key)
        notebook.settle(panel)
    panel.get_by_role("button", name="YAML").click()
    notebook.settle(panel)


def _compare(notebook: Notebook, panel: Locator, size: str) -> None:
    notebook.page.wait_for_function(
        "root => Number(root.dataset.results ?? 0) > 0 && root.dataset.running === '0'",
        arg=panel.element_handle(),
        timeout=PATIENCE_MS,
    )


def _explore(notebook: Notebook, panel: Locator, size: str) -> None:
    panel.locator("svg").nth(3).wait_for(state="visible", timeout=PATIENCE_MS)


def _choose_gpus(notebook: Notebook, panel: Locator, size: str) -> None:
    notebook.settle(panel)


#: Per widget: the value of a cell by size, and what is done before the picture.
WIDGETS: dict[str, tuple[dict[str, str], Callable[[Notebook, Locator, str], None]]] = {
    "editor": ({size: f"TopologyEditor(cluster({sizes}).snapshot)" for size, sizes in SIZES.items()}, _draw_an_editor),
    "comparer": (
        {size: f"PlacementComparer(cluster({sizes}), {POLICIES})" for size, sizes in SIZES.items()},
        _compare,
    ),
    "matrix": (
        {
            "8": "MatrixLoader(wb.load_matrix('datasets/koordinator-matrices/matrix-a.txt'))",
            "72": "MatrixLoader(nvl72())",
            "384": "MatrixLoader(supernode_384())",
        },
        _choose_gpus,
    ),
    "explorer": ({"24": "explorer()"}, _explore),
}


def _take(browser: Browser, server: Server, widget: str, size: str, theme: str) -> None:
    codes, prepare = WIDGETS[widget]
    notebook = open_notebook(browser, server, f"{widget}-{size}-{theme}", [_BEGIN + codes[size]], theme)
    notebook.page.set_viewport_size({"width": 1500, "height": 2200 if widget == "explorer" else 1500})
    notebook.run(0)
    # The explorer is made of stock widgets, which do not say when they are ready.
    explorer = notebook.page.locator(".tw-simulation-explorer")
    panel = explorer if widget == "explorer" else notebook.panel(widget)
    panel.wait_for(state="visible", timeout=PATIENCE_MS)
    notebook.settle(panel)
    prepare(notebook, panel, size)
    # The linter, the theme's late style sheet and the next frame.
    time.sleep(2.5)
    notebook.settle(panel)
    panel.screenshot(path=IMAGES / f"{widget}-{size}-{theme}.png")
    notebook.page.context.close()


def digest(widget: str, size: str) -> str:
    """The digest of what the picture of a widget shows, worked out here, without a browser."""
    code = WIDGETS[widget][0][size]
    if widget != "explorer":  # what the widget is made of
        code = "(" + code.partition("(")[2]
    names: dict[str, Any] = {}
    exec(_BEGIN, names)
    return gallery_record.shown(widget, eval(code, names))


def main(names: list[str]) -> int:
    """Take the pictures; 0, or 1 where there is no browser."""
    if names == ["keep"]:
        gallery_record.keep({f"{w}-{size}": digest(w, size) for w, (sizes, _) in WIDGETS.items() for size in sizes})
        return 0
    drawn = [name for name in drawings.DRAWINGS if not names or name.removesuffix(".svg") in names]
    for name in drawn:
        drawings.draw(name)
    if names and len(names) == len(drawn):
        return 0
    if reason := missing():
        print(f"{reason}; no picture was taken", file=sys.stderr)
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, launched() as browser:
        if not names or "comparison" in names:
            report_picture.take(browser)
        server = start_lab(Path(folder))
        try:
            for widget, (codes, _) in WIDGETS.items():
                for size in codes:
                    for theme in THEMES:
                        if not names or f"{widget}-{size}" in names or f"{widget}-{size}-{theme}" in names:
                            _take(browser, server, widget, size, theme)
                            gallery_record.keep({f"{widget}-{size}": digest(widget, size)})
        finally:
            server.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
