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


def test_many_points_have_round_numbers_below_and_no_dots() -> None:
    dense = draw_lines("t", "h", "%", {"a": [(0.1 + 0.37 * i, float(i)) for i in range(100)]})
    assert dense.count("fill-opacity='0'") == 100
    for text in (">0<", ">10<", ">20<", ">30<"):
        assert text in dense
    assert ">0.1<" not in dense


def test_a_long_legend_takes_several_rows() -> None:
    lines = {f"policy-{i}-with-a-name": [(0.0, 1.0), (1.0, 2.0)] for i in range(7)}
    short, tall = draw_lines("t", "x", "y", dict(list(lines.items())[:2])), draw_lines("t", "x", "y", lines)
    assert "height='260'" in short
    assert "height='308'" in tall


def test_a_sum_just_above_a_round_number_needs_no_higher_axis() -> None:
    assert ">150<" not in draw_lines("t", "h", "%", {"a": [(0, 0), (1, 100.00000001)]})


def test_corners_of_a_step_function_have_no_dots_and_round_numbers_below() -> None:
    steps = draw_lines("t", "times", "%", {"a": [(1, 0), (1, 20), (1.394, 20), (1.394, 100)]}, dots=False)
    assert steps.count("fill-opacity='0'") == steps.count("<circle") == 4
    assert ">1.2<" in steps and ">1.394<" not in steps
