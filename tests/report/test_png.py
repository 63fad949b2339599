"""The font of a PNG image is one that the machine has."""

from __future__ import annotations

import pytest

from workbench.report import png

pytest.importorskip("resvg_py")


@pytest.fixture
def families(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """What a letter looks like by family; a family that is missing looks like the font that stands in for it."""
    known = {"DejaVu Sans": b"sans", "Liberation Sans": b"liberation"}

    def drawn(svg: str, family: str) -> bytes:
        return known.get(family, known.get("instead", b"serif")) if "<text" in svg else b"empty"

    monkeypatch.setattr(png, "_drawn", drawn)
    png._family.cache_clear()
    yield known  # type: ignore[misc]
    png._family.cache_clear()


def test_a_family_that_is_missing_is_passed_over(families: dict[str, bytes]) -> None:
    assert png._family() == "DejaVu Sans"


def test_any_font_is_better_than_none(families: dict[str, bytes]) -> None:
    families.clear()
    assert png._family() == "Arial" and png.has_font()


def test_without_a_font_there_is_no_text(families: dict[str, bytes]) -> None:
    families.clear()
    families["instead"] = b"empty"
    assert not png.has_font()
