"""The README's commands and Python blocks do what the README shows; links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.readme import ROOT, blocks, commands, run

#: Decision times, the last column of a comparison, are the only thing that differs between two runs.
TIME = re.compile(r" \d+\.\d$")


def masked(text: str) -> list[str]:
    """Lines without times, and without the padding and the rules, which depend on the width of the times."""
    lines = (TIME.sub(" T", re.sub(r"[\s─]+", " ", line).strip()) for line in text.splitlines())
    return [line for line in lines if line]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "want"), commands(), ids=[command[:60] for command, _ in commands()])
def test_command_prints_what_the_readme_shows(command, want):
    assert masked(run(command)) == masked(want), "python -m tests.readme writes the README's outputs anew"


def test_readme_uses_every_verb():
    text = "\n".join(command for command, _ in commands())
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
def test_python_blocks_run_in_order():
    code = "\n".join(blocks("python"))
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
