"""The topology linter: rules that find certain and likely mistakes in HyperNodes and nodes.

`lint` runs the rules; `edits_by_hypernode` lists the corrections of findings that have exactly one. Files, line numbers
and SARIF are handled in `workbench.formats`; docs/lint-rules.md lists the rules.
"""

from __future__ import annotations

from workbench.topology.lint.base import FieldEdit, Finding, Fix, Rule, Severity, apply_edits, edits_by_hypernode
from workbench.topology.lint.report import RULES, LintReport, choose_rules, lint
from workbench.topology.lint.subject import Place, Subject

__all__ = [
    "RULES",
    "FieldEdit",
    "Finding",
    "Fix",
    "LintReport",
    "Place",
    "Rule",
    "Severity",
    "Subject",
    "apply_edits",
    "choose_rules",
    "edits_by_hypernode",
    "lint",
]
