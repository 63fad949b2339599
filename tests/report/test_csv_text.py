from __future__ import annotations

import csv
import io

import pandas
import pytest

from workbench.report.csv_text import csv_text


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A1"])
def test_text_that_looks_like_a_formula_is_marked_as_text(text: str) -> None:
    rows = list(csv.reader(io.StringIO(csv_text(pandas.DataFrame({"=name": [text]})), newline="")))
    assert rows == [["'=name"], [f"'{text}"]]


def test_numbers_and_other_text_stay_as_they_are() -> None:
    frame = pandas.DataFrame({"job": ["a-b", "a=b", ""], "gb_s": [-1.5, 2.0, None], "n": [-3, 0, 4]})
    assert csv_text(frame) == "job,gb_s,n\r\na-b,-1.5,-3\r\na=b,2.0,0\r\n,,4\r\n"
    assert csv_text(frame.iloc[:0]) == "job,gb_s,n\r\n"
