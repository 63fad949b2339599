"""The table of link speeds: the one that the package carries, and those of users."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.matrices.link_speeds import default_link_speeds, read_link_speeds

DATASET = Path(__file__).parents[3] / "datasets" / "link-speeds" / "link-speeds.csv"


def test_the_package_carries_the_dataset_and_every_row_has_an_origin() -> None:
    assert read_link_speeds(DATASET) == default_link_speeds()
    with DATASET.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 15
    assert [row["type"] for row in rows if not row["origin"] or not row["meaning"]] == []


def test_closer_is_faster_by_a_link_class_each() -> None:
    speeds = [
        default_link_speeds().gb_s(name) for name in ("STAGING", "SYS", "NODE", "PHB", "PXB", "PIX", "NV1", "NV2")
    ]
    for slow, fast in pairwise(speeds):
        assert slow is not None and fast is not None
        assert fast * 10 >= slow * 11


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("NV12", 300.0),
        ("XGMI2@906", 48.0),
        ("XGMI2@new", 96.0),
        ("NV1+PHB", 25.0),
        ("PHB+SYS", 12.1),
        ("NV", 25.0),
        ("NV1+WARP", None),
        ("PHB2", None),
        ("", None),
    ],
)
def test_numbers_of_links_multiply_and_the_fastest_of_several_counts(name: str, want: float | None) -> None:
    assert default_link_speeds().gb_s(name) == want


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "no table of link speeds"),
        ("type,gb_s,per\nNV,fast,link\n", "row NV: not a speed"),
        ("type,gb_s,per\nNV,0,link\n", "not a speed"),
        ("type,gb_s,per\nNV,inf,link\n", "not a speed"),
        ("type,gb_s,per\nNV,5,hop\n", "what is it the speed of"),
        ("type,gb_s,per\nNV,5,link\nNV,6,link\n", "a type twice"),
        ("type,gb_s,per\n,5,link\n", "row 1: a row without a type"),
        ("type,gb_s,per\nSTAGING,5,link\n", "the staging speed is that of a pair"),
        ("type,gb_s,per\nNV\n", "what is it the speed of"),
    ],
)
def test_a_broken_table_is_refused_with_its_row(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "speeds.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        read_link_speeds(path)
    assert caught.value.source == str(path)
