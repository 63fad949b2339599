"""The linter's findings as terminal tables and as HTML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.text import Text

from workbench.model.counted import counted
from workbench.model.topology import Topology
from workbench.report.html import render
from workbench.report.svg_text import Inserted
from workbench.report.tables import listed, new_table
from workbench.report.topology_svg import draw_topology
from workbench.topology.lint import Finding, LintReport, Rule

__all__ = ["lint_html", "lint_page", "lint_tables", "rule_tables"]

#: Findings listed before the rest is counted; -o json has everything.
_ROWS = 40

_COLOURS = {"error": "red", "warning": "yellow", "note": "blue"}


def lint_tables(report: LintReport) -> list[Any]:
    """Terminal tables of the linter's findings with their places, then why each broken rule matters and what to do."""
    parts: list[Any] = []
    if report.findings:
        table = new_table("", "rule", "place", "what")
        for finding in report.findings[:_ROWS]:
            colour = Text(finding.severity.value, _COLOURS[finding.severity.value])
            row = [Text(finding.rule.id), Text(_place(finding)), Text(finding.message)]
            table.add_row(colour, *row)
        parts.append(table)
        if len(report.findings) > _ROWS:
            parts.append(
                Text(f"… and {counted(len(report.findings) - _ROWS, 'more finding', form=',')} (-o json lists all)")
            )
        for rule in broken_rules(report):
            parts.append(Text(f"{rule.id}: ", "bold").append_text(Text(f"{rule.why} {rule.todo}", "not bold")))
    return [*parts, Text(_summary(report))]


def broken_rules(report: LintReport) -> list[Rule]:
    """Rules that have findings, in the order of the findings."""
    return list(dict.fromkeys(finding.rule for finding in report.findings))


def _place(finding: Finding) -> str:
    """File, line and field of a finding as text; if there is no file, the HyperNode or node."""
    where = str(finding.place) if finding.place else finding.subject
    return f"{where}\n{finding.field}" if finding.field else where


def _summary(report: LintReport) -> str:
    over = f"{counted(report.n_hypernodes, 'HyperNode', form=',')} over {counted(report.n_nodes, 'node', form=',')}"
    if not report.findings:
        text = f"no problem found in {over}"
    else:
        counts = ", ".join(counted(n, kind) for kind, n in report.counts.items() if n)
        text = f"{counts} in {over}"
        fixes = len(report.fixable)
        text += f"; {fixes} can be mended by --fix" if fixes else ""
        text += "" if report.ready else "; Volcano would not schedule by this topology"
    if report.not_judged:
        reasons = dict.fromkeys(reason for _, reason in report.not_judged)
        n = len(report.not_judged)
        text += f" ({counted(n, 'rule')} not judged: {'; '.join(reasons)})"
    return text


def rule_tables(rules: Iterable[Rule]) -> list[Any]:
    """Terminal table of lint rules with code, severity and title."""
    rows = [
        (rule.id, rule.code, rule.severity.value, rule.title + (" (--fix)" if rule.fixable else "")) for rule in rules
    ]
    return listed(("rule", "code", "severity", "finds"), rows)


def lint_html(report: LintReport) -> str:
    """The linter's findings as an HTML fragment for a notebook."""
    return render("lint.html.j2", **_values(report))


def lint_page(report: LintReport, topology: Topology) -> str:
    """An HTML page, complete in itself: the topology (as far as it is a tree) and the linter's findings."""
    return render("lint_page.html.j2", picture=Inserted(draw_topology(topology)), **_values(report))


def _values(report: LintReport) -> dict[str, Any]:
    return {
        "summary": _summary(report),
        "findings": [(f, str(f.place) if f.place else "") for f in report.findings[: 5 * _ROWS]],
        "more": max(0, len(report.findings) - 5 * _ROWS),
        "rules": broken_rules(report),
    }
