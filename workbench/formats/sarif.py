"""Write the linter's findings as SARIF 2.1.0, a format that code-review tools show beside the lines.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, sections 3.13 to 3.52.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

from workbench.topology.lint import Finding, LintReport, Rule

__all__ = ["to_sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_sarif(report: LintReport, version: str) -> dict[str, Any]:
    """The report of one run of the linter as a SARIF log.

    `version`: version of this package. Returns: plain values for JSON: every rule that ran with its help, a result per
    finding, a notification per rule that could not be judged.
    """
    index = {rule.id: i for i, rule in enumerate(report.rules)}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "workbench topology lint",
                        "version": version,
                        "rules": [_rule(rule) for rule in report.rules],
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "toolExecutionNotifications": [
                            {
                                "level": "note",
                                "message": {"text": f"not judged: {reason}"},
                                "associatedRule": {"id": rule.id, "index": index[rule.id]},
                            }
                            for rule, reason in report.not_judged
                        ],
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, index[finding.rule.id]) for finding in report.findings],
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {
            "text": f"{rule.why}\n{rule.todo}",
            "markdown": f"**{rule.title}**\n\n{rule.why}\n\n**What to do:** {rule.todo}",
        },
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {"code": rule.code, "fixable": rule.fixable},
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "level": finding.severity.value,
        "message": {"text": f"{finding.message}. {finding.rule.todo}"},
        "locations": [_location(finding)],
        # The same finding keeps its print when lines above it come or go.
        "partialFingerprints": {
            "topologyFinding/v1": hashlib.sha256(
                "\0".join([finding.rule.id, finding.hypernode, finding.node, finding.message]).encode()
            ).hexdigest()
        },
    }
    if finding.fix is not None:
        result["properties"] = {"fix": finding.fix.meaning}
    return result


def _location(finding: Finding) -> dict[str, Any]:
    location: dict[str, Any] = {}
    place = finding.place
    if place is not None:
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(place.file)}}
        if place.line is not None:
            location["physicalLocation"]["region"] = {"startLine": place.line}
    kind, name = ("HyperNode", finding.hypernode) if finding.hypernode else ("Node", finding.node)
    if name:
        path = f"{kind}/{name}" + (f".{finding.field}" if finding.field else "")
        location["logicalLocations"] = [{"name": name, "fullyQualifiedName": path, "kind": "resource"}]
    return location


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
