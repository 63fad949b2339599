"""The matrix loader in JupyterLab: what the page shows is what the kernel holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.browser.lab import PATIENCE_MS, ROOT, Notebook, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = """
from workbench.widgets.matrix_loader import MatrixLoader
loader = MatrixLoader([[0, 50, 10, 10], [50, 0, 10, 10], [10, 10, 0, 40], [10, 10, 40, 0]])
loader
"""

EMPTY = """
from workbench.widgets.matrix_loader import MatrixLoader
loader = MatrixLoader()
loader
"""

# A machine of groups that fast links join, one link of it slow in one direction.
SIZES = """
import numpy as np
from workbench.widgets.matrix_loader import MatrixLoader
group = np.arange({n}) // {group}
gb_s = np.where(group[:, None] == group[None, :], 392.0, 96.0)
gb_s[0, 1] = 40.0
loader = MatrixLoader(gb_s)
loader
"""

# Noise: a search of many of them lasts for hours.
NOISY = """
import numpy as np
from workbench.widgets.matrix_loader import MatrixLoader
loader = MatrixLoader(np.random.default_rng(0).random((200, 200)))
loader
"""

# Typed in the form of `nvidia-smi topo -m`.
TOPO = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity
GPU0\t X \tSYS\tNV2\tSYS\t0-15\t0
GPU1\tSYS\t X \tSYS\tSYS\t0-15\t0
GPU2\tNV2\tSYS\t X \tSYS\t16-31\t1
GPU3\tSYS\tSYS\tSYS\t X \t16-31\t1
"""

# Two NICs, each on the switch of two GPUs.
NICS = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV4\tSYS\tSYS\tPIX\tSYS\t0-15\t0
GPU1\tNV4\t X \tSYS\tSYS\tPIX\tSYS\t0-15\t0
GPU2\tSYS\tSYS\t X \tNV8\tSYS\tPXB\t16-31\t1
GPU3\tSYS\tSYS\tNV8\t X \tSYS\tPXB\t16-31\t1
NIC0\tPIX\tPIX\tSYS\tSYS\t X \tSYS
NIC1\tSYS\tSYS\tPXB\tPXB\tSYS\t X

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""

DROP = """
(root, {name, text}) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name, {type: 'text/plain'}));
  root.dispatchEvent(new DragEvent('drop', {dataTransfer: files, bubbles: true, cancelable: true}));
}
"""


def drop(notebook: Notebook, panel, name: str, text: str) -> None:
    panel.evaluate(DROP, {"name": name, "text": text})
    panel.page.wait_for_function("e => e.querySelector('.wb-notes li') !== null", arg=panel.element_handle())
    notebook.settle(panel)


def quiet(notebook: Notebook) -> bool:
    return notebook.outside == [] and notebook.complaints == []


def test_mouse_and_keys_choose_the_set(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "matrix", [CELL])
    notebook.run(0)
    panel = notebook.panel("matrix")
    notebook.settle(panel)
    assert notebook.kernel("loader.best.gpus") == [0, 1]
    gpu = panel.locator(".wb-gpus button")
    gpu.nth(0).click()
    notebook.settle(panel)
    assert notebook.kernel("loader.best.gpus") == [2, 3]
    # By keyboard: two to the right, require that one; then k by the slider.
    panel.page.keyboard.press("ArrowRight")
    panel.page.keyboard.press("ArrowRight")
    panel.page.keyboard.press("r")
    notebook.settle(panel)
    assert notebook.kernel("list(loader.question.states)") == ["taken", "free", "required", "free"]
    gpu.nth(3).click(modifiers=["Shift"])
    notebook.settle(panel)
    assert notebook.kernel("[loader.best.gpus, loader.question.states[3]]") == [[1, 2], "avoided"]
    panel.get_by_label("number of GPUs k").focus()
    panel.page.keyboard.press("ArrowLeft")
    notebook.settle(panel)
    assert notebook.kernel("loader.question.k") == 1
    # A policy's row, by keyboard, keeps the focus; the entries of the heat map are read with arrows.
    row = panel.get_by_role("button", name="gpu-lowest-index", exact=True)
    row.focus()
    panel.page.keyboard.press("Enter")
    notebook.settle(panel)
    assert row.evaluate("e => e === document.activeElement && e.getAttribute('aria-pressed')") == "true"
    panel.locator(".wb-heatmap").focus()
    panel.page.keyboard.press("ArrowDown")
    notebook.settle(panel)
    assert panel.locator(".wb-pointed").inner_text() == "GPU 1, gpu_1"
    panel.page.keyboard.press("ArrowLeft")
    notebook.settle(panel)
    assert panel.locator(".wb-pointed").inner_text() == "gpu_1 → gpu_0: 50 GB/s; back 50 GB/s"
    assert panel.page.locator(".jp-Notebook .jp-CodeCell").count() == 1  # no key inserted a cell
    assert quiet(notebook)


def test_a_long_search_is_shown_and_given_up_while_the_kernel_answers(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "noisy", [NOISY])
    notebook.run(0)
    panel = notebook.panel("matrix")
    notebook.settle(panel)
    k, searching = panel.get_by_label("k", exact=True), panel.locator(".wb-searching")
    assert searching.is_hidden()
    k.fill("40")
    k.press("Enter")
    searching.get_by_text("searching for the best 40 of 200 GPUs").wait_for(timeout=PATIENCE_MS)
    assert notebook.kernel("loader.question.k") == 2
    searching.get_by_role("button", name="Cancel").click()
    searching.wait_for(state="hidden", timeout=PATIENCE_MS)
    notebook.settle(panel)
    assert k.input_value() == "2"

    # Again by the keyboard, once the progress was told.
    k.fill("41")
    k.press("Enter")
    searching.get_by_text(re.compile(r"searching for the best 41 of 200 GPUs, \d+ s")).wait_for(timeout=PATIENCE_MS)
    searching.get_by_role("button", name="Cancel").focus()
    notebook.page.keyboard.press("Enter")
    searching.wait_for(state="hidden", timeout=PATIENCE_MS)
    notebook.settle(panel)
    assert k.input_value() == "2" and notebook.kernel("loader.wait(20)") is True
    assert quiet(notebook)


def test_a_dropped_printout_is_chosen_from_and_an_error_keeps_the_text(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "printout", [EMPTY])
    notebook.run(0)
    panel = notebook.panel("matrix")
    drop(notebook, panel, "topo.txt", TOPO)
    assert notebook.kernel("[loader.best.gpus, loader.matrix.source]") == [[0, 2], "topo.txt"]
    paste = panel.get_by_label("printout", exact=True)
    assert paste.input_value() == TOPO
    paste.fill("0 1 2\n1 0 what\n2 3 0\n")
    panel.get_by_role("button", name="Load text").click()
    notebook.settle(panel)
    assert "line 2" in panel.locator(".wb-message").inner_text()
    selected = paste.evaluate("e => e.value.slice(e.selectionStart, e.selectionEnd)")
    assert selected == "1 0 what"
    assert notebook.kernel("len(loader.matrix)") == 4
    paste.fill("0 1 2\n1 0 9\n2 9 0\n")
    panel.get_by_role("button", name="Load text").click()
    notebook.settle(panel)
    assert notebook.kernel("loader.best.gpus") == [1, 2]
    assert panel.locator(".wb-message").is_hidden()

    # A file by the button; then the clipboard, which needs no button.
    page = panel.page
    with page.expect_file_chooser() as chooser:
        panel.get_by_role("button", name="Open file …").click()
    chooser.value.set_files(ROOT / "datasets" / "koordinator-matrices" / "matrix-a.txt")
    panel.locator(".wb-notes").get_by_text("8 GPUs from matrix-a.txt").wait_for(timeout=PATIENCE_MS)
    assert "1 → 4 has 4.64 GB/s" in panel.locator(".wb-suspicious").inner_text()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("text => navigator.clipboard.writeText(text)", TOPO)
    paste.fill("")
    page.keyboard.press("Control+v")
    panel.locator(".wb-notes").get_by_text("4 GPUs from pasted text").wait_for(timeout=PATIENCE_MS)
    assert notebook.kernel("loader.best.gpus") == [0, 2]
    assert quiet(notebook)


def test_a_real_printout_of_nvidia_smi_is_dropped(chromium, lab: Server, public_data: Path):
    printout = public_data / "matrices" / "topo_m_v100_sxm2_8_oneflow.txt"
    notebook = open_notebook(chromium, lab, "real", [EMPTY])
    notebook.run(0)
    panel = notebook.panel("matrix")
    drop(notebook, panel, printout.name, printout.read_text())
    panel.get_by_label("k", exact=True).fill("4")
    panel.get_by_label("k", exact=True).press("Enter")
    notebook.settle(panel)
    assert notebook.kernel("[len(loader.matrix), loader.question.k]") == [8, 4]
    chosen = notebook.kernel("loader.best.gpus")
    marked = panel.locator(".wb-gpus button[data-chosen=true]")
    assert [int(i) for i in marked.evaluate_all("all => all.map(e => [...e.parentNode.children].indexOf(e))")] == chosen
    # A policy's choice is drawn instead when it is asked for.
    panel.get_by_role("button", name="gpu-lowest-index", exact=True).click()
    notebook.settle(panel)
    assert panel.locator(".wb-result").inner_text().startswith("gpu-lowest-index: {0, 1, 2, 3}")
    notebook.screenshot(panel, "matrix-real-v100")
    assert quiet(notebook)


@pytest.mark.parametrize(("width", "theme"), [(1000, "light"), (1000, "dark"), (1440, "light"), (1440, "dark")])
def test_the_chosen_gpus_are_copied_as_variables_and_show_their_nics(chromium, lab: Server, width: int, theme: str):
    notebook = open_notebook(chromium, lab, f"nics-{width}-{theme}", [EMPTY], theme)
    page = notebook.page
    page.set_viewport_size({"width": width, "height": 1000})
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    notebook.run(0)
    panel = notebook.panel("matrix")
    drop(notebook, panel, "topo.txt", NICS)

    line, copy = panel.locator(".wb-to-copy"), panel.get_by_role("button", name="Copy", exact=True)
    assert line.inner_text() == "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2,3"
    near = panel.get_by_label("near the GPUs shown")
    assert near.locator("li").all_inner_texts() == ["near NIC mlx5_1: GPU 2, 3 (PXB)", "NUMA nodes: 1"]
    told = panel.locator(".wb-heatmap text").all_text_contents()
    assert told.count("PIX mlx5_0") == 2 and told.count("PXB mlx5_1") == 2
    assert any(text.startswith("beside the rows: NUMA nodes") for text in told)
    assert panel.locator(".wb-machine .tw-nic").count() == 2
    assert "legend below tells what colours" in panel.locator(".wb-heatmap").get_attribute("title")

    copy.click()
    panel.get_by_text("copied", exact=True).wait_for()
    assert page.evaluate("() => navigator.clipboard.readText()") == line.inner_text()
    notebook.screenshot(panel, f"matrix-nics-{width}-{theme}")

    # By the keyboard: three GPUs, then the next button is pressed where the page may not write to the clipboard.
    k = panel.get_by_label("k", exact=True)
    k.fill("3")
    k.press("Enter")
    notebook.settle(panel)
    assert line.inner_text().endswith("CUDA_VISIBLE_DEVICES=0,2,3")
    assert panel.get_by_text("copied", exact=True).count() == 0
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    copy.focus()
    page.keyboard.press("Enter")
    panel.get_by_text("selected: press Ctrl+C to copy").wait_for()
    assert page.evaluate("() => getSelection().toString()") == line.inner_text()

    # A tie or a policy's choice is copied when it is shown.
    panel.get_by_role("button", name="next tie").focus()
    page.keyboard.press("Enter")
    notebook.settle(panel)
    assert line.inner_text().endswith("CUDA_VISIBLE_DEVICES=1,2,3")
    # Nothing is cut off on the right.
    assert panel.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    assert quiet(notebook)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_size_can_be_read(chromium, lab: Server, theme: str):
    sizes = {8: (4, 3), 72: (18, 8), 384: (8, 16)}
    cells = [SIZES.format(n=n, group=group) for n, (group, _) in sizes.items()]
    notebook = open_notebook(chromium, lab, f"sizes-{theme}", cells, theme)
    notebook.page.set_viewport_size({"width": 1500, "height": 1500})
    for index, (n, (group, k)) in enumerate(sizes.items()):
        notebook.run(index)
        panel = notebook.page.locator(".jp-Notebook .jp-CodeCell").nth(index).locator(".wb-matrix[data-ready=true]")
        panel.wait_for(state="visible", timeout=PATIENCE_MS)
        panel.get_by_label("k", exact=True).fill(str(k))
        panel.get_by_label("k", exact=True).press("Enter")
        # Until the answer is drawn the page still shows the question before, its check boxes too.
        notebook.settle(panel)
        panel.get_by_label("show asymmetry").check()
        notebook.settle(panel)
        notebook.screenshot(panel, f"matrix-{n}-{theme}")
        assert panel.locator(".wb-gpus button").count() == n
        box = panel.locator(".wb-machine svg").bounding_box()
        assert box["width"] > 200 and 0.3 < box["width"] / box["height"] < 4
        drawn = panel.locator(".wb-machine [data-gpu]").first.bounding_box()
        assert drawn["width"] >= 4 and drawn["height"] >= 4
        if n > 24:
            # An island's box takes all of it away; the label "GPUs" lies on it, so its corner is clicked.
            box_of = panel.locator(".wb-machine [data-gpus]").nth(0)
            box_of.click(position={"x": 2, "y": 2})
            notebook.settle(panel)
            assert notebook.kernel("loader.question.states.count('taken')") == group
        # The picture fits the page: nothing is cut off on the right.
        assert panel.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    assert quiet(notebook)
