"""Classes of the linter: rule, finding, fix; and how fixes are applied to parsed manifests.

The rules themselves are in the other modules of this package.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workbench.topology.lint.subject import Place, Subject

__all__ = [
    "FieldEdit",
    "Finding",
    "Fix",
    "Found",
    "Path",
    "Rule",
    "Severity",
    "apply_edits",
    "edits_by_hypernode",
    "field_text",
]

#: Keys and list positions from an object's root to one of its fields.
Path = tuple[str | int, ...]


class Severity(StrEnum):
    """Severity of a linter's finding: error, warning or note.

    An error makes placements wrong or the HyperNode tree unusable. A warning makes placements worse than necessary, now
    or later. A note is worth knowing.
    """

    error = "error"
    warning = "warning"
    note = "note"

    @property
    def rank(self) -> int:
        """Position in order of severity; 0 is the most severe."""
        return list(Severity).index(self)


@dataclass(frozen=True)
class FieldEdit:
    """One change to a manifest: the field at a path gets a value, or with `remove` the list entry there is deleted."""

    path: Path
    value: Any = None
    remove: bool = False


@dataclass(frozen=True)
class Fix:
    """The correction of a finding for which only one is possible: a description, and the edits that make it."""

    meaning: str
    edits: tuple[FieldEdit, ...]


@dataclass(frozen=True)
class Found:
    """One violation of a rule as the rule's function reports it.

    Attributes
    ----------
    message : str
        One sentence with the names involved.
    hypernode, node : str
        HyperNode or node concerned; empty: none.
    path : tuple
        Field of the HyperNode's manifest; empty: the object as a whole.
    others : tuple of str
        All further HyperNodes or nodes that the finding concerns; the message may list only some of them.
    fix : Fix, optional
        The correction, if only one is possible; else None.
    """

    message: str
    hypernode: str = ""
    node: str = ""
    path: Path = ()
    others: tuple[str, ...] = ()
    fix: Fix | None = None


@dataclass(frozen=True)
class Rule:
    """A rule of the linter, which finds one kind of mistake in a topology.

    Attributes
    ----------
    id : str
        Short, stable name that users type.
    code : str
        Stable code; rules are shown in the order of their codes: T1 structure, T2 members, T3 sizes, T4 names, T5
        nodes.
    title : str
        Name of the mistake, without a place.
    why : str
        Why the mistake matters.
    todo : str
        How to correct the mistake.
    check : callable
        Function from a `Subject` to the findings, in a documented order.
    needs_nodes : bool
        Whether the rule needs the cluster's nodes; such a rule is not run if the input has none.
    judges_none : bool
        Exception from `needs_nodes`: the rule is run if the input has no node at all, not even the name of one as a
        member.
    needs_manifests : bool
        Whether the rule needs the HyperNode manifests; such a rule is not run on a topology without manifests.
    fixable : bool
        Whether some of the rule's findings have exactly one correction, which `--fix` applies.
    """

    id: str
    code: str
    severity: Severity
    title: str
    why: str
    todo: str
    check: Callable[[Subject], Iterable[Found]]
    needs_nodes: bool = False
    judges_none: bool = False
    needs_manifests: bool = False
    fixable: bool = False


@dataclass(frozen=True)
class Finding:
    """One violation of a rule in a report: the fields of `Found`, with the rule and the place."""

    rule: Rule
    message: str
    hypernode: str = ""
    node: str = ""
    path: Path = ()
    others: tuple[str, ...] = ()
    fix: Fix | None = None
    place: Place | None = None

    @property
    def severity(self) -> Severity:
        return self.rule.severity

    @property
    def field(self) -> str:
        """The field's path as text, such as ``spec.members[3].selector``; empty if the whole object is concerned."""
        return field_text(self.path)

    @property
    def subject(self) -> str:
        """Name of the HyperNode or node that the finding is about."""
        return self.hypernode or self.node

    def to_dict(self) -> dict[str, Any]:
        """The finding as a JSON-ready dict."""
        return {
            "rule": self.rule.id,
            "code": self.rule.code,
            "severity": self.severity.value,
            "message": self.message,
            "hypernode": self.hypernode or None,
            "node": self.node or None,
            "field": self.field or None,
            "file": self.place.file if self.place else None,
            "where": self.place.where or None if self.place else None,
            "line": self.place.line if self.place else None,
            "others": list(self.others),
            "why": self.rule.why,
            "what_to_do": self.rule.todo,
            "fix": self.fix.meaning if self.fix else None,
        }


def field_text(path: Path) -> str:
    """A field path as text: ``("spec", "members", 3)`` becomes ``spec.members[3]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def edits_by_hypernode(findings: Iterable[Finding]) -> dict[str, tuple[FieldEdit, ...]]:
    """Edits of the findings that have a fix by HyperNode, highest list position first so that no edit shifts another.

    If two edits concern one place and one of them removes it, only the removal is kept.
    """
    found: dict[str, dict[Path, FieldEdit]] = {}
    for finding in findings:
        if finding.fix is None:
            continue
        mine = found.setdefault(finding.hypernode, {})
        for edit in finding.fix.edits:
            if edit.remove or edit.path not in mine:
                mine[edit.path] = edit
    result = {}
    for name, edits in sorted(found.items(), key=lambda item: item[0].encode()):
        gone = {edit.path for edit in edits.values() if edit.remove}
        kept = [e for e in edits.values() if e.remove or not any(e.path[: len(path)] == path for path in gone)]
        result[name] = tuple(sorted(kept, key=lambda e: [(isinstance(p, int), p) for p in e.path], reverse=True))
    return result


def apply_edits(manifest: Mapping[str, Any], edits: Iterable[FieldEdit]) -> dict[str, Any]:
    """A copy of a manifest with the edits applied in the given order, which must be that of `edits_by_hypernode`."""
    result = copy.deepcopy(dict(manifest))
    for edit in edits:
        *above, last = edit.path
        holder: Any = result
        for part in above:
            holder = holder[part]
        if edit.remove:
            del holder[last]
        else:
            holder[last] = edit.value
    return result
