"""The topology editor in JupyterLab, by mouse and keyboard; what is drawn is read back from the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.gestures import click, drag, drop_text, where
from tests.browser.lab import PATIENCE_MS, ROOT, Notebook, Server, open_notebook

pytestmark = pytest.mark.browser

EMPTY = """
from workbench.widgets.editor import TopologyEditor
editor = TopologyEditor()
editor
"""

SHAPE = """sorted([i.kind, i.name, i.tier, editor.draft[i.parent].name if i.parent else ""] for i in editor.draft)"""


def names(notebook: Notebook) -> list[str]:
    return notebook.kernel("sorted(item.name for item in editor.draft)")


def test_a_tree_is_drawn_from_nothing_by_mouse_and_keyboard(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "editor", [EMPTY])
    notebook.run(0)
    panel = notebook.panel("editor")
    page = notebook.page
    canvas = panel.locator(".wb-canvas")

    palette = panel.get_by_role("button", name="+ switch")
    box, target = palette.bounding_box(), canvas.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(target["x"] + 300, target["y"] + 200, steps=5)
    page.mouse.up()
    notebook.settle(panel)
    assert names(notebook) == ["s0"]

    canvas.focus()
    for key in ("s", "s", "n", "n"):
        page.keyboard.press(key)
        notebook.settle(panel)
        page.keyboard.press("ArrowUp") if key == "n" else None
        notebook.settle(panel)
    assert names(notebook) == ["node-0", "node-1", "s0", "s1", "s2"]
    tiers = "{i.name: i.tier for i in editor.draft if i.kind == 'switch'}"
    assert notebook.kernel(tiers) == {"s0": 3, "s1": 2, "s2": 1}

    click(panel, "s0")
    notebook.settle(panel)
    panel.get_by_label("leaves").fill("2")
    panel.get_by_label("nodes of each").fill("3")
    panel.get_by_role("button", name="Add", exact=True).click()
    notebook.settle(panel)
    assert len(names(notebook)) == 5 + 2 + 6

    drag(panel, "node-0", "leaf-1")
    notebook.settle(panel)
    assert notebook.kernel("editor.draft[editor.draft.find('node', 'node-0').parent].name") == "leaf-1"
    notebook.screenshot(panel, "editor-small")

    drawn = notebook.kernel("[i.to_dict() for i in editor.draft]")
    canvas.focus()
    for _ in range(20):
        page.keyboard.press("Control+z")
    notebook.settle(panel)
    assert names(notebook) == []
    for _ in range(20):
        page.keyboard.press("Control+Shift+Z")
    notebook.settle(panel)
    assert notebook.kernel("[i.to_dict() for i in editor.draft]") == drawn

    with page.expect_download() as download:
        panel.get_by_role("button", name="Export").click()
    text = Path(download.value.path()).read_text()
    canvas.focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    notebook.settle(panel)
    assert names(notebook) == []
    drop_text(panel, ".wb-canvas", "drawn.yaml", text)
    panel.locator(".wb-message").get_by_text("drawn.yaml").wait_for(timeout=PATIENCE_MS)
    assert notebook.kernel(SHAPE) == sorted(
        [i["kind"], i["name"], i.get("tier", 0), next((p["name"] for p in drawn if p["id"] == i["parent"]), "")]
        for i in drawn
    )
    assert notebook.page.locator(".jp-Cell").count() == 1, "a key reached the notebook"
    assert notebook.outside == [] and notebook.complaints == []


DEMO = f"""
from workbench.widgets.editor import TopologyEditor
editor = TopologyEditor({str(ROOT / "datasets" / "three-level-tree" / "hypernodes.yaml")!r})
editor
"""


def test_text_findings_flags_folding_and_the_clipboard(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "editor-parts", [DEMO], "dark")
    notebook.run(0)
    panel, page = notebook.panel("editor"), notebook.page
    assert panel.evaluate("root => getComputedStyle(root).backgroundColor") != "rgb(255, 255, 255)"

    # A cordoned and a failed node, set by key, and a failed link, by the form.
    click(panel, "node3")
    wait_selected(panel, "node3")
    page.keyboard.press("c")
    notebook.settle(panel)
    click(panel, "node6")
    wait_selected(panel, "node6")
    page.keyboard.press("x")
    panel.get_by_label("link failed").check()
    notebook.settle(panel)
    flags = "[i.name for i in editor.draft if i.{}]"
    assert notebook.kernel(flags.format("cordoned")) == ["node3"]
    assert notebook.kernel(flags.format("failed")) == notebook.kernel(flags.format("link_failed")) == ["node6"]

    # A tier that does not rise is marked where it is drawn, and listed.
    click(panel, "s0")
    wait_selected(panel, "s0")
    panel.get_by_label("tier", exact=True).fill("7")
    panel.get_by_label("tier", exact=True).press("Enter")
    page.wait_for_function("r => Number(r.dataset.findings) > 0", arg=panel.element_handle(), timeout=PATIENCE_MS)
    finding = panel.locator(".wb-findings li").first
    assert "s0" in finding.inner_text()
    # Findings stand under the name of their rule, which folds them; what to do stands there once.
    group = panel.locator(".wb-findings details").first
    listed = group.locator("li").count()
    assert group.locator("summary").inner_text().split()[-1] == str(listed)
    assert group.locator("p").inner_text() == group.locator("summary").get_attribute("title")
    rules = panel.locator(".wb-findings summary strong").all_inner_texts()
    assert rules == list(dict.fromkeys(rules))
    assert panel.locator(".wb-findings li").count() == int(panel.get_attribute("data-findings"))
    notebook.screenshot(panel, "editor-findings")
    group.locator("summary").press("Enter")
    assert not finding.is_visible()
    group.locator("summary").press("Enter")
    finding.click()
    panel.locator(".wb-canvas").focus()
    page.keyboard.press("Control+z")
    page.wait_for_function("r => r.dataset.findings === '0'", arg=panel.element_handle(), timeout=PATIENCE_MS)

    # Fold, unfold.
    before = int(panel.get_attribute("data-drawn"))
    click(panel, "s4")
    wait_selected(panel, "s4")
    page.keyboard.press("Enter")
    assert int(panel.get_attribute("data-drawn")) == before - 6
    page.keyboard.press("u")
    page.keyboard.press("u")
    assert int(panel.get_attribute("data-drawn")) == before

    at = where(panel, "s4")
    page.mouse.dblclick(at["x"], at["y"])
    assert int(panel.get_attribute("data-drawn")) == before - 6
    at = where(panel, "s4")
    page.mouse.dblclick(at["x"], at["y"])
    assert int(panel.get_attribute("data-drawn")) == before

    # Search by a regular expression and by a label.
    search = panel.get_by_label("search")
    search.fill("^node[01]$")
    search.press("Enter")
    notebook.settle(panel)
    assert notebook.kernel("editor.selection") == ["node0", "node1"]
    panel.get_by_label("labels").fill("rack=r1")
    panel.get_by_label("labels").press("Tab")
    notebook.settle(panel)
    search.fill("label:rack=r1")
    search.press("Enter")
    notebook.settle(panel)
    assert notebook.kernel("editor.selection") == ["node0", "node1"]

    # A sub-tree is copied under another switch; what was found had been zoomed to.
    panel.locator(".wb-canvas").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    click(panel, "s3")
    wait_selected(panel, "s3")
    page.keyboard.press("Control+c")
    notebook.settle(panel)
    click(panel, "s4")
    wait_selected(panel, "s4")
    page.keyboard.press("Control+v")
    notebook.settle(panel)
    assert {"s7", "node8", "node9"} <= set(names(notebook))

    # A name that is taken is refused, and the form has the old one again; then renaming by F2.
    click(panel, "s7")
    wait_selected(panel, "s7")
    name = panel.get_by_label("name", exact=True)
    name.fill("s3")
    name.press("Enter")
    panel.locator(".wb-message").get_by_text("the name is taken").wait_for(timeout=PATIENCE_MS)
    assert name.input_value() == "s7"
    tier = panel.get_by_label("tier", exact=True)
    tier.fill("-1")
    tier.press("Enter")
    panel.locator(".wb-message").get_by_text("a whole number >= 0").wait_for(timeout=PATIENCE_MS)
    assert tier.input_value() == "1"
    panel.locator(".wb-canvas").focus()
    page.keyboard.press("F2")
    page.keyboard.type("spare")
    page.keyboard.press("Enter")
    notebook.settle(panel)
    assert "spare" in names(notebook)

    # Help by `?`; Escape closes it.
    panel.locator(".wb-canvas").focus()
    page.keyboard.press("?")
    assert panel.get_by_role("dialog", name="help").is_visible()
    page.keyboard.press("Escape")
    assert not panel.get_by_role("dialog", name="help").is_visible()
    notebook.screenshot(panel, "editor-dark")
    assert page.locator(".jp-Cell").count() == 1, "a key reached the notebook"
    assert notebook.outside == [] and notebook.complaints == []


def test_the_most_recent_copy_is_pasted(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "editor-clipboard", [DEMO, DEMO])
    notebook.run(0)
    panel, page = notebook.panel("editor"), notebook.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def press(name, key):
        click(panel, name)
        wait_selected(panel, name)
        page.keyboard.press(key)
        notebook.settle(panel)

    press("s0", "Control+c")
    assert page.evaluate("navigator.clipboard.readText()") == "s0"
    press("s4", "Control+v")
    assert {"s7", "node8", "node9"} <= set(names(notebook))

    # Copied elsewhere since: that is what is pasted, as often as one likes.
    page.evaluate("text => navigator.clipboard.writeText(text)", "SwitchName=a Nodes=n[1-3]")
    panel.locator(".wb-canvas").focus()
    page.keyboard.press("Control+v")
    panel.locator(".wb-message").get_by_text("pasted text").wait_for(timeout=PATIENCE_MS)
    assert names(notebook) == ["a", "n1", "n2", "n3"]

    # And what is cut here after that: it goes, and comes back elsewhere.
    press("n2", "Control+x")
    assert names(notebook) == ["a", "n1", "n3"]
    page.keyboard.press("Control+v")
    notebook.settle(panel)
    assert names(notebook) == ["a", "n1", "n3", "n4"]

    # Another drawing does not have it.
    notebook.run(1)
    panel = notebook.panel("editor", 1)
    panel.locator(".wb-canvas").focus()
    page.keyboard.press("Control+v")
    panel.locator(".wb-message").get_by_text("nothing to paste").wait_for(timeout=PATIENCE_MS)
    assert notebook.outside == [] and notebook.complaints == []


LARGE = """
from workbench.topology.generate import Fabric
from workbench.widgets.editor import TopologyEditor
editor = TopologyEditor(Fabric((25, 20, 40)).snapshot())
editor
"""


def test_every_hit_of_a_search_is_selected_and_edited(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "editor-search", [LARGE])
    notebook.run(0)
    panel, page = notebook.panel("editor"), notebook.page
    drawn = panel.get_attribute("data-drawn")
    search = panel.get_by_label("search")
    search.fill("^node")
    search.press("Enter")
    panel.locator(".wb-inspector h4").get_by_text("20000 nodes").wait_for(timeout=PATIENCE_MS)
    hidden = panel.locator(".wb-side > p")
    assert hidden.inner_text() == "20,000 selected, 20,000 of them in folded switches; edits change all of them."
    assert panel.get_attribute("data-drawn") == drawn
    notebook.screenshot(panel, "editor-20000-hits")
    gpus = panel.get_by_label("GPUs", exact=True)
    gpus.fill("4")
    gpus.press("Enter")
    notebook.settle(panel)
    assert notebook.kernel("sorted({i.gpus for i in editor.draft if i.kind == 'node'})") == [4]
    assert notebook.kernel("len(editor.selection)") == 20_000

    # Some are shown, and stay selected together with one that is added by Shift.
    search.fill("^node00001$|^node00002$")
    search.press("Enter")
    panel.locator(".wb-inspector h4").get_by_text("2 nodes").wait_for(timeout=PATIENCE_MS)
    assert not hidden.is_visible() and int(panel.get_attribute("data-drawn")) > int(drawn)
    panel.get_by_role("button", name="Fold", exact=True).click()
    assert hidden.inner_text().startswith("2 selected, 2 of them in folded switches")
    page.keyboard.down("Shift")
    click(panel, "s840")
    page.keyboard.up("Shift")
    panel.locator(".wb-inspector h4").get_by_text("3 items").wait_for(timeout=PATIENCE_MS)
    click(panel, "s840")
    wait_selected(panel, "s840")
    notebook.settle(panel)
    assert notebook.kernel("editor.selection") == ["s840"]

    # A click on an empty place leaves nothing selected, of what is hidden either.
    search.fill("^node")
    search.press("Enter")
    panel.locator(".wb-inspector h4").get_by_text("20000 nodes").wait_for(timeout=PATIENCE_MS)
    box = panel.locator(".wb-canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 9, box["y"] + box["height"] - 9)
    panel.locator(".wb-inspector").get_by_text("Nothing is selected").wait_for(timeout=PATIENCE_MS)
    notebook.settle(panel)
    assert notebook.kernel("editor.selection") == []

    panel.locator(".wb-canvas").focus()
    page.keyboard.press("Control+a")
    panel.locator(".wb-inspector h4").get_by_text("20841 items").wait_for(timeout=PATIENCE_MS)
    page.keyboard.press("Delete")
    notebook.settle(panel)
    assert names(notebook) == []
    assert notebook.outside == [] and notebook.complaints == []


def test_a_drawing_too_large_for_a_text_says_so_and_takes_no_typing(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "editor-large-text", [LARGE])
    notebook.run(0)
    panel, page = notebook.panel("editor"), notebook.page
    panel.get_by_role("button", name="YAML").click()
    notebook.settle(panel)
    reason, content = panel.locator(".wb-no-text"), panel.locator(".wb-yaml .cm-content")
    assert reason.inner_text().startswith("20,841 HyperNodes and nodes are too many to edit as text")
    assert not content.is_visible()
    notebook.screenshot(panel, "editor-20000-text")

    # A part that is small enough can be edited, however often it is renamed meanwhile.
    search = panel.get_by_label("search")
    search.fill("^s000$")
    search.press("Enter")
    wait_selected(panel, "s000")
    notebook.settle(panel)
    assert not reason.is_visible() and "name: s000" in content.inner_text()
    content.click()
    for text in ("# mine\n", "# and mine\n"):
        page.keyboard.press("Control+Home")
        page.keyboard.insert_text(text)
        page.wait_for_timeout(600)
        notebook.settle(panel)
    written = "editor.receive({'id': 1, 'type': 'text', 'body': {'ids': [editor.draft.find('switch', 's000').id]}})"
    assert notebook.kernel(f"{written}['body']['text']").startswith("# and mine\n# mine\n")

    # Typed last and left at once: it stays with its own part.
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("# last\n")
    panel.locator(".wb-canvas").focus()
    page.keyboard.press("ArrowRight")
    wait_selected(panel, "s001")
    notebook.settle(panel)
    page.wait_for_function("e => e.innerText.includes('name: s001')", arg=content.element_handle(), timeout=PATIENCE_MS)
    assert "# last" not in content.inner_text()
    assert notebook.kernel(f"{written}['body']['text']").startswith("# last\n")
    assert notebook.outside == [] and notebook.complaints == []


def wait_selected(panel, name):
    panel.page.wait_for_function(
        "([root, name]) => root.querySelector('.wb-inspector input[aria-label=name]')?.value === name",
        arg=[panel.element_handle(), name],
        timeout=PATIENCE_MS,
    )


def test_yaml_with_an_error_is_kept_marked_and_mended(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "editor-yaml", [DEMO])
    notebook.run(0)
    panel, page = notebook.panel("editor"), notebook.page
    panel.get_by_role("button", name="YAML").click()
    notebook.settle(panel)
    content = panel.locator(".wb-yaml .cm-content")
    content.click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("# mine\napiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\n")
    page.keyboard.insert_text("metadata: {name: extra}\n")
    page.keyboard.insert_text("spec: {tier: one, members: []}\n---\n")
    panel.locator(".wb-yaml[data-line='5']").wait_for(timeout=PATIENCE_MS)
    assert panel.locator(".cm-lint-marker-error").count() == 1
    assert "tier" in panel.locator(".wb-message").inner_text()
    assert "tier: one" in content.inner_text() and "extra" not in names(notebook)
    notebook.screenshot(panel, "editor-yaml-error")

    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    page.keyboard.insert_text("spec: {tier: 2, members: []}")
    panel.locator(".wb-yaml[data-line='0']").wait_for(timeout=PATIENCE_MS)
    notebook.settle(panel)
    assert panel.locator(".cm-lint-marker-error").count() == 0
    assert "extra" in names(notebook)
    text = "editor.receive({'id': 1, 'type': 'text', 'body': {}})['body']['text']"
    assert notebook.kernel(text).startswith("# mine\n")
    assert notebook.outside == [] and notebook.complaints == []


def test_files_ranges_boxes_and_zoom_and_no_ghost_after_a_restart(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "editor-files", [EMPTY])
    notebook.run(0)
    panel, page = notebook.panel("editor"), notebook.page
    canvas = panel.locator(".wb-canvas")

    # A file by the button, then another as text from the clipboard: the drawing becomes what was brought last.
    with page.expect_file_chooser() as chooser:
        panel.get_by_role("button", name="Import …").click()
    chooser.value.set_files(ROOT / "datasets" / "one-fabric" / "topology.conf")
    panel.locator(".wb-message").get_by_text("topology.conf: 19 changes").wait_for(timeout=PATIENCE_MS)
    assert "gpu-12" in names(notebook)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    text = (ROOT / "datasets" / "three-level-tree" / "hypernodes.yaml").read_text()
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    canvas.focus()
    page.keyboard.press("Control+v")
    panel.locator(".wb-message").get_by_text("pasted text").wait_for(timeout=PATIENCE_MS)
    assert names(notebook) == [*(f"node{i}" for i in range(8)), *(f"s{i}" for i in range(7))]

    # A box and one more; what is set, renamed and dragged is all of them.
    first, last = where(panel, "node0"), where(panel, "node1")
    page.keyboard.down("Shift")
    page.mouse.move(first["x"] - first["width"], first["y"] - first["width"])
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"], last["y"] + last["width"], steps=5)
    page.mouse.up()
    panel.locator(".wb-inspector h4").get_by_text("2 nodes").wait_for(timeout=PATIENCE_MS)
    click(panel, "node3")
    page.keyboard.up("Shift")
    panel.locator(".wb-inspector h4").get_by_text("3 nodes").wait_for(timeout=PATIENCE_MS)
    notebook.settle(panel)
    assert notebook.kernel("sorted(editor.selection)") == ["node0", "node1", "node3"]
    for field, value in (("link, Gbit/s", "400"), ("GPUs", "4"), ("name", "gpu-")):
        panel.get_by_label(field, exact=True).fill(value)
        panel.get_by_label(field, exact=True).press("Enter")
        notebook.settle(panel)
    found = "[[i.name, i.gpus, i.link_gbit_s] for i in editor.draft if i.name.startswith('gpu-')]"
    assert sorted(notebook.kernel(found)) == [["gpu-0", 4, 400], ["gpu-1", 4, 400], ["gpu-2", 4, 400]]
    drag(panel, "gpu-0", "s3")
    notebook.settle(panel)
    under = "sorted(i.name for i in editor.draft.children(editor.draft.find('switch', 's3').id))"
    assert notebook.kernel(under) == ["gpu-0", "gpu-1", "gpu-2", "node6", "node7"]
    notebook.screenshot(panel, "editor-range")

    # "32 switches of 16 nodes of 8 H100" under a switch, in one step of the history.
    click(panel, "s6")
    wait_selected(panel, "s6")
    panel.get_by_label("GPU model").fill("H100")
    panel.get_by_role("button", name="Add", exact=True).click()
    notebook.settle(panel)
    models = "[i.labels.get('nvidia.com/gpu.product') for i in editor.draft if i.gpus == 8]"
    assert notebook.kernel(models) == ["H100"] * 32 * 16
    assert panel.evaluate("root => root.pictureBox().smallest") >= 4

    # A click unfolds a folded switch. The selection fills the drawing, then everything does.
    drawn = int(panel.get_attribute("data-drawn") or 0)
    click(panel, "leaf-07")
    page.wait_for_function(
        "([root, n]) => Number(root.dataset.drawn) === n",
        arg=[panel.element_handle(), drawn + 16],
        timeout=PATIENCE_MS,
    )
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    whole = where(panel, "leaf-07")["width"]
    click(panel, "leaf-07")
    wait_selected(panel, "leaf-07")
    page.keyboard.press("f")
    near = where(panel, "leaf-07")
    box = canvas.bounding_box()
    assert near["width"] > whole
    assert near["x"] == pytest.approx(box["x"] + box["width"] / 2, abs=3)
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    assert where(panel, "leaf-07")["width"] == pytest.approx(whole, rel=0.05)

    panel.get_by_role("button", name="Undo").click()
    notebook.settle(panel)
    assert len(names(notebook)) == 15

    # Without its kernel the drawing says so; the same cell then makes one that answers.
    notebook.restart()
    canvas.focus()
    page.keyboard.press("Control+z")
    panel.locator(".wb-message").get_by_text("run the cell again").wait_for(timeout=PATIENCE_MS)
    notebook.run(0)
    page.wait_for_function("() => document.querySelectorAll('.wb-editor').length === 1", timeout=PATIENCE_MS)
    panel = notebook.panel("editor")
    panel.locator(".wb-canvas").focus()
    page.keyboard.press("s")
    notebook.settle(panel)
    assert names(notebook) == ["s0"] and panel.get_attribute("data-drawn") == "1"
    assert page.locator(".jp-Cell").count() == 1, "a key reached the notebook"
    assert notebook.outside == [] and notebook.complaints == []


def test_what_is_drawn_can_be_seen(chromium, lab: Server):
    begin = "from workbench.topology.generate import Fabric\nfrom workbench.widgets.editor import TopologyEditor\n"
    drawings = [((2, 2, 2), "s6"), ((10, 10, 10), "s110"), ((25, 20, 40), "s840")]
    cells = [f"{begin}TopologyEditor(Fabric({sizes}).snapshot())" for sizes, _ in drawings]
    notebook = open_notebook(chromium, lab, "editor-sizes", cells)
    for index, (_, label) in enumerate(drawings):
        notebook.run(index)
        panel = notebook.panel("editor", index)
        top = where(panel, label)
        assert min(top["width"], top["height"]) >= 4
        box = panel.evaluate("root => root.pictureBox()")
        assert box["smallest"] >= 4
        assert 0.4 <= box["width"] / box["height"] <= 4
    assert notebook.outside == [] and notebook.complaints == []
