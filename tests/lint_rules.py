"""docs/lint-rules.md out of the registry; run as a script it writes the page.

PYTHONPATH=. python -m tests.lint_rules
"""

from __future__ import annotations

from pathlib import Path

from workbench.report.lint_view import rules_markdown
from workbench.topology.lint import RULES

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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
