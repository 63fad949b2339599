"""Tests that a SARIF log follows the standard and points to the lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.formats.test_lint_files import RACKS
from workbench.formats.lint_files import lint_files
from workbench.formats.sarif import to_sarif
from workbench.topology.lint import RULES


@pytest.fixture
def log(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "hall one.yaml"
    path.write_text(RACKS, encoding="utf-8")
    return to_sarif(lint_files([path]).report, "1.2.3")


def test_the_log_has_the_shape_of_the_standard(log: dict[str, Any]) -> None:
    # SARIF 2.1.0: sections 3.13 (log), 3.14 (run), 3.18 and 3.19 (tool), 3.49 (reporting descriptor), 3.27 (result).
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] and driver["version"] == "1.2.3"
    rules = driver["rules"]
    assert [rule["id"] for rule in rules] == [rule.id for rule in RULES]
    assert len({rule["name"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        for key in ("shortDescription", "fullDescription", "help"):
            assert rule[key]["text"]
        assert rule["help"]["markdown"]
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    assert all(type(one["executionSuccessful"]) is bool for one in run["invocations"])
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == rules[result["ruleIndex"]]["defaultConfiguration"]["level"]
        assert result["message"]["text"]
        assert all(type(print_) is str for print_ in result["partialFingerprints"].values())


def test_results_lead_to_file_line_and_field(log: dict[str, Any]) -> None:
    result = next(r for r in log["runs"][0]["results"] if r["ruleId"] == "stale-node-count")
    (location,) = result["locations"]
    uri = location["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///") and uri.endswith("/hall%20one.yaml")
    assert location["physicalLocation"]["region"] == {"startLine": 21}
    assert location["logicalLocations"] == [
        {"name": "s0", "fullyQualifiedName": "HyperNode/s0.status.nodeCount", "kind": "resource"}
    ]
    assert result["properties"] == {"fix": "write 2"}


def test_a_finding_about_a_node_has_a_logical_place_only(log: dict[str, Any]) -> None:
    result = next(r for r in log["runs"][0]["results"] if r["ruleId"] == "node-outside")
    assert result["locations"] == [
        {"logicalLocations": [{"name": "node1", "fullyQualifiedName": "Node/node1", "kind": "resource"}]}
    ]


def test_relative_paths_stay_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "racks.yaml").write_text(RACKS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    results = to_sarif(lint_files(["racks.yaml"]).report, "1")["runs"][0]["results"]
    assert results[0]["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "racks.yaml"}


def test_the_print_of_a_finding_does_not_depend_on_its_line(tmp_path: Path) -> None:
    prints = []
    for text in (RACKS, "\n\n# moved down\n" + RACKS):
        path = tmp_path / "racks.yaml"
        path.write_text(text, encoding="utf-8")
        results = to_sarif(lint_files([path]).report, "1")["runs"][0]["results"]
        prints.append([r["partialFingerprints"] for r in results])
    assert prints[0] == prints[1] and len({str(p) for p in prints[0]}) == len(prints[0])


def test_what_was_not_judged_is_a_notification() -> None:
    text = "---".join(RACKS.split("---")[:2])
    run = to_sarif(lint_files(["-"], stdin=text).report, "1")["runs"][0]
    notices = run["invocations"][0]["toolExecutionNotifications"]
    assert {n["message"]["text"] for n in notices} == {"not judged: the input has no Node"}
    assert all(run["tool"]["driver"]["rules"][n["associatedRule"]["index"]]["id"] for n in notices)
