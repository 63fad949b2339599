"""Pictures and pages of studies."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import pytest

from workbench.evaluate.metric import Metric
from workbench.report.intervals import DrawnInterval, draw_intervals
from workbench.report.study_views import StudyView, draw_differences, study_page, study_tables

NAN = float("nan")
SVG = "{http://www.w3.org/2000/svg}"


def view(policies: tuple[str, ...] = ("base", "new <b>"), missing: int = 0, never: int = 0) -> StudyView:
    """Two seeds of one scenario; the second policy waits longer, and leaves `never` jobs in the last run."""
    scenario = {"topology": "t", "workload": "w", "discipline": "fifo"}
    results = [
        {**scenario, "policy": policy, "seed": seed, "never_placed": never * i * seed, "wait": 1.0 + seed + 2 * i}
        for i, policy in enumerate(policies)
        for seed in range(2)
    ]
    numbers = {"pairs": 2, "seeds": 2, "baseline": 1.5, "mean": 3.5, "difference": 2.0, "low": 2.0, "high": 2.0}
    counts = {"better": 0, "worse": 2, "equal": 0, "sign_p": 0.5}
    differences = [
        {**scenario, "outcome": "wait", "unit": "s", "wanted": "less", "policy": policy, **numbers, **counts}
        for policy in policies[1:]
    ]
    columns = [*scenario, "outcome", "wanted", "policy", "pairs", "seeds", "difference", "low", "high"]
    frame = pd.DataFrame(differences) if differences else pd.DataFrame(columns=columns)
    outcomes = {"wait": Metric("wait", "waiting", meaning="of jobs <that> ran", unit="s", better="lower")}
    return StudyView("a <study>", "base", pd.DataFrame(results), frame, outcomes, missing, {"version": "<1>"})


def drawn(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.replace("<svg ", '<svg xmlns:x="x" ', 1))


def test_intervals_lie_on_one_scale_with_zero() -> None:
    rows = [
        DrawnInterval("left", "a", -2.0, -4.0, 0.0),
        DrawnInterval("right", "b", 2.0, 1.0, 3.0),
        DrawnInterval("one pair", "b", 1.0, NAN, NAN),
        DrawnInterval("nothing", "b", NAN, NAN, NAN),
    ]
    picture = drawn(draw_intervals("title <i>", "seconds", rows))
    dots = [float(dot.attrib["cx"]) for dot in picture.iter(f"{SVG}circle")]
    lines = [line.attrib for line in picture.iter(f"{SVG}line") if line.attrib["stroke"] != "currentColor"]
    assert len(dots) == 3 and len(lines) == 2
    zero = next(float(line.attrib["x1"]) for line in picture.iter(f"{SVG}line") if line.get("stroke-opacity") == ".7")
    assert zero == pytest.approx((dots[0] + dots[1]) / 2, abs=0.2)
    assert float(lines[0]["x2"]) == pytest.approx(zero, abs=0.2)
    assert float(lines[1]["x1"]) == pytest.approx(dots[2], abs=0.2)
    labels = {text.text for text in picture.iter(f"{SVG}text")}
    assert {"left", "right", "one pair", "nothing", "title <i>", "seconds"} <= labels
    assert len({dot.attrib["fill"] for dot in picture.iter(f"{SVG}circle")}) == 2


@pytest.mark.parametrize("rows", [[], [DrawnInterval("no difference", "a", 0.0, 0.0, 0.0)]])
def test_nothing_to_tell_apart_is_drawn_too(rows: list[DrawnInterval]) -> None:
    assert len(list(drawn(draw_intervals("t", "s", rows)).iter(f"{SVG}circle"))) == len(rows)


def test_the_chart_of_a_study_escapes_names() -> None:
    text = draw_differences(view(), "wait")
    assert "new &lt;b&gt;, t, w, fifo" in text and "<b>" not in text
    assert "difference to base; less is better" in text and "waiting (s)" in text


def test_the_page_has_charts_tables_and_provenance() -> None:
    page = study_page(view(missing=3))
    assert page.count("<svg") == 1 and page.count("<table") == 2
    for text in (
        "a &lt;study&gt;",
        "new &lt;b&gt;",
        "t, w, fifo: 2 pairs",
        "2 to 2",
        "3 runs are not done yet",
        "&lt;1&gt;",
        "waiting: of jobs &lt;that&gt; ran",
    ):
        assert text in page
    assert "<b>" not in page and "<1>" not in page


def test_one_policy_has_no_chart_and_one_table() -> None:
    page = study_page(view(("base",)))
    assert page.count("<svg") == 0 and page.count("<table") == 1
    assert len(study_tables(view(("base",)))) == 3


def test_jobs_that_never_ran_are_told_in_every_form() -> None:
    told = view(never=3)
    assert told.never_ran == ["3 jobs never ran under new <b>, in 1 of 2 runs; waiting times count only jobs that ran"]
    assert told.to_dict()["notes"] == told.never_ran
    assert study_tables(told)[-1] == told.never_ran[0]
    assert "3 jobs never ran under new &lt;b&gt;" in study_page(told)
    assert "never ran" not in study_page(view())


def test_without_pairs_there_is_no_test() -> None:
    told = view()
    told.differences["pairs"] = 0
    assert told.pair_rows()[0][1][0][-3:] == ("–", "–", "–")


def test_shares_are_shown_in_percent_and_stored_as_parts() -> None:
    told = view()
    told = replace(told, outcomes={"wait": Metric("wait", "GPUs in use", share=True, better="higher")})
    assert [row[-1] for row in told.mean_rows()] == ["150", "350"]
    assert told.pair_rows()[0][1][0][:6] == ("GPUs in use (%)", "new <b>", "350", "150", "200", "200 to 200")
    assert ">100<" in draw_differences(told, "wait")
    assert told.to_dict()["differences"][0]["mean"] == 3.5


def test_long_names_are_drawn_whole() -> None:
    label = "volcano-1.15 weight=5, two files and a network, jobs 90 % bursty, best-effort"
    assert f">{label}<" in draw_intervals("t", "s", [DrawnInterval(label, "a", 1.0, 0.0, 2.0)])


def test_times_are_shown_in_a_unit_that_people_read() -> None:
    given = view()
    longer = given.results.assign(wait=given.results["wait"] * 105_200.0)
    differences = given.differences.assign(
        mean=105_200.0, baseline=139_430.0, difference=-34_230.0, low=-40_000.0, high=14.4, sign_p=2.0**-15
    )
    told = replace(given, results=longer, differences=differences)
    assert (told.headings, given.headings) == (["waiting (h)"], ["waiting (s)"])
    (_, [row]) = told.pair_rows()[0]
    assert row == ("waiting (h)", "new <b>", "29.22", "38.73", "-9.51", "-11.11 to 0.004", "0", "2", "< 0.001")
    assert told.mean_rows()[0][3] == "43.83"
    picture = draw_differences(told, "wait")
    assert "waiting (h)" in picture and "-9.508, -11.11 to 0.004" in picture
    for text in (picture, study_page(told)):
        assert "e+" not in text.partition("Computed from")[0]
    # Machines read seconds.
    assert told.to_dict()["differences"][0]["difference"] == -34_230.0
