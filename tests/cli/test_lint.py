from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.formats.test_lint_files import FIXED, RACKS
from workbench.topology.lint import RULES


@pytest.fixture
def racks(tmp_path: Path) -> Path:
    path = tmp_path / "racks.yaml"
    path.write_text(RACKS, encoding="utf-8")
    return path


def test_errors_are_status_1_and_warnings_0(run: Run, racks: Path) -> None:
    assert run("topology", "lint", "-f", racks).status == 1
    result = run("topology", "lint", "-f", racks, "--ignore", "dangling-member,T210")
    assert result.status == 0 and "duplicate-member" in result.out


def test_json_has_every_finding_with_its_place(run: Run, racks: Path) -> None:
    result = run("topology", "lint", "-f", racks, "--rules", "stale-node-count", "-o", "json")
    assert result.status == 0
    assert result.json["ready"] is True and result.json["counts"] == {"error": 0, "warning": 0, "note": 1}
    (finding,) = result.json["findings"]
    assert (finding["file"], finding["line"], finding["hypernode"]) == (str(racks), 21, "s0")
    assert finding["field"] == "status.nodeCount" and finding["why"] and finding["what_to_do"] and finding["fix"]


def test_sarif_goes_to_a_file(run: Run, racks: Path, tmp_path: Path) -> None:
    out = tmp_path / "lint.sarif"
    assert run("topology", "lint", "-f", racks, "-o", "sarif", "--out", out).status == 1
    assert json.loads(out.read_text(encoding="utf-8"))["version"] == "2.1.0"


def test_fix_shows_the_difference_and_the_rest(run: Run, racks: Path) -> None:
    result = run("topology", "lint", "-f", racks, "--fix")
    assert result.status == 0 and '+        name: "node1"' in result.out and "member-matches-nothing" in result.out
    assert racks.read_text(encoding="utf-8") == FIXED
    again = run("topology", "lint", "-f", racks, "--fix", "-o", "json")
    assert again.status == 0 and again.err == "" and len(again.json["findings"]) == 1


def test_fix_keeps_json_clean(run: Run, racks: Path) -> None:
    result = run("topology", "lint", "-f", racks, "--fix", "-o", "json")
    assert "+status: {nodeCount: 2}" in result.err and result.json["counts"]["error"] == 0


def test_rules_are_listed(run: Run) -> None:
    shown = run("topology", "lint", "--list-rules").out
    assert [rule.code for rule in RULES if rule.code not in shown] == []
    listed = run("topology", "lint", "--list-rules", "-o", "json", "--rules", "T101").json
    assert [rule["rule"] for rule in listed] == ["cycle"]
    assert run("topology", "lint", "--list-rules", "-o", "sarif").status == 2


def test_bad_usage_is_one_line(run: Run, racks: Path) -> None:
    for arguments in (("--rules", "cycel"), ("--ignore", "T999"), ("--from", "slrm")):
        result = run("topology", "lint", "-f", racks, *arguments)
        assert result.status == 2 and result.err.count("\n") == 1
    assert run("topology", "lint").status == 2
    assert run("topology", "lint", "-f", "-", "--fix").status == 2


def test_another_format_is_linted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    path.write_text("SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[3-7]\n", encoding="utf-8")
    result = run("topology", "lint", "-f", path, "-o", "json")
    assert result.status == 1 and [f["rule"] for f in result.json["findings"]] == ["overlap"]


def test_what_a_reader_doubts_is_told_beside_the_findings(run: Run) -> None:
    path = Path(__file__).parents[2] / "datasets" / "one-fabric" / "ibnetdiscover-one-wrong-cable.out"
    result = run("topology", "lint", "-f", path)
    assert result.status == 0 and "note: storage ports, not nodes: nas-1" in result.err
    assert any("gpu-05" in line for line in result.err.splitlines())
    notes = run("topology", "lint", "-f", path, "-o", "json").json["notes"]
    assert [note["message"] for note in notes] == [line.removeprefix("note: ") for line in result.err.splitlines()]
    assert [note["code"] for note in notes] == ["left-aside", "hosts-without-name", "wrong-cable", "smallest-cut"]


def test_our_own_patterns_without_their_nodes_are_a_finding(run: Run, files: Path) -> None:
    patterns = files / "patterns.yaml"
    run("topology", "convert", "-f", files / "cluster.yaml", "--to", "hypernodes-regex", "--out", patterns)
    alone = run("topology", "lint", "-f", patterns, "-o", "json")
    told = [(f["rule"], f["hypernode"]) for f in alone.json["findings"]]
    assert told == [("member-matches-nothing", "s0"), ("member-matches-nothing", "s1")]
    assert "the input has no Node" in alone.json["findings"][0]["message"]
    shown = run("topology", "show", "-f", patterns)
    assert "s0 has no node: its members select none" in shown.out
    assert "note: 2 HyperNodes select nodes by pattern or label: without a Node they hold none\n" in shown.err
    nodes = "---\n".join(t for t in (files / "cluster.yaml").read_text("utf-8").split("---\n") if "kind: Node" in t)
    (files / "nodes.yaml").write_text(nodes, encoding="utf-8")
    (files / "both").mkdir()
    for name in ("patterns.yaml", "nodes.yaml"):
        (files / name).rename(files / "both" / name)
    assert run("topology", "diff", "-f", files / "cluster.yaml", "-f", files / "both").status == 0
