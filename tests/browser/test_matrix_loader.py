"""The matrix loader in JupyterLab: what the page shows is what the kernel holds."""

from __future__ import annotations

import pytest

from tests.browser.lab import Server, open_notebook

pytestmark = pytest.mark.browser

CELL = """
from workbench.widgets.matrix_loader import MatrixLoader
loader = MatrixLoader([[0, 50, 10, 10], [50, 0, 10, 10], [10, 10, 0, 40], [10, 10, 40, 0]])
loader
"""


def test_k_and_the_free_gpus_choose_the_set(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "matrix", [CELL])
    notebook.run(0)
    panel = notebook.panel("matrix")
    notebook.settle(panel)
    notebook.screenshot(panel, "matrix-4")
    assert notebook.kernel("loader.best.gpus") == [0, 1]
    panel.get_by_role("button", name="gpu_0", exact=True).click()
    notebook.settle(panel)
    assert notebook.kernel("loader.best.gpus") == [2, 3]
    assert notebook.outside == [] and notebook.complaints == []
