"""Tests of the option `--cases`, by running pytest inside a test."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TREE = [{"name": "s0", "tier": 1, "parent": "s1"}, {"name": "s1", "tier": 2, "parent": ""}]


def lca_case(name: str, want: str, op: str = "lca") -> dict[str, object]:
    given = {"op": op, "hypernodes": TREE, "a": "s0", "b": "s1"}
    return {"id": name, "release": "both", "input": given, "expected": {"lca": want}}


def run(folder: Path) -> tuple[int, dict[str, str], str]:
    """Exit status, outcome by id, and everything that was printed."""
    command = [sys.executable, "-m", "pytest", "tests/conformance", "--cases", str(folder), "-rA", "-k", "test_case"]
    done = subprocess.run([*command, "-p", "no:cacheprovider"], cwd=ROOT, capture_output=True, text=True, check=False)
    outcomes = re.findall(r"^(PASSED|FAILED|XFAIL|XPASS) \S+::test_case\[(\S+)\]", done.stdout, re.MULTILINE)
    return done.returncode, {case_id: outcome for outcome, case_id in outcomes}, done.stdout + done.stderr


@pytest.mark.slow
def test_another_folder_runs_through_the_same_runners(tmp_path):
    area = tmp_path / "volcano-topology"
    area.mkdir()
    cases = [lca_case("right", "s1"), lca_case("wrong", "s0"), lca_case("strange", "s1", op="lowest")]
    (area / "lca.json").write_text(json.dumps(cases))
    (area / "later.json").write_text(json.dumps([lca_case("x", "s1")]))
    counting = {"op": "count-tasks-in-hypernode", "hyperNodeName": "s0", "tasks": {}, "hyperNodes": {}}
    (area / "helper.json").write_text(json.dumps([{"id": "kept-back", "input": counting, "expected": {"count": 0}}]))

    status, outcomes, text = run(tmp_path)

    assert status == 1
    assert outcomes == {
        "volcano-topology/lca/right": "PASSED",
        "volcano-topology/lca/wrong": "FAILED",
        "volcano-topology/lca/strange": "FAILED",
        "volcano-topology/helper/kept-back": "PASSED",
    }
    assert "no runner yet for volcano-topology/later.json (1 cases)" in text


@pytest.mark.slow
@pytest.mark.parametrize("make", [False, True], ids=["no such folder", "no case in it"])
def test_a_folder_without_cases_is_an_error_and_no_empty_success(tmp_path, make):
    folder = tmp_path / "cases"
    if make:
        folder.mkdir()
    status, outcomes, text = run(folder)
    assert status not in (0, 5)
    assert outcomes == {}
    assert "--cases" in text
