"""Every file of cases has a row in PROVENANCE.md that names where its cases come from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: What stands beside the cases: code, documentation, the list of expected failures.
NO_CASES = {".py", ".pyc", ".md", ".toml"}
FILES = sorted(
    path.relative_to(HERE).as_posix() for path in HERE.rglob("*") if path.is_file() and path.suffix not in NO_CASES
)


def table() -> dict[str, list[str]]:
    """The cells behind the file's name, by file."""
    lines = (HERE / "PROVENANCE.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    found = {cells[0].strip("`"): cells[1:] for cells in rows}
    assert len(found) == len(rows), "a file has two rows"
    return found


def source_path(case: dict) -> str:
    """The file that a case names as its source; empty where the source is a text or a remark in brackets."""
    path = case.get("source_file", "").split("::")[0].split("#")[0]
    return path if "/" in path and not path.startswith(("(", "docs/")) else ""


def test_every_file_of_cases_has_one_row_and_every_row_a_file():
    assert FILES
    assert sorted(table()) == FILES


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".json")])
def test_the_row_counts_the_cases_and_names_their_sources(name):
    count, how, origin, licence, _ = table()[name]
    assert how and origin and licence
    cases = json.loads((HERE / name).read_text(encoding="utf-8"))
    if isinstance(cases, dict):  # a table that cases look things up in
        return
    assert count == str(len(cases))
    assert (how == "own") == all("source_file" not in case for case in cases)
    named = re.findall(r"`([^`]+)`", origin)
    paths = {path for path in map(source_path, cases) if path}
    assert [path for path in sorted(paths) if not any(one in path for one in named)] == []
    assert [one for one in named if "docs/" not in one and not any(one in path for path in paths)] == []
