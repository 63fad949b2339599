"""Tests of a notebook shown by Voila as a page without cells."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.browser.lab import PATIENCE_MS, ROOT, Notebook, start_server

pytestmark = pytest.mark.browser


@pytest.fixture
def voila(tmp_path):
    pytest.importorskip("voila")
    shutil.copy(ROOT / "notebooks" / "workbench.ipynb", tmp_path)
    (tmp_path.parent / "datasets").exists() or shutil.copytree(ROOT / "datasets", tmp_path.parent / "datasets")
    server = start_server(
        tmp_path,
        ["voila", "workbench.ipynb", "--no-browser", "--port={port}", "--Voila.ip=127.0.0.1"],
        "/voila/static/voila.js",
    )
    yield server
    server.stop()


def test_the_workbench_draws_and_compares_as_a_page(chromium, voila):
    context = chromium.new_context(viewport={"width": 1500, "height": 1000})
    context.set_default_timeout(PATIENCE_MS)
    notebook = Notebook(context.new_page(), voila, "workbench")
    notebook.cut_off(voila.url, "data:", "blob:")
    notebook.page.goto(voila.url, timeout=PATIENCE_MS)
    editor, comparer = notebook.panel("editor"), notebook.panel("comparer")
    notebook.page.wait_for_function(
        "root => Number(root.dataset.results ?? 0) > 0", arg=comparer.element_handle(), timeout=PATIENCE_MS
    )
    assert comparer.locator("svg.tw-topology").count() >= 2
    assert editor.evaluate("root => root.pictureBox().smallest") >= 4
    notebook.settle(editor)
    notebook.screenshot(editor, "voila-editor")
    notebook.page.screenshot(path=ROOT / "out" / "screenshots" / "voila.png", full_page=True)
    # Voila's own style asks for Font Awesome; without it the page works all the same.
    assert [url for url in notebook.outside if not re.search("font-?awesome", url)] == []
    assert [text for text in notebook.complaints if "net::ERR_FAILED" not in text] == []
    context.close()
