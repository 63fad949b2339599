"""The gallery shows every picture that its script takes, each of them modest in size."""

from __future__ import annotations

import json
import re

import pytest

from tests import drawings, gallery_record, report_picture
from tests.gallery import IMAGES, THEMES, WIDGETS, digest
from tests.readme import ROOT
from workbench.study.statistics import compare_in_pairs


def test_the_picture_of_the_readme_shows_what_the_policies_do_now():
    """Where this fails, take it anew: ``PYTHONPATH=. python -m tests.gallery comparison``."""
    assert json.loads(report_picture.KEPT.read_text("utf-8")) == report_picture.shown()


@pytest.mark.slow
@pytest.mark.parametrize(("widget", "size"), [(w, size) for w, (sizes, _) in WIDGETS.items() for size in sizes])
def test_a_picture_of_the_gallery_shows_what_the_widget_does_now(widget, size, monkeypatch):
    """Where this fails, take it anew: ``PYTHONPATH=. python -m tests.gallery WIDGET-SIZE``."""
    monkeypatch.chdir(ROOT)
    assert gallery_record.kept()[f"{widget}-{size}"] == digest(widget, size)


@pytest.mark.slow
@pytest.mark.parametrize("name", drawings.DRAWINGS)
def test_a_drawing_shows_the_numbers_that_are_kept(name):
    """Where this fails, draw it anew: ``PYTHONPATH=. python -m tests.gallery NAME``."""
    assert (drawings.IMAGES / name).read_text("utf-8") == drawings.DRAWINGS[name]() + "\n"


@pytest.mark.slow
def test_the_table_above_a_drawing_shows_the_same_study():
    study, results = drawings.waiting()
    scales = {"waited_mean_s": (1 / 60, 1), "waited_p99_s": (1 / 60, 0), "gpu_use": (100, 1), "never_placed": (1, 1)}
    told = compare_in_pairs(results, study.compared_with, list(scales)).set_index(["outcome", "workload", "policy"])
    means = results.groupby(["workload", "policy"])[list(scales)].mean()
    page = (ROOT / "docs" / "kube-scheduler.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+ %) \| (bounds|\d+ racks) \| (.*) \|$", page.partition("Five hours")[2], re.MULTILINE)
    assert len(rows) == 12
    for load, policy, cells in rows:
        for (key, (scale, digits)), cell in zip(scales.items(), cells.split(" | "), strict=True):
            if policy == study.compared_with:
                assert cell == f"{scale * means.loc[(f'jobs {load}', policy), key]:.{digits}f}"
            else:
                numbers = told.loc[(key, f"jobs {load}", policy), ["difference", "low", "high"]]
                found, low, high = (f"{scale * one:+.{digits}f}".replace("-", "−") for one in numbers)
                assert cell == f"{found} ({low} … {high})"


def test_the_page_of_fleets_says_what_its_drawing_shows():
    page = (ROOT / "docs" / "fleets.md").read_text("utf-8").replace("\n", " ")
    told = {policy: float(p) for p, policy in re.findall(r"(0\.\d\d) for (volcano-1\.1\d|gang)", page)}
    told |= {policy: float(p) for p, policy in re.findall(r"and (0\.\d\d) for (gang)", page)}
    assert told == {policy: round(drawings.slope(costs), 2) for policy, costs in drawings.fleet_costs().items()}


def test_every_picture_of_a_page_has_a_test_of_its_age():
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    found = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"!\[[^\]]*\]\([^)]*images/(\S+)\)", page.read_text("utf-8"))
        if not name.startswith("gallery/")
    }
    assert {name for _, name in found} == {report_picture.PICTURE.name, *drawings.DRAWINGS}
    assert {path.name for path in drawings.IMAGES.iterdir() if path.suffix in (".png", ".svg")} == {
        name for _, name in found
    }


def test_every_picture_is_shown_and_small():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"images/gallery/(\S+\.png)\)", page))
    assert shown == {
        f"{w}-{size}-{theme}.png" for w, (sizes, _) in WIDGETS.items() for size in sizes for theme in THEMES
    }
    assert shown == {path.name for path in IMAGES.iterdir()}
    assert [path.name for path in IMAGES.iterdir() if path.stat().st_size > 300_000] == []
