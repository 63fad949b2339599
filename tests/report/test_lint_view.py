from __future__ import annotations

from io import StringIO

from rich.console import Console

from tests.topology.lint.good import Cluster, member
from workbench.report.lint_view import lint_html, lint_page, lint_tables, rule_tables
from workbench.topology.lint import RULES


def shown(parts: list[object]) -> str:
    console = Console(file=StringIO(), width=80)
    for part in parts:
        console.print(part)
    return console.file.getvalue()  # type: ignore[attr-defined]


def cluster(n: int = 2, missing: int = 0) -> Cluster:
    made = Cluster()
    for i in range(n):
        made.add_node(f"n{i}")
    made.add_hypernode("a", 1, [member(f"n{i}") for i in range(n)] + [member(f"<b>{i}</b>") for i in range(missing)])
    return made


def test_findings_are_listed_or_their_absence_said() -> None:
    assert shown(lint_tables(cluster().lint())) == "no problem found in 1 HyperNode over 2 nodes\n"
    text = shown(lint_tables(cluster(missing=1).lint(only=["dangling-member"])))
    assert "dangling-member" in text and "[2].sele" in text and "1 error in 1 HyperNode " in text
    assert "Correct the name" in text


def test_long_lists_are_cut_and_counted() -> None:
    text = shown(lint_tables(cluster(missing=60).lint(only=["dangling-member"])))
    assert "and 20 more findings" in text and "60 errors" in text


def test_names_from_files_are_escaped() -> None:
    made = cluster(missing=1)
    report = made.lint()
    for text in (lint_html(report), lint_page(report, made.subject().topology())):
        assert "&lt;b&gt;0&lt;/b&gt;" in text and "<b>0</b>" not in text


def test_the_page_has_the_picture() -> None:
    made = cluster()
    page = lint_page(made.lint(), made.subject().topology())
    assert page.startswith("<!DOCTYPE html>") and "tw-topology" in page and "no problem found" in page


def test_every_rule_is_listed() -> None:
    text = shown(rule_tables(RULES))
    assert all(rule.code in text for rule in RULES)
