"""Generator of docs/notices.md from the table of codes; run as a script it writes the page.

PYTHONPATH=. python -m tests.notice_codes
"""

from __future__ import annotations

from pathlib import Path

from workbench.model.notice_codes import GROUPS, REMEDIES

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parents[1] / "docs" / "notices.md"

_HEAD = """\
# Notices

Written by `python -m tests.notice_codes` from `workbench/model/notice_codes.py`; a test compares the two.

Reasons, warnings and gaps are all `Notice(code, message, subject, numbers)`; in `-o json` each is an object with these
four keys. Programs read `code`, `subject` and `numbers`; `message` is for people and may change in any release.
`numbers.count` is how many nodes, domains or pods the notice concerns. An empty subject means the gang of the answer,
or the input as a whole. Policies of other packages may have codes of their own. What would help a certain job is tried
and said in its headline: [why a job is pending](howto/pending.md).
"""


def page() -> str:
    """The page as it should be."""
    lines = [_HEAD]
    for title, codes in GROUPS.items():
        if codes.keys() <= REMEDIES.keys():
            lines += [f"## {title}", "", "| code | meaning | what helps |", "| --- | --- | --- |"]
            lines += [f"| `{code}` | {meaning} | {REMEDIES[code]} |" for code, meaning in codes.items()]
        else:
            lines += [f"## {title}", "", "| code | meaning |", "| --- | --- |"]
            lines += [f"| `{code}` | {meaning} |" for code, meaning in codes.items()]
        lines += [""]
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
