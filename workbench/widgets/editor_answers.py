"""What the topology editor reads in requests of its page, and records that it sends back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from workbench.errors import InputError
from workbench.objects.fields import shown
from workbench.objects.selectors import compile_pattern
from workbench.topology.draft import Change, Draft
from workbench.topology.draft_objects import subject_of
from workbench.topology.lint import lint
from workbench.topology.presets import PRESETS
from workbench.widgets.messages import page_words

__all__ = ["findings_of", "items_named", "names_in_text", "preset_forms", "renames_switch", "suffix_of"]

#: Findings of the linter that the page lists; the others are counted.
MOST_FINDINGS = 200


def findings_of(draft: Draft) -> dict[str, Any]:
    """The linter's findings for a drawing, each with the id of the item concerned (0: none), as a JSON-ready dict."""
    found = []
    for finding in lint(subject_of(draft)).findings:
        item = draft.find("switch", finding.hypernode) or draft.find("node", finding.node)
        found.append(
            {
                "id": item.id if item is not None else 0,
                "severity": str(finding.rule.severity),
                "rule": finding.rule.id,
                "message": page_words(finding.message),
                "what_to_do": page_words(finding.rule.todo),
                "fix": finding.fix.meaning if finding.fix is not None else "",
                "hypernode": finding.hypernode,
                "field": finding.field,
            }
        )
    return {"findings": found[:MOST_FINDINGS], "more": max(len(found) - MOST_FINDINGS, 0)}


def preset_forms() -> list[dict[str, Any]]:
    """The presets with the parameters of their fabrics, defaults as they are typed."""
    return [
        {
            "name": preset.name,
            "meaning": preset.meaning,
            "parameters": [
                {"name": name, "default": _typed(parameter.default), "meaning": parameter.meaning}
                for name, parameter in preset.parameters.items()
                if not parameter.of_job
            ],
        }
        for preset in PRESETS.values()
    ]


def _typed(value: float | str | tuple[int, ...]) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def names_in_text(body: dict[str, Any]) -> list[str] | None:
    """Names of the HyperNodes that the text in a request describes; None for all."""
    names = body.get("names")
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError("no list of names", source="text", where="names", got=shown(names), expected="texts")
    return names


def renames_switch(change: Change) -> bool:
    """Whether a change of the drawing adds, removes or renames a switch."""
    before, after = change.before, change.after
    kind = after.kind if after is not None else before.kind if before is not None else ""
    return kind == "switch" and (before is None or after is None or before.name != after.name)


def items_named(draft: Draft, names: Collection[str]) -> list[int]:
    """Ids of the items whose names equal one of `names`, or are matched as a whole by one of them as a pattern."""
    every = {item.name for item in draft}
    found: set[str] = set()
    for name in names:
        # An existing name is taken literally, even if it would match more as a pattern.
        match = {name} & every or set(filter(compile_pattern(name).fullmatch, every))
        if not match:
            raise InputError(
                "no node and no switch has this name",
                source="editor",
                got=repr(name),
                expected="names separated by commas, or a pattern of whole names such as node-.*",
            )
        found |= match
    return [item.id for item in draft if item.name in found]


def suffix_of(text: str) -> str:
    """The usual file name extension for a text, judged by its content."""
    if text.startswith("<"):
        return ".xml"
    if text.startswith(("{", "[")):
        return ".json"
    return ".yaml" if text.startswith(("---", "apiVersion", "- ")) else ".txt"
