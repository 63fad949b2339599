"""Benchmark of the Jupyter widgets in headless Chromium: first picture, select all, unfolding, an edit, a comparison.

Page, browser, server and kernel are processes of their own, as for a user, so this benchmark runs on all cores, unlike
the others.

Baselines, in the same browser: a picture by pyvis for first pictures; redrawing the whole topology for an edit; and for
the comparer, running the comparison again in a notebook cell and showing it as HTML.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from measure import row

from tests.browser.chromium import launched, missing
from tests.browser.lab import PATIENCE_MS, Notebook, open_notebook, start_lab
from workbench.formats.fabric.registry import get_format
from workbench.formats.snapshot_file import save
from workbench.topology.generate import Fabric

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

    from tests.browser.lab import Server

#: 7 pods of 116 leaves of 25 nodes: 20,300 nodes; one pod with all that it holds is 3,017 items.
FABRIC = "Fabric((25, 116, 7)).snapshot()"
PODS, LEAVES, NODES = 7, 116, 25

EDITS = 40

_CELL = f"""
import workbench
from workbench.topology.generate import Fabric
from workbench.topology.job_shape import JobShape, scenario_of
from workbench.widgets.editor import TopologyEditor
from workbench.widgets.workbench import Workbench
cluster = {FABRIC}
jobs = [JobShape("train", 250, mode="soft"), JobShape("tune", 100, mode="hard", highest_tier=2)]
"""

# Milliseconds from a key or a click until an attribute of the widget says that the answer is drawn.
_UNTIL = """
async ([root, attribute, key, button]) => {
  const before = root.dataset[attribute];
  const began = performance.now();
  const changed = new Promise((done) => {
    const watch = new MutationObserver(() => root.dataset[attribute] !== before && (watch.disconnect(), done()));
    watch.observe(root, {attributes: true});
  });
  if (button) [...root.querySelectorAll('button')].find((b) => b.textContent === button).click();
  else root.querySelector('.wb-canvas').dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  await changed;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - began;
}
"""

# From the edit of one widget until the result of the other is drawn.
_RESCORE = """
async ([editor, comparer]) => {
  const before = comparer.dataset.results;
  const began = performance.now();
  const changed = new Promise((done) => {
    const watch = new MutationObserver(() => comparer.dataset.results !== before && (watch.disconnect(), done()));
    watch.observe(comparer, {attributes: true});
  });
  editor.querySelector('.wb-canvas').dispatchEvent(new KeyboardEvent('keydown', {key: 'n', bubbles: true}));
  await changed;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - began;
}
"""

_FIRST = """
async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  panel.content.activeCellIndex = 1;
  const began = performance.now();
  window.jupyterapp.commands.execute('notebook:run-cell');
  for (;;) {
    if (document.querySelector('.wb-editor[data-ready=true]')) return performance.now() - began;
    await new Promise((done) => requestAnimationFrame(done));
  }
}
"""


# From running a cell that opens a file until its drawing stands on the page.
_OPENED = """
async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  panel.content.activeCellIndex = 1;
  const began = performance.now();
  window.jupyterapp.commands.execute('notebook:run-cell');
  for (;;) {
    const editor = document.querySelector('.wb-editor[data-ready=true]');
    if (Number(editor?.dataset.drawn) > 0) break;
    await new Promise((done) => requestAnimationFrame(done));
  }
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - began;
}
"""

# From the key until everything is marked in the drawing and the kernel knows of it.
_SELECT_ALL = """
async (root) => {
  const began = performance.now();
  const pressed = new KeyboardEvent('keydown', {key: 'a', ctrlKey: true, bubbles: true});
  root.querySelector('.wb-canvas').dispatchEvent(pressed);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  while (root.dataset.pending === '1') await new Promise((done) => setTimeout(done, 1));
  return performance.now() - began;
}
"""

# The same drawing thrown away and made anew.
_AFRESH = """
async (root) => {
  const began = performance.now();
  root.shown(true);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - began;
}
"""

# From running a cell until its output holds other pictures than before.
_RERUN = """
async (index) => {
  const panel = window.jupyterapp.shell.currentWidget;
  panel.content.activeCellIndex = index;
  const output = panel.content.widgets[index].node;
  const before = output.querySelector('.tw-topology');
  const began = performance.now();
  window.jupyterapp.commands.execute('notebook:run-cell');
  for (;;) {
    const shown = output.querySelector('.tw-topology');
    if (shown !== null && shown !== before) break;
    await new Promise((done) => requestAnimationFrame(done));
  }
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - began;
}
"""


def rows() -> Iterator[dict[str, object]]:
    """Rows of the result table, each with its goal; without a browser no row, but a line that says why."""
    if reason := missing():
        print(f"bench_widgets: {reason}; skipped", file=sys.stderr)
        return
    with _all_cores(), tempfile.TemporaryDirectory() as folder, launched() as browser:
        server = start_lab(Path(folder))
        try:
            whole = "pyvis, all unfolded: it cannot fold", _pyvis(browser, PODS)
            yield from _files(browser, server, whole)
            yield from _editor(browser, server, whole)
            yield from _workbench(browser, server)
        finally:
            server.process.terminate()
            server.process.wait(timeout=30)


def slow_rows() -> Iterator[dict[str, object]]:
    """A row about opening a fleet of 131,072 nodes, which is folded to 33 items."""
    if missing():
        return
    with _all_cores(), tempfile.TemporaryDirectory() as folder, launched() as browser:
        server = start_lab(Path(folder))
        try:
            made = "import workbench\nfleet = workbench.generate_scenario('fleet').snapshot"
            spent = []
            for i in range(3):
                cells = [made, "editor = workbench.TopologyEditor(fleet)\neditor"]
                notebook = open_notebook(browser, server, f"bench-fleet-{i}", cells)
                notebook.run(0)
                spent.append(notebook.page.evaluate(_OPENED))
                shown = notebook.panel("editor").get_attribute("data-drawn")
                notebook.page.context.close()
            times, note = [ms * 1e3 for ms in spent], f"{shown} items drawn, from running the cell"
            yield row("editor, a fleet's first picture", "131072 nodes, folded", times, "none", None, 5e6, note, "p50")
        finally:
            server.stop()


@contextmanager
def _all_cores() -> Iterator[None]:
    """Context manager that lets this process use all cores again, after `run.py` has pinned it to one."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    yield
    os.sched_setaffinity(0, before)


def _row(
    benchmark: str, size: str, milliseconds: list[float], goal_ms: float, note: str, baseline: tuple[str, float]
) -> dict[str, object]:
    what, baseline_ms = baseline
    return row(benchmark, size, [ms * 1e3 for ms in milliseconds], what, baseline_ms * 1e3, goal_ms * 1e3, note)


def _pyvis(browser: Browser, pods: int) -> float:
    """Milliseconds until pyvis has drawn so many pods, with positions given and physics off."""
    from pyvis.network import Network

    began = time.perf_counter()
    # Undirected, pyvis compares every edge with all before it.
    network = Network(cdn_resources="in_line", directed=True)
    network.toggle_physics(False)
    for pod in range(pods):
        network.add_node(f"pod-{pod}", x=(pod + 0.5) * 1200, y=-100)
        for leaf in range(LEAVES):
            x, y = pod * 1200 + leaf % 12 * 100, leaf // 12 * 120
            network.add_node(f"leaf-{pod}-{leaf}", x=x, y=y)
            network.add_edge(f"pod-{pod}", f"leaf-{pod}-{leaf}")
            for node in range(NODES):
                name = f"node-{pod}-{leaf}-{node}"
                network.add_node(name, x=x + node % 5 * 18, y=y + 20 + node // 5 * 18)
                network.add_edge(f"leaf-{pod}-{leaf}", name)
    page = browser.new_page(viewport={"width": 1500, "height": 1000})
    # What it asks of the outside is refused, not waited for.
    page.route("http*://**", lambda route: route.abort())
    page.set_content(network.generate_html(notebook=False), timeout=10 * PATIENCE_MS)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    spent = (time.perf_counter() - began) * 1e3
    page.close()
    return spent


def _select_first(notebook: Notebook, panel: Locator) -> None:
    panel.locator(".wb-canvas").focus()
    notebook.page.keyboard.press("ArrowUp")
    notebook.page.keyboard.press("ArrowDown")
    notebook.settle(panel)


def _until(notebook: Notebook, panel: Locator, attribute: str, key: str = "", button: str = "") -> float:
    spent: float = notebook.page.evaluate(_UNTIL, [panel.element_handle(), attribute, key, button])
    notebook.settle(panel)
    return spent


def _files(browser: Browser, server: Server, whole: tuple[str, float]) -> Iterator[dict[str, object]]:
    """Rows about opening a file of 20,300 nodes, and selecting all of them for the first time."""
    snapshot = Fabric((NODES, LEAVES, PODS)).snapshot()
    selections = []
    for name, goal_ms in (("snapshot.json", 3_000), ("snapshot.yaml", 5_000), ("manifests.yaml", 5_000)):
        path = server.folder / name
        if name == "manifests.yaml":
            path.write_text(get_format("cluster").write(snapshot).text)
        else:
            save(snapshot, path)
        cell = f"bench = Workbench({str(path)!r})\nbench"
        notebook = open_notebook(browser, server, f"bench-{path.stem}-{path.suffix[1:]}", [_CELL, cell])
        notebook.run(0)
        opened = notebook.page.evaluate(_OPENED)
        yield _row(
            "workbench, first picture", f"20300 nodes, {name}", [opened], goal_ms, "from running the cell", whole
        )
        panel = notebook.panel("editor")
        notebook.settle(panel)
        selections.append(notebook.page.evaluate(_SELECT_ALL, panel.element_handle()))
        afresh = "the items drawn anew", median(panel.evaluate(_AFRESH) for _ in range(5))
        notebook.page.context.close()
    yield _row("editor, select all", "20300 nodes", selections, 300, "first time; key to kernel's answer", afresh)


def _editor(browser: Browser, server: Server, whole: tuple[str, float]) -> Iterator[dict[str, object]]:
    notebook = open_notebook(browser, server, "bench-editor", [_CELL, "editor = TopologyEditor(cluster)\neditor"])
    notebook.run(0)
    first = notebook.page.evaluate(_FIRST)
    panel = notebook.panel("editor")
    yield _row("editor, first picture", "20300 nodes, folded", [first], 5_000, "from running the cell", whole)
    notebook.page.wait_for_function("r => r.dataset.findings", arg=panel.element_handle(), timeout=PATIENCE_MS)
    _select_first(notebook, panel)
    _until(notebook, panel, "drawn", button="Unfold")
    unfolded = _until(notebook, panel, "drawn", button="Unfold")
    shown = panel.get_attribute("data-drawn")
    pod = "pyvis, one pod's items alone", _pyvis(browser, 1)
    yield _row("editor, unfold", "20300 nodes", [unfolded], 3_000, f"{shown} items drawn", pod)
    for size, prepare in (("3,000 drawn", False), ("folded", True)):
        if prepare:
            panel.get_by_role("button", name="Fold", exact=True).click()
        edits = [_until(notebook, panel, "revision", key="n") for _ in range(EDITS + 1)]
        drawn = panel.get_attribute("data-drawn")
        afresh = "the items drawn anew", median(panel.evaluate(_AFRESH) for _ in range(5))
        note = f"key to picture, {drawn} items drawn"
        yield _row("editor, one edit", f"20300 nodes, {size}", edits[1:], 100, note, afresh)
    notebook.page.context.close()


def _workbench(browser: Browser, server: Server) -> Iterator[dict[str, object]]:
    cell = "bench = Workbench(scenario_of(Fabric((10, 10, 10)), jobs), ['volcano-1.13', 'spread'])\nbench"
    again = "workbench.compare(bench.comparer.gangs, bench.snapshot, ['volcano-1.13', 'spread'])"
    notebook = open_notebook(browser, server, "bench-workbench", [_CELL, cell, again])
    notebook.run(0)
    notebook.run(1)
    editor, comparer = notebook.panel("editor"), notebook.panel("comparer")
    notebook.page.wait_for_function(
        "r => Number(r.dataset.results ?? 0) > 0", arg=comparer.element_handle(), timeout=PATIENCE_MS
    )
    _select_first(notebook, editor)
    times = []
    for _ in range(EDITS + 1):
        times.append(notebook.page.evaluate(_RESCORE, [editor.element_handle(), comparer.element_handle()]))
        notebook.settle(editor)
        notebook.settle(comparer)
    rerun = "a cell that compares, run again", median(notebook.page.evaluate(_RERUN, 2) for _ in range(5))
    note = "2 policies, 350 pods; key to pictures"
    yield _row("comparer, after an edit", "1000 nodes", times[1:], 100, note, rerun)
    notebook.page.context.close()
