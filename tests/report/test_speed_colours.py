from __future__ import annotations

import numpy as np

from workbench.report.colours import heat
from workbench.report.speed_colours import SpeedScale


def test_a_scale_runs_from_the_slowest_link_to_the_fastest_by_factors() -> None:
    scale = SpeedScale.over([[0.0, 10.0], [1000.0, 0.0]])
    assert scale == SpeedScale(10.0, 1000.0)
    np.testing.assert_allclose(scale.shades([0.0, 10.0, 100.0, 1000.0]), [np.nan, 0.0, 0.5, 1.0])
    assert scale.colour(100.0) == heat(0.5)


def test_a_bandwidth_outside_the_scale_has_the_colour_of_the_nearer_end() -> None:
    scale = SpeedScale(10.0, 100.0)
    assert (scale.colour(1.0), scale.colour(5000.0)) == (heat(0.0), heat(1.0))


def test_where_all_links_are_equal_they_have_the_fastest_colour() -> None:
    scale = SpeedScale.over([25.0, 25.0, 0.0])
    np.testing.assert_array_equal(scale.shades([25.0, 0.0]), [1.0, np.nan])
    assert scale.marks() == [25.0]
    assert ">25</text>" in scale.legend()[0]


def test_without_a_link_there_is_no_mark_and_no_legend() -> None:
    scale = SpeedScale.over(np.zeros((2, 2)))
    assert np.isnan(scale.shades(0.0))
    assert (scale.marks(), scale.legend()) == ([], ("", 0.0))


def test_the_legend_says_the_values_of_its_colours_slowest_first() -> None:
    markup, height = SpeedScale(8.0, 512.0).legend()
    assert (
        markup.index(">8</text>")
        < markup.index(">32</text>")
        < markup.index(">128</text>")
        < markup.index(">512</text>")
    )
    assert "GB/s" in markup and height > 0
    assert markup.index(heat(0.0)) < markup.index(heat(1.0))
