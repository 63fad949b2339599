"""Two browser tabs on one kernel: both follow each edit, and either goes on when the other is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.gestures import click
from tests.browser.lab import PATIENCE_MS, Notebook, Server, open_notebook, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = pytest.mark.browser

CELL = """
from workbench.topology.generate import Fabric
from workbench.topology.job_shape import JobShape, scenario_of
from workbench.widgets.workbench import Workbench
bench = Workbench(scenario_of(Fabric((4, 3)), [JobShape("train", 4)]), ["gang"])
bench
"""


def cordon(notebook: Notebook, name: str) -> None:
    """Cordon a node by mouse and keyboard, and wait for the placements that follow."""
    editor, comparer = notebook.panel("editor"), notebook.panel("comparer")
    before, drawn = comparer.get_attribute("data-results"), revision(editor)
    click(editor, name)
    notebook.settle(editor)
    notebook.page.keyboard.press("c")
    # Placements of the other tab's edit may come in between, so the edit itself is waited for, too.
    editor.page.wait_for_function(
        "([root, drawn]) => root.dataset.revision !== drawn",
        arg=[editor.element_handle(), drawn],
        timeout=PATIENCE_MS,
    )
    comparer.page.wait_for_function(
        "([root, before]) => root.dataset.results !== before && root.dataset.pending === '0'",
        arg=[comparer.element_handle(), before],
        timeout=PATIENCE_MS,
    )
    notebook.settle(editor)


def revision(editor: Locator) -> str | None:
    return editor.get_attribute("data-revision")


def test_both_tabs_follow_each_edit_and_either_goes_on_alone(chromium, lab: Server):
    first = open_notebook(chromium, lab, "two-tabs", [CELL])
    first.run(0)
    first.panel("comparer")
    first.settle(first.panel("editor"))
    first.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    second = open_page(chromium, lab, "two-tabs")
    second.panel("comparer")
    for here, there, name in ((first, second, "node00"), (second, first, "node01"), (first, second, "node02")):
        cordon(here, name)
        there.page.wait_for_function(
            "([root, revision]) => root.dataset.revision === revision",
            arg=[there.panel("editor").element_handle(), revision(here.panel("editor"))],
            timeout=PATIENCE_MS,
        )
    # The tab that spoke last is closed; the other one is still answered.
    second.page.keyboard.press("Escape")
    cordon(second, "node05")
    second.page.context.close()
    first.page.wait_for_timeout(1500)
    cordon(first, "node06")
    button = first.panel("comparer").locator(".wb-explain").first
    button.click()
    first.panel("comparer").locator(".wb-detail").wait_for(state="visible", timeout=PATIENCE_MS)
    cordoned = "sorted(i.name for i in bench.editor.draft if i.cordoned)"
    assert first.kernel(cordoned) == ["node00", "node01", "node02", "node05", "node06"]
    assert first.outside == [] and first.complaints == []


#: Speaks to the pages from a thread without a pause, as a long comparison may.
SPEAK = """
import threading, time
def speak():
    for _ in range(4_000):
        for panel in (bench._bar, bench.editor, bench.matrices, bench.comparer):
            panel.tell("progress of something", {})
        time.sleep(0.01)
threading.Thread(target=speak).start()
"""


def test_a_page_that_is_opened_while_the_kernel_works_is_answered(chromium, lab: Server):
    first = open_notebook(chromium, lab, "two-tabs-busy", [CELL, SPEAK])
    first.run(0)
    first.panel("comparer")
    first.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    first.run(1)
    second = open_page(chromium, lab, "two-tabs-busy")
    for name in ("scenario", "editor", "comparer"):
        second.panel(name)
    cordon(second, "node00")
    assert second.outside == [] and second.complaints == []
