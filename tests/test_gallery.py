"""The gallery shows every picture that its script takes, each of them modest in size."""

from __future__ import annotations

import re

from tests.gallery import IMAGES, THEMES, WIDGETS
from tests.readme import ROOT


def test_every_picture_is_shown_and_small():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"images/gallery/(\S+\.png)\)", page))
    assert shown == {
        f"{w}-{size}-{theme}.png" for w, (sizes, _) in WIDGETS.items() for size in sizes for theme in THEMES
    }
    assert shown == {path.name for path in IMAGES.iterdir()}
    assert [path.name for path in IMAGES.iterdir() if path.stat().st_size > 300_000] == []
