"""The placement comparer in JupyterLab: what the page says is what the policies decided."""

from __future__ import annotations

import pytest

from tests.browser.lab import PATIENCE_MS, ROOT, Server, open_notebook

pytestmark = pytest.mark.browser

CELL = f"""
import workbench
from workbench.widgets.comparer import PlacementComparer
comparer = PlacementComparer(workbench.load({str(ROOT / "datasets" / "demo")!r}))
comparer
"""

OWN_POLICY = """
@workbench.policy("last-nodes")
def last_nodes(gang, ledger):
    return None if len(ledger.topology.node_names) < gang.n_pods else list(ledger.topology.node_names[-gang.n_pods:])
"""


def results(panel, at_least):
    panel.page.wait_for_function(
        "([root, n]) => Number(root.dataset.results ?? 0) >= n && root.dataset.running === '0'",
        arg=[panel.element_handle(), at_least],
        timeout=PATIENCE_MS,
    )


def test_three_policies_a_reason_and_a_policy_from_a_cell(chromium, lab: Server):
    notebook = open_notebook(chromium, lab, "comparer", [CELL, OWN_POLICY])
    notebook.run(0)
    panel = notebook.panel("comparer")
    results(panel, 1)
    assert panel.locator(".wb-picture svg.tw-topology").count() == 3
    notebook.screenshot(panel, "comparer-demo")

    panel.get_by_role("button", name="Jobs …").click()
    panel.get_by_label("job name").fill("too-big-1")
    panel.get_by_label("network topology").select_option("hard")
    panel.get_by_role("button", name="Add job").click()
    results(panel, 2)
    assert "too-big-1" in panel.locator(".wb-job-text").inner_text()

    pending = panel.locator("td.wb-pending").first
    why = pending.inner_text()
    assert "holds" in why or "Insufficient" in why
    pending.click()
    notebook.settle(panel)
    assert panel.locator(".wb-detail").is_visible()
    notebook.screenshot(panel, "comparer-explained")

    notebook.run(1)
    more = panel.get_by_label("add a policy")
    more.focus()
    panel.page.wait_for_function(
        "select => [...select.options].some(o => o.value === 'last-nodes')",
        arg=more.element_handle(),
        timeout=PATIENCE_MS,
    )
    before = int(panel.get_attribute("data-results"))
    more.select_option("last-nodes")
    results(panel, before + 1)
    assert notebook.kernel("[row.policy for row in comparer.comparison.rows][-1]").startswith("last-nodes")
    assert panel.locator(".wb-picture").count() == 4
    assert notebook.outside == [] and notebook.complaints == []
