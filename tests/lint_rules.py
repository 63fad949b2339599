"""Generator of docs/lint-rules.md from the registry of rules; run as a script it writes the page.

PYTHONPATH=. python -m tests.lint_rules
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workbench.topology.lint import RULES, Rule

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parents[1] / "docs" / "lint-rules.md"

_HEAD = """\
# Rules of `workbench topology lint`

Written by `python -m tests.lint_rules` from `workbench/topology/lint`; a test compares the two.

An *error* makes placements wrong or the tree unusable, and the exit status 1. A *warning* makes placements worse than
they need be, or soon will. A *note* is worth knowing. `--rules` and `--ignore` take ids or codes. `--fix` mends in the
files what has exactly one remedy. Sizes and labels are judged against the other leaves of the same input, so that a
fabric which is odd throughout is not accused; every rule finds nothing in a sound topology.

"""


def page() -> str:
    """The page as it should be."""
    return _HEAD + rules_markdown(RULES)


def rules_markdown(rules: Sequence[Rule]) -> str:
    """All rules as a page of documentation."""
    lines = ["| code | rule | severity | finds | `--fix` |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {r.code} | [`{r.id}`](#{r.id}) | {r.severity.value} | {r.title} | {'some' if r.fixable else ''} |"
        for r in rules
    ]
    for rule in rules:
        nodes = "a Node in the input, or with no node at all" if rule.judges_none else "a Node in the input"
        needs = [nodes] * rule.needs_nodes + ["the manifests as written"] * rule.needs_manifests
        lines += ["", f"## {rule.id}", "", f"{rule.code}, {rule.severity.value}: {rule.title}.", "", rule.why, ""]
        lines += [f"*What to do:* {rule.todo}"]
        lines += ["", f"Judged only with {' and '.join(needs)}."] if needs else []
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
