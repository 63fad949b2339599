"""Tests that the committed page modules are those that the committed sources give."""

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


@pytest.mark.slow
def test_the_logic_of_the_pages_passes_its_own_tests():
    need("node")
    files = sorted(SOURCES.glob("*.test.js"))
    done = subprocess.run(["node", "--test", *map(str, files)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout and "# fail 0" in done.stdout


@pytest.mark.slow
def test_bundling_again_gives_the_committed_bytes_with_the_licence_of_every_package(tmp_path):
    need("npm")
    subprocess.run(["bash", str(SOURCES / "build"), str(tmp_path)], check=True, capture_output=True, timeout=300)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_bytes() for path in STATIC.iterdir()}
    assert sorted(built) == sorted(committed)
    assert [name for name in built if built[name] != committed[name]] == []
    check_licences(ROOT / "build" / "widgets-js")


def third_party() -> dict[str, str]:
    """Licence texts by package ("name version", or "name, inside name version") shipped with the bundles."""
    text = (STATIC / "THIRD-PARTY-LICENSES.txt").read_text(encoding="utf-8")
    _, *parts = re.split(r"^={80}\n", text, flags=re.MULTILINE)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return {line.rpartition(" (")[0]: licence for names, licence in pairs for line in names.splitlines()}


def test_the_licences_are_those_of_the_locked_packages():
    locked = json.loads((SOURCES / "package-lock.json").read_text())["packages"]
    versions = {name.removeprefix("node_modules/"): package.get("version") for name, package in locked.items()}
    shipped = third_party()
    bundled = dict(label.rsplit(" ", 1) for label in shipped if ", inside " not in label)
    assert bundled == {name: versions[name] for name in bundled}
    assert set(json.loads((SOURCES / "package.json").read_text())["dependencies"]) <= set(bundled)
    assert all("copyright" in text.lower() and "permission" in text.lower() for text in shipped.values())


def check_licences(modules: Path) -> None:
    """Every package in esbuild's account of the bundles has its own licence text beside them, and no other package."""
    outputs = json.loads((modules / "metafile.json").read_text())["outputs"].values()
    inputs = {name for output in outputs for name, part in output["inputs"].items() if part["bytesInOutput"]}
    packages = {m[1] for name in inputs if (m := re.search(r"node_modules/((?:@[^/]+/)?[^/]+)/", name))}
    shipped = third_party()
    assert len(packages) > 10
    assert {label.split(" ")[0] for label in shipped if ", inside " not in label} == packages
    # Cytoscape's published file already contains the code of other packages.
    assert {label.split(", inside ")[0] for label in shipped if ", inside " in label} == {"gl-matrix", "heap", "lodash"}
    for label, licence in shipped.items():
        name = label.split(", ")[0].split(" ")[0]
        file = next(p for p in (modules / "node_modules" / name).iterdir() if p.stem == "LICENSE")
        assert licence.strip() == file.read_text(encoding="utf-8").replace("\r\n", "\n").strip(), name


def test_the_lock_file_names_no_registry():
    lock = json.loads((SOURCES / "package-lock.json").read_text())
    assert all("resolved" not in package for package in lock["packages"].values())
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_nothing_on_the_page_asks_for_an_address():
    for source in [*SOURCES.glob("*.js"), *SOURCES.glob("*.css")]:
        text = source.read_text()
        assert not re.search(r"\bfetch\(|XMLHttpRequest|@import|\bhttps?:", text), source.name
