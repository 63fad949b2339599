"""The commands and Python blocks of the README and of pages do what the pages show; links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme import PAGES, ROOT, blocks, commands, run
from workbench.model.release import Release

#: Decision times, the last column of a comparison, are the only thing that differs between two runs.
TIME = re.compile(r" \d+\.\d$")


def masked(text: str) -> list[str]:
    """Lines without times, and without the padding and the rules, which depend on the width of the times."""
    lines = (TIME.sub(" T", re.sub(r"[\s─]+", " ", line).strip()) for line in text.splitlines())
    return [line for line in lines if line]


def shown(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=shown)
def test_commands_print_what_the_page_shows(page):
    for command, want in commands(page):
        assert masked(run(command)) == masked(want), f"{command}: python -m tests.readme writes the outputs anew"


def test_every_how_to_page_shows_a_command_or_runs_code():
    pages = [page for page in PAGES if page.parent.name == "howto" and page.name != "README.md"]
    assert len(pages) > 5
    assert [shown(page) for page in pages if not commands(page) and not blocks("python", page)] == []


def test_the_pages_use_every_verb():
    text = "\n".join(command for page in PAGES for command, _ in commands(page))
    verbs = (
        "place",
        "compare",
        "gpus",
        "topology show",
        "topology lint",
        "topology generate",
        "topology convert",
        "validate",
        "policies",
    )
    assert [verb for verb in verbs if f"workbench {verb}" not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks("python", page)], ids=shown)
def test_python_blocks_run_in_order(page):
    code = "\n".join(blocks("python", page))
    assert "workbench" in code
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_links_to_files_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("datasets/**/*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))]
    assert len(links) > 20
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_every_decision_that_the_code_cites_is_told():
    told = set(re.findall(r"^\*\*(\d+)\.", (ROOT / "docs/decisions.md").read_text(encoding="utf-8"), re.MULTILINE))
    sources = [*ROOT.glob("workbench/**/*.py"), *ROOT.glob("_core/*.py*"), ROOT / "setup.py"]
    cited = {
        n
        for path in sources
        for n in re.findall(r"docs/decisions.md, decisions? (\d+)", path.read_text(encoding="utf-8"))
    }
    assert cited
    assert sorted(cited - told) == []


def test_the_page_on_upgrades_names_the_releases_that_the_two_policies_follow() -> None:
    """The releases are those that `Release` documents."""
    page = (ROOT / "docs/howto/before-you-upgrade-volcano.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| 1.1")]
    documented = re.findall(r"v(1\.\d+\.\d+)", Release.__doc__ or "")
    assert len(documented) == 3  # first and last of 1.13, and the newest
    first, last, newest = documented
    assert any(row.startswith(f"| {first} to {last} | `volcano-1.13`") for row in rows)
    assert any(newest in row.split("|")[1] and row.split("|")[2].startswith(" `volcano-1.15`") for row in rows)
