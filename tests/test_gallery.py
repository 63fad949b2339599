"""The gallery shows every picture that its script takes, each of them modest in size."""

from __future__ import annotations

import json
import re

import pytest

from tests import gallery_record, report_picture
from tests.gallery import IMAGES, THEMES, WIDGETS, digest
from tests.readme import ROOT


def test_the_picture_of_the_readme_shows_what_the_policies_do_now():
    """Where this fails, take it anew: ``PYTHONPATH=. python -m tests.gallery comparison``."""
    assert json.loads(report_picture.KEPT.read_text("utf-8")) == report_picture.shown()


@pytest.mark.slow
@pytest.mark.parametrize(("widget", "size"), [(w, size) for w, (sizes, _) in WIDGETS.items() for size in sizes])
def test_a_picture_of_the_gallery_shows_what_the_widget_does_now(widget, size, monkeypatch):
    """Where this fails, take it anew: ``PYTHONPATH=. python -m tests.gallery WIDGET-SIZE``."""
    monkeypatch.chdir(ROOT)
    assert gallery_record.kept()[f"{widget}-{size}"] == digest(widget, size)


def test_every_other_picture_of_a_page_is_known():
    """A picture without a test of its age is a measurement, and its page says by which command it was made."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    found = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"!\[[^\]]*\]\([^)]*images/(\S+)\)", page.read_text("utf-8"))
        if not name.startswith("gallery/")
    }
    assert found == {
        ("README.md", "comparison.png"),
        ("index.md", "comparison.png"),
        ("fleets.md", "fleets.svg"),
        ("kube-scheduler.md", "placement-share.svg"),
    }


def test_every_picture_is_shown_and_small():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"images/gallery/(\S+\.png)\)", page))
    assert shown == {
        f"{w}-{size}-{theme}.png" for w, (sizes, _) in WIDGETS.items() for size in sizes for theme in THEMES
    }
    assert shown == {path.name for path in IMAGES.iterdir()}
    assert [path.name for path in IMAGES.iterdir() if path.stat().st_size > 300_000] == []
