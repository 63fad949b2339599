"""The committed list of cases that may fail: `expected_failures.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

__all__ = ["Expectation", "Expectations"]


@dataclass(frozen=True)
class Expectation:
    """One entry.

    Attributes
    ----------
    id : str
        ``area/file/case-id``, or in a pattern the same with ``*``.
    reason : str
    issue : str
        Which issue makes it green; ``never`` for the few that stay.
    strict : bool
        A case listed by its id must fail: when it passes, the list is out of date. A pattern stands for cases that
        are not committed here (``--cases``), some of which may already pass.
    """

    id: str
    reason: str
    issue: str
    strict: bool


class Expectations:
    """Look-up of a case's id: a listed id first, then the patterns in file order.

    Parameters
    ----------
    text : Mapping
        The parsed TOML: tables ``case`` and ``pattern``, each with id, reason and issue.
    committed : collection of str
        Ids of the committed cases. A pattern never covers one of them: each committed case is green or listed by id.
    """

    def __init__(self, text: Mapping[str, Any], committed: Iterable[str]) -> None:
        self.cases = {entry["id"]: _entry(entry, strict=True) for entry in text.get("case", [])}
        self.patterns = [_entry(entry, strict=False) for entry in text.get("pattern", [])]
        self.committed = frozenset(committed)
        if len(self.cases) != len(text.get("case", [])):
            raise ValueError("an id stands twice in the list of expected failures")
        for entry in (*self.cases.values(), *self.patterns):
            if ("*" in entry.id) == entry.strict:
                raise ValueError(f"{entry.id}: a case is listed without '*', a pattern with one")

    @classmethod
    def read(cls, path: Path, committed: Iterable[str]) -> Expectations:
        """Read the list from its file."""
        return cls(tomllib.loads(path.read_text("utf-8")), committed)

    def of(self, case_id: str) -> Expectation | None:
        """What the list says about a case; None: it must pass."""
        if case_id in self.cases:
            return self.cases[case_id]
        if case_id in self.committed:
            return None
        return next((pattern for pattern in self.patterns if fnmatchcase(case_id, pattern.id)), None)


def _entry(entry: Mapping[str, Any], strict: bool) -> Expectation:
    unknown = entry.keys() - {"id", "reason", "issue"}
    if unknown or not entry.get("reason") or not entry.get("issue"):
        raise ValueError(f"an expected failure has id, reason and issue, nothing else: {dict(entry)}")
    return Expectation(entry["id"], entry["reason"], str(entry["issue"]), strict)
