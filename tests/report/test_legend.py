from __future__ import annotations

import xml.etree.ElementTree as ET

from workbench.report.colours import job_colours, tier_colour
from workbench.report.legend import legend_html, legend_keys
from workbench.report.occupancy import Held, Occupancy


def who(n_jobs: int) -> Occupancy:
    return Occupancy(tuple(f"default/j{i}" for i in range(n_jobs)), {0: [Held(0, 1, 2)]}, {0: 8}, {0: 1})


def texts(n_jobs: int, tiers: tuple[int, ...]) -> list[str]:
    return [key.text for key in legend_keys(who(n_jobs), job_colours(n_jobs), tiers, "k")]


def test_a_legend_names_jobs_states_tiers_and_bars() -> None:
    assert texts(2, (1, 3)) == [
        "default/j0",
        "default/j1",
        "in use before",
        "free",
        "tier 1",
        "tier 3",
        "GPUs of a HyperNode in use",
    ]


def test_jobs_after_the_second_dozen_are_counted() -> None:
    assert texts(27, ())[24] == "and 3 more jobs (hover)"


def test_nothing_is_explained_that_is_not_drawn() -> None:
    assert legend_keys(Occupancy(), [], (), "k") == []


def test_the_strip_of_a_page_is_well_formed_and_brings_the_stripes_that_it_refers_to() -> None:
    strip = legend_html(who(14), job_colours(14), (1, 2), "9 < 10 nodes")
    root = ET.fromstring(strip)
    assert "9 < 10 nodes" in "".join(root.itertext())
    assert {pattern.get("id") for pattern in root.iter("pattern")} == {"tlp12", "tlp13"}
    assert "url(#tlp13)" in strip and tier_colour(2) in strip
