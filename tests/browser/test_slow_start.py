"""A page so busy that anywidget gives a widget up before its module is loaded still shows it, and it answers."""

from __future__ import annotations

import pytest

from tests.browser.gestures import click
from tests.browser.lab import PATIENCE_MS, Server, open_notebook
from tests.browser.watched import GIVEN_UP

pytestmark = pytest.mark.browser

CELL = """
from workbench.topology.generate import Fabric
from workbench.topology.job_shape import JobShape, scenario_of
from workbench.widgets.workbench import Workbench
bench = Workbench(scenario_of(Fabric((4, 3)), [JobShape("train", 4)]), ["gang"])
bench
"""

#: anywidget waits two seconds for a widget's module; here it waits for none.
NO_PATIENCE = """() => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    AbortSignal.timeout = (ms) => timeout(ms === 2000 ? 0 : ms);
}"""


def test_a_widget_that_anywidget_gave_up_answers_and_follows_the_kernel(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "slow-start", [CELL])
    refused: list[str] = []
    notebook.page.on("pageerror", lambda error: refused.append(str(error)))
    notebook.page.evaluate(NO_PATIENCE)
    notebook.run(0)
    editor, comparer = notebook.panel("editor"), notebook.panel("comparer")
    comparer.page.wait_for_function(
        "root => Number(root.dataset.results ?? 0) > 0", arg=comparer.element_handle(), timeout=PATIENCE_MS
    )
    assert GIVEN_UP in refused
    before = editor.get_attribute("data-revision")
    click(editor, "node00")
    notebook.settle(editor)
    notebook.page.keyboard.press("c")
    editor.page.wait_for_function(
        "([root, before]) => root.dataset.revision !== before", arg=[editor.element_handle(), before]
    )
    notebook.settle(editor)
    assert notebook.outside == [] and notebook.complaints == []
