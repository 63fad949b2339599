"""The twins of all schedulers in the placement comparer: one choice, their parameters, what each cannot express."""

from __future__ import annotations

import pytest

from tests.browser.lab import PATIENCE_MS, ROOT, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = f"""
import workbench
from workbench.widgets.comparer import PlacementComparer
comparer = PlacementComparer(workbench.load({str(ROOT / "datasets" / "demo")!r}), ["gang"])
comparer
"""

NAMES = ["gang", "volcano-1.15", "volcano-1.13", "kueue-0.19", "kube-1.37-topology", "kube-default"]


def results(panel, at_least):
    panel.page.wait_for_function(
        "([root, n]) => Number(root.dataset.results ?? 0) >= n && root.dataset.running === '0'",
        arg=[panel.element_handle(), at_least],
        timeout=PATIENCE_MS,
    )


def test_the_field_is_one_choice_and_each_twin_has_its_parameters(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "comparer-field", [CELL])
    notebook.run(0)
    panel = notebook.panel("comparer")
    results(panel, 1)

    panel.get_by_label("add a policy").select_option("field")
    results(panel, 2)
    shown = panel.locator(".wb-policies summary").evaluate_all("all => all.map(e => e.firstChild.textContent)")
    assert shown == NAMES
    assert panel.locator(".wb-picture svg.tw-topology").count() == len(NAMES)
    assert panel.locator("thead th.wb-of-policy").count() == len(NAMES)

    # What a twin cannot express of a job is told under the table.
    notes = panel.locator("details:not(.wb-policy)", has_text="warning").first
    notes.locator("summary").click()
    told = notes.inner_text()
    assert "kube-default" in told and "kube-1.37-topology" in told and "has no effect" in told
    notebook.settle(panel)
    notebook.screenshot(panel, "comparer-field")

    kueue = panel.locator(".wb-policies details").nth(NAMES.index("kueue-0.19"))
    kueue.locator("summary").click()
    before = int(panel.get_attribute("data-results"))
    kueue.get_by_label("balanced").fill("true")
    kueue.get_by_label("balanced").press("Enter")
    results(panel, before + 1)
    assert notebook.kernel("dict(comparer.policies)['kueue-0.19']") == {"balanced": "true"}
    topology = panel.locator(".wb-policies details").nth(NAMES.index("kube-1.37-topology"))
    topology.locator("summary").click()
    assert topology.get_by_label("placements").get_attribute("placeholder") == "100"
    notebook.screenshot(panel, "comparer-field-parameters")

    # A twin that is taken away comes back with the same choice; the others stay as they are.
    panel.get_by_label("remove kube-default", exact=True).click()
    results(panel, before + 2)
    panel.get_by_label("add a policy").select_option("field")
    results(panel, before + 3)
    assert notebook.kernel("[name for name, _ in comparer.policies]") == NAMES
    assert notebook.kernel("dict(comparer.policies)['kueue-0.19']") == {"balanced": "true"}
    assert notebook.outside == [] and notebook.complaints == []
