"""Overlays of a heat map: unequal directions, and the sets of policies."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from tests.machines import koordinator_matrix_a
from workbench.model.bandwidth import BandwidthMatrix
from workbench.report.heatmap import draw_heatmap
from workbench.report.heatmap_overlay import asymmetry_text

SVG = "{http://www.w3.org/2000/svg}"
MATRIX = BandwidthMatrix(koordinator_matrix_a())


def overlay(svg: str):
    return [e for e in ET.fromstring(svg).iter() if e.get("class") == "tw-asymmetry"]


def test_the_slower_direction_is_marked_and_named():
    svg = draw_heatmap(MATRIX, asymmetry=True)
    tips = [title.text for title in overlay(svg)[0].iter(f"{SVG}title")]
    assert "1 → 4 has 28% of 4 → 1" in tips and "4 → 1 has 28% of 1 → 4" not in tips
    assert asymmetry_text(MATRIX).endswith("most: 1 → 4 has 28% of 4 → 1")


def test_it_is_only_drawn_when_asked_for():
    assert overlay(draw_heatmap(MATRIX)) == []


def test_equal_directions_have_no_mark():
    even = BandwidthMatrix(np.full((3, 3), 5.0))
    assert list(overlay(draw_heatmap(even, asymmetry=True))[0]) == []
    assert asymmetry_text(even) == "both directions of every pair are alike (within 2 %)"


def test_a_large_machine_gets_one_image():
    gb_s = np.full((72, 72), 900.0)
    gb_s[3, 60] = 100.0
    marks = overlay(draw_heatmap(BandwidthMatrix(gb_s), asymmetry=True))
    assert [mark.tag for mark in marks] == [f"{SVG}image"]


@pytest.mark.parametrize("n", [8, 384])
def test_each_policy_has_a_column_beside_the_rows(n):
    svg = draw_heatmap(BandwidthMatrix(np.full((n, n), 5.0)), others={"a": [0, 1], "<b>": [n - 1]})
    root = ET.fromstring(svg)
    marks = [e for e in root.iter(f"{SVG}rect") if e.get("class") == "tw-mark"]
    assert len(marks) == 3 and len({m.get("x") for m in marks}) == 2 and len({m.get("fill") for m in marks}) == 2
    assert max(float(m.get("x")) + float(m.get("width")) for m in marks) <= float(root.get("width"))
