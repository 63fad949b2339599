"""The committed page modules are those that the committed sources give."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "workbench" / "widgets" / "js"
STATIC = ROOT / "workbench" / "widgets" / "static"


def need(program: str) -> None:
    """Skip where a program of Node is missing, saying why; fail where the browser tests are required."""
    if shutil.which(program) is not None:
        return
    reason = f"there is no {program} here, so the page's own modules were not checked"
    if os.environ.get("WORKBENCH_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def test_the_logic_of_the_pages_passes_its_own_tests():
    need("node")
    files = sorted(SOURCES.glob("*.test.js"))
    done = subprocess.run(["node", "--test", *map(str, files)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout and "# fail 0" in done.stdout


@pytest.mark.slow
def test_bundling_again_gives_the_committed_bytes(tmp_path):
    need("npm")
    subprocess.run(["bash", str(SOURCES / "build"), str(tmp_path)], check=True, capture_output=True, timeout=300)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_bytes() for path in STATIC.iterdir()}
    assert sorted(built) == sorted(committed)
    assert [name for name in built if built[name] != committed[name]] == []


def test_the_lock_file_names_no_registry():
    lock = json.loads((SOURCES / "package-lock.json").read_text())
    assert all("resolved" not in package for package in lock["packages"].values())
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_nothing_on_the_page_asks_for_an_address():
    for source in [*SOURCES.glob("*.js"), *SOURCES.glob("*.css")]:
        text = source.read_text()
        assert not re.search(r"\bfetch\(|XMLHttpRequest|@import|\bhttps?:", text), source.name
