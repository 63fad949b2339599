from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.hand_made import dgx_like
from workbench.errors import InputError
from workbench.evaluate.bottleneck_curve import bottleneck_curve
from workbench.report.lines import draw_lines

SPACE = "{http://www.w3.org/2000/svg}"


def test_points_stand_where_the_axes_say() -> None:
    drawn = ElementTree.fromstring(
        draw_lines("t", "x", "y", {"a": [(1, 0), (3, 10)], "b": [(2, 5), (3, float("inf"))]})
    )
    circles = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in drawn.iter(f"{SPACE}circle")]
    assert len(circles) == 3, "a point that is not finite is left out"
    (left, low), (right, high), (middle, half) = circles
    assert middle == pytest.approx((left + right) / 2) and half == pytest.approx((low + high) / 2) and high < low
    assert [tip.text for tip in drawn.iter(f"{SPACE}title")] == ["t", "a: 0 at 1", "a: 10 at 3", "b: 5 at 2"]


def test_names_are_escaped_and_no_line_at_all_is_a_drawing() -> None:
    assert "&lt;b&gt;" in draw_lines("<b>", "x", "y", {"<i>": [(1, 1)]})
    ElementTree.fromstring(draw_lines("t", "x", "y", {}))


def test_the_curve_has_the_best_set_for_every_number_of_gpus() -> None:
    matrix = dgx_like()
    curve = bottleneck_curve(matrix, free=[0, 1, 2, 5])
    assert [len(one.gpus) for one in curve.best] == [1, 2, 3, 4]
    frame = curve.to_dataframe()
    assert (frame["bottleneck_gb_s"] <= frame["upper_bound_gb_s"]).all()
    assert frame["bottleneck_gb_s"].is_monotonic_decreasing
    shown = curve._repr_html_() or ""
    assert "tw-lines" in shown and "upper bound" in shown
    with pytest.raises(InputError, match="no free GPU"):
        bottleneck_curve(matrix, free=[])
