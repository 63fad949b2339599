"""What one reads is what a screen reader says, red can be read, placeholders fit, and messages cover no legend."""

from __future__ import annotations

import pytest

from tests.browser.lab import PATIENCE_MS, ROOT, Notebook, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = """
from workbench.topology.generate import Fabric, JobShape, scenario_of
from workbench.widgets.workbench import Workbench
jobs = [JobShape("train", 40, mode="hard", highest_tier=1)]
bench = Workbench(scenario_of(Fabric((4, 3)), jobs), ["volcano-1.15", "binpack"])
bench
"""

# Controls that are shown: what one reads of each, and its accessible name; marks without a letter are no words.
_NAMES = """
root => [...root.querySelectorAll('button, input, select, textarea, [role=button]')].filter((e) => e.offsetParent !== null).map((e) => {
  const label = e.closest('label');
  const copy = (label ?? e).cloneNode(true);
  for (const inner of label === null ? [] : copy.querySelectorAll('input, select, textarea, button, output')) inner.remove();
  const read = e.nodeName === 'SELECT' && label === null ? '' : copy.textContent.replace(/\\s+/g, ' ').trim();
  const name = e.ariaLabel ?? (read || e.title || e.placeholder || '');
  return [e.nodeName, /\\p{L}/u.test(read) ? read : '', name];
})
"""

# Placeholders whose text is wider than its field, and their fields.
_CUT = """
root => [...root.querySelectorAll('input[placeholder]')].filter((e) => e.offsetParent !== null && e.placeholder).filter((e) => {
  const style = getComputedStyle(e);
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = style.font;
  const room = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return pen.measureText(e.placeholder).width > room;
}).map((e) => e.placeholder)
"""

# Contrast of an element's text with what lies under it.
_CONTRAST = """
element => {
  const paint = (colour) => {
    const pen = document.createElement('canvas').getContext('2d');
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  let under = element;
  while (paint(getComputedStyle(under).backgroundColor)[3] === 0) under = under.parentElement;
  const light = (colour) => {
    const [r, g, b] = paint(colour).map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const both = [light(getComputedStyle(element).color), light(getComputedStyle(under).backgroundColor)].sort((a, b) => b - a);
  return (both[0] + 0.05) / (both[1] + 0.05);
}
"""


@pytest.fixture(params=["light", "dark"])
def bench(chromium, lab: Server, request) -> Notebook:
    notebook = open_notebook(chromium, lab, f"polish-{request.param}", [CELL], request.param)
    notebook.run(0)
    comparer = notebook.panel("comparer")
    comparer.locator(".wb-pending").first.wait_for(timeout=PATIENCE_MS)
    notebook.settle(notebook.panel("editor"))
    # The theme's own style sheet arrives late.
    notebook.page.wait_for_timeout(800)
    return notebook


def test_names_contain_what_one_reads(bench):
    comparer, editor = bench.panel("comparer"), bench.panel("editor")
    comparer.get_by_role("button", name="Jobs …").click()
    comparer.locator(".wb-policy summary").first.click()
    editor.locator(".wb-canvas").focus()
    bench.page.keyboard.press("Control+a")
    bench.settle(editor)
    for panel in (bench.panel("scenario"), editor, comparer):
        for kind, read, name in panel.evaluate(_NAMES):
            assert name, (kind, read)
            assert " ".join(read.lower().split()) in " ".join(name.lower().split()), (kind, read, name)
    for label in ("name", "pods", "GPUs each", "CPUs each", "network topology", "highest tier"):
        assert comparer.locator(".wb-jobs").get_by_label(label, exact=True).count() == 1, label
    assert comparer.get_by_role("combobox", name="GPU policy").count() == 1
    assert comparer.locator("td[role=button]").count() == 0
    assert editor.evaluate(_CUT) == [] and comparer.evaluate(_CUT) == []


def test_red_words_can_be_read(bench):
    comparer = bench.panel("comparer")
    pending = comparer.locator(".wb-pending strong")
    assert pending.count() > 0
    for i in range(pending.count()):
        assert pending.nth(i).evaluate(_CONTRAST) >= 4.5
    # By keyboard the cell explains itself, as one reads it.
    button = comparer.locator(".wb-pending").get_by_role("button").first
    assert button.inner_text().startswith("pending")
    button.press("Enter")
    comparer.locator(".wb-detail").wait_for(state="visible", timeout=PATIENCE_MS)


def test_a_message_covers_neither_legend_nor_text(bench):
    editor = bench.panel("editor")
    editor.get_by_role("button", name="YAML", exact=True).click()
    editor.locator(".wb-canvas").focus()
    bench.page.keyboard.press("Escape")
    bench.page.keyboard.press("g")
    message = editor.locator(".wb-message")
    message.get_by_text("select what the new switch shall hold").wait_for(timeout=PATIENCE_MS)
    inside, stage = message.bounding_box(), editor.locator(".wb-canvas").bounding_box()
    assert inside["x"] >= stage["x"] and inside["y"] >= stage["y"]
    assert inside["x"] + inside["width"] <= stage["x"] + stage["width"]
    assert inside["y"] + inside["height"] <= stage["y"] + stage["height"]
    bench.page.screenshot(path=ROOT / "out" / "screenshots" / "polish-message.png")
    assert bench.complaints == []
