"""Apply the linter's fixes to parsed HyperNode manifests."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.topology.lint.base import FieldEdit, Finding, Path

__all__ = ["apply_edits", "edits_by_hypernode"]


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
