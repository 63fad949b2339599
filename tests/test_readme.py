"""The README's commands and Python blocks do what the README shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"

#: Decision times, the last column of a comparison, are the only thing that differs between two runs.
TIME = re.compile(r" \d+\.\d$")

#: Bash prelude: `workbench` is the package of this checkout, whatever else is installed.
PRELUDE = f'workbench() {{ {shlex.quote(sys.executable)} -m workbench "$@"; }}\n'


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands() -> list[tuple[str, str]]:
    """Every command of the console blocks with the output shown below it."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command = command[:-1] + more.strip()
            found.append((command, output))
    return found


def masked(text: str) -> list[str]:
    """Lines without times, and without the padding and the rules, which depend on the width of the times."""
    lines = (TIME.sub(" T", re.sub(r"[\s─]+", " ", line).strip()) for line in text.splitlines())
    return [line for line in lines if line]


@pytest.mark.slow
@pytest.mark.parametrize("command", commands(), ids=lambda c: c[0][:60])
def test_command_prints_what_the_readme_shows(command):
    line, want = command
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}
    run = subprocess.run(
        ["bash", "-c", PRELUDE + line], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert masked(run.stdout + run.stderr) == masked(want)


def test_readme_uses_every_verb():
    text = "\n".join(command for command, _ in commands())
    verbs = ("place", "compare", "gpus", "topology show", "topology lint", "topology generate", "policies")
    assert [verb for verb in verbs if f"workbench {verb}" not in text] == []


@pytest.mark.slow
def test_python_blocks_run_in_order():
    code = "\n".join(blocks("python"))
    assert "workbench" in code
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr


def test_links_to_files_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("datasets/**/*.md")]
    links = [
        (page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 20
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_every_decision_that_the_code_cites_is_told():
    told = set(re.findall(r"^\*\*(\d+)\.", (ROOT / "docs/decisions.md").read_text(encoding="utf-8"), re.MULTILINE))
    sources = [*ROOT.glob("workbench/**/*.py"), *ROOT.glob("_core/*.py*"), ROOT / "setup.py"]
    cited = {n for path in sources for n in re.findall(r"DESIGN,? decision (\d+)", path.read_text(encoding="utf-8"))}
    assert cited
    assert sorted(cited - told) == []
