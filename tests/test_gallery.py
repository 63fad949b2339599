"""The gallery shows every picture that its script takes, each of them modest in size."""

from __future__ import annotations

import json
import re

from tests import report_picture
from tests.gallery import IMAGES, THEMES, WIDGETS
from tests.readme import ROOT


def test_the_picture_of_the_readme_shows_what_the_policies_do_now():
    """Where this fails, take it anew: ``PYTHONPATH=. python -m tests.gallery comparison``."""
    assert json.loads(report_picture.KEPT.read_text("utf-8")) == report_picture.shown()


def test_every_picture_is_shown_and_small():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"images/gallery/(\S+\.png)\)", page))
    assert shown == {
        f"{w}-{size}-{theme}.png" for w, (sizes, _) in WIDGETS.items() for size in sizes for theme in THEMES
    }
    assert shown == {path.name for path in IMAGES.iterdir()}
    assert [path.name for path in IMAGES.iterdir() if path.stat().st_size > 300_000] == []
