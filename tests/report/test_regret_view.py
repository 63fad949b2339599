from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from functools import cache

import workbench
from tests.machines import koordinator_matrix_a
from workbench.report.regret_view import draw_regret, regret_page


@cache
def found(*policies):
    return workbench.regret(koordinator_matrix_a(), policies or ("gpu-best-effort", "gpu-static-dgx"))


def test_a_cell_for_each_policy_and_size_with_mean_and_worst():
    svg = ElementTree.fromstring(draw_regret(found()))
    titles = [e.text for e in svg.iter("{http://www.w3.org/2000/svg}title")][1:]
    assert len(titles) == 12
    assert titles[2].startswith("gpu-best-effort, k=4: 121 of 163 states optimal, 0 refused; worst 0.266 with free ")
    assert titles[7] == "gpu-static-dgx, k=3: refused in all 219 states"
    texts = {e.text for e in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"k=2", "k=7", "gpu-best-effort", "0.903", "0.266"} <= texts


def test_a_notebook_shows_it():
    html = found()._repr_html_()
    assert "<svg" in html and "every state (255)" in html


def test_the_page_stands_alone():
    page = regret_page(found("gpu-best-effort"))
    assert page.startswith("<!") and "tw-heatmap" in page and "http://" not in page.replace("http://www.w3.org", "")


def test_equal_tables_are_drawn_alike():
    assert draw_regret(found()) == draw_regret(found.__wrapped__())
