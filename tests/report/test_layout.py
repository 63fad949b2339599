from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbench.report.layout import SOFT_BREAK, fitted, one_line
from workbench.report.tables import new_table, text_row

NAME = "a-name-of-thirty-characters-ab"
WORDS = "words that may go on in the next line wherever a space is"


def of_width(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False)


def lines(table: Table, width: int) -> list[str]:
    console = of_width(width)
    console.print(table)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def table_of(*rows: tuple[str, ...]) -> Table:
    table = new_table("name", "what", "n", right=(2,))
    for row in rows:
        text_row(table, *row)
    return table


def test_the_sentence_is_wrapped_before_the_name_is_broken() -> None:
    table = table_of((NAME, WORDS, "1"), ("b", WORDS, "2"))
    assert not any(NAME in line for line in lines(table, 50)), "rich alone breaks the name"
    shown = lines(fitted(table, of_width(50)), 50)
    assert max(map(len, shown)) <= 50
    assert sum(NAME in line for line in shown) == 1
    assert " ".join(" ".join(shown).split()).count("wherever") == 2


@pytest.mark.parametrize("width", [72, 75, 80, 100, 120])
def test_the_widths_add_up_to_the_terminal(width: int) -> None:
    table = fitted(table_of((NAME, f"{WORDS} {WORDS}", "1"), (NAME, NAME, "12345")), of_width(width))
    shown = lines(table, width)
    assert max(map(len, shown)) <= width
    assert sum(line.count(NAME) for line in shown) == 3


def test_what_fits_stays_in_one_line() -> None:
    table = fitted(table_of((f"a{SOFT_BREAK}+b", "c", "1")), of_width(40))
    assert [line.split() for line in lines(table, 40) if "a" in line] == [["name", "what", "n"], ["a+b", "c", "1"]]


def test_a_soft_break_is_used_where_the_table_is_too_wide() -> None:
    shown = lines(fitted(table_of((f"{NAME}{SOFT_BREAK}+gpu", "c" * 20, "1")), of_width(60)), 60)
    assert [line.split() for line in shown if "a-name" in line or "+gpu" in line] == [[NAME, "c" * 20, "1"], ["+gpu"]]


def test_a_soft_break_is_not_used_where_wrapping_at_spaces_is_enough() -> None:
    shown = lines(fitted(table_of((f"{NAME}{SOFT_BREAK}+gpu", WORDS, "1")), of_width(60)), 60)
    assert any(f"{NAME}+gpu" in line for line in shown) and "wherever" in " ".join(shown)


def test_columns_that_do_not_fit_are_left_out_whole_and_named() -> None:
    shown = lines(fitted(table_of((NAME, "c" * 12, "12345")), of_width(50)), 50)
    assert max(map(len, shown)) <= 50
    assert [line.split() for line in shown if line.strip()][2:] == [[NAME, "c" * 12], ["too", "narrow", "for:", "n"]]


def test_what_stands_below_a_table_stays_there() -> None:
    table = table_of((NAME, "c" * 12, "12345"))
    table.caption = "… and 3 more"
    for width in (50, 120):
        shown = lines(fitted(table, of_width(width)), width)
        assert any("and 3 more" in line for line in shown), width
    assert one_line(table).caption == "… and 3 more"


def test_a_sentence_is_wrapped_rather_than_left_out() -> None:
    shown = lines(fitted(table_of((NAME, WORDS, "12345")), of_width(43)), 43)
    text = " ".join(" ".join(shown).split())
    assert NAME in text and "wherever" in text and "12345" not in text and text.endswith("too narrow for: n")


def test_a_column_that_may_not_be_wrapped_stays() -> None:
    table = table_of((NAME, "c" * 12, "12345"))
    table.columns[2].no_wrap = True
    text = " ".join(lines(fitted(table, of_width(45)), 45))
    assert NAME in text and "12345" in text and "c" * 12 not in text


def test_two_columns_that_do_not_fit_are_broken_and_nothing_is_lost() -> None:
    table = new_table("name", "what")
    text_row(table, NAME, NAME)
    shown = lines(fitted(table, of_width(40)), 40)
    assert max(map(len, shown)) <= 40
    assert sorted(c for line in shown for c in line if c.isalnum()) == sorted("namewhat" + (NAME * 2).replace("-", ""))


def test_a_row_in_one_line_keeps_its_styles() -> None:
    table = new_table("a", "b")
    table.add_row(Text("x\ny", "red"), Text.assemble(("p", "bold"), f"q{SOFT_BREAK}+r"))
    row = one_line(table)
    cells = [next(iter(column.cells)) for column in row.columns]
    assert [cell.plain for cell in cells] == ["x y", "pq+r"]
    assert "red" in {str(span.style) for span in cells[0].spans} | {str(cells[0].style)}
    assert "bold" in {str(span.style) for span in cells[1].spans}


def test_the_original_is_left_as_it_was() -> None:
    table = table_of((f"{NAME}{SOFT_BREAK}+gpu", f"{WORDS}\nsecond", "1"))
    before = lines(table, 60)
    fitted(table, of_width(60))
    one_line(table)
    assert lines(table, 60) == before
