"""What one reads is what a screen reader says, red can be read, placeholders fit, and messages cover no legend."""

from __future__ import annotations

import pytest

from tests.browser.lab import PATIENCE_MS, ROOT, Notebook, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = """
from workbench.topology.generate import Fabric
from workbench.topology.job_shape import JobShape, scenario_of
from workbench.widgets.workbench import Workbench
jobs = [JobShape("train", 40, mode="hard", highest_tier=1)]
bench = Workbench(scenario_of(Fabric((4, 3)), jobs), ["volcano-1.15", "binpack"])
bench
"""

# Controls that are shown: what one reads of each, and its accessible name; marks without a letter are no words.
_NAMES = """
root => [...root.querySelectorAll('button, input, select, textarea, [role=button]')].map((e) => {
  if (e.offsetParent === null) return null;
  const label = e.closest('label');
  const copy = (label ?? e).cloneNode(true);
  const own = label === null ? [] : copy.querySelectorAll('input, select, textarea, button, output');
  for (const inner of own) inner.remove();
  const read = e.nodeName === 'SELECT' && label === null ? '' : copy.textContent.replace(/\\s+/g, ' ').trim();
  const name = e.ariaLabel ?? (read || e.title || e.placeholder || '');
  return [e.nodeName, /\\p{L}/u.test(read) ? read : '', name];
}).filter((one) => one !== null)
"""

# Placeholders whose text is wider than its field, and their fields.
_CUT = """
root => [...root.querySelectorAll('input[placeholder]')].filter((e) => {
  if (e.offsetParent === null || !e.placeholder) return false;
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
    const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = paint(colour).map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const both = [getComputedStyle(element).color, getComputedStyle(under).backgroundColor].map(light);
  return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
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
    inside = """root => {
      const message = root.querySelector('.wb-message');
      if (!message.textContent.includes('select what the new switch shall hold')) return false;
      const [m, c] = [message, root.querySelector('.wb-canvas')].map((e) => e.getBoundingClientRect());
      return m.left >= c.left && m.top >= c.top && m.right <= c.right && m.bottom <= c.bottom && m.height > 0;
    }"""
    bench.page.wait_for_function(inside, arg=editor.element_handle(), timeout=PATIENCE_MS)
    bench.page.screenshot(path=ROOT / "out" / "screenshots" / "polish-message.png")
    assert bench.complaints == []


# Sizes in pixels of the letters of all texts that are shown in the pictures.
_LETTERS = """
root => [...root.querySelectorAll('.wb-picture svg')].map((svg) => {
  const scale = svg.clientWidth / svg.viewBox.baseVal.width;
  const shown = [...svg.querySelectorAll('text')].filter((text) => text.getClientRects().length > 0);
  return [scale, ...shown.map((text) => parseFloat(getComputedStyle(text).fontSize) * scale)];
})
"""


@pytest.mark.parametrize(("sizes", "least"), [("4, 3", 10), ("4, 4, 4", 20), ("16, 8, 4", 0)])
@pytest.mark.parametrize("width", [1366, 1920])
def test_no_text_of_a_picture_is_too_small(chromium, lab: Server, sizes, least, width):
    cell = CELL.replace("(4, 3)", f"({sizes})").replace('"binpack"', '"binpack", "gang"')
    notebook = open_notebook(chromium, lab, f"letters-{width}", [cell])
    notebook.page.set_viewport_size({"width": width, "height": 900})
    notebook.run(0)
    comparer = notebook.panel("comparer")
    comparer.locator(".wb-picture svg").nth(2).wait_for(timeout=PATIENCE_MS)
    notebook.page.wait_for_timeout(500)
    pictures = comparer.evaluate(_LETTERS)
    assert len(pictures) == 3
    for _, *letters in pictures:
        assert len(letters) >= least
        assert min(letters, default=9) >= 9
    # The columns of the policies are equally wide, and none is cut.
    columns = [one.bounding_box()["width"] for one in comparer.locator(".wb-table .wb-of-policy").all()]
    assert len(columns) == 3 and max(columns) - min(columns) < 8
    assert comparer.locator(".wb-table").evaluate("table => table.scrollWidth <= table.clientWidth")
    # A picture that is too small for its own title has one above it.
    assert comparer.locator(".wb-picture").first.inner_text().strip() != ""
    notebook.page.screenshot(path=ROOT / "out" / "screenshots" / f"letters-{sizes.replace(', ', 'x')}-{width}.png")
    assert notebook.complaints == []
