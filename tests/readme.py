"""Blocks of the README and of pages; run as a script it writes what their commands print now into them.

PYTHONPATH=. python -m tests.readme [PAGE ...]
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

__all__ = ["PAGES", "README", "ROOT", "blocks", "commands", "run", "written_anew"]

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
#: Pages whose console blocks show real output and whose Python blocks run, each in one process from the first on.
PAGES = (README, *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/howto/*.md")))

#: `workbench` is the package of this checkout, whatever else is installed; `kubectl` answers with a data set.
_PRELUDE = "".join(
    f'{name}() {{ {shlex.quote(sys.executable)} -m {module} "$@"; }}\n'
    for name, module in (("workbench", "workbench"), ("kubectl", "tests.kubectl"))
)

_BLOCK = r"^```{language}\n(.*?)^```$"
#: One command, over several lines where they end in a backslash.
_COMMAND = re.compile(r"^\$ (.*(?:(?<=\\)\n.*)*)\n", re.MULTILINE)


def blocks(language: str, page: Path = README) -> list[str]:
    """The fenced blocks of a language, in order."""
    text = page.read_text(encoding="utf-8")
    return re.findall(_BLOCK.format(language=language), text, flags=re.DOTALL | re.MULTILINE)


def commands(page: Path = README) -> list[tuple[str, str]]:
    """Every command of the console blocks, as it stands there, with the output shown below it."""
    found = []
    for block in blocks("console", page):
        _, *rest = _COMMAND.split(block)
        found += list(zip(rest[::2], rest[1::2], strict=True))
    return found


def run(command: str) -> str:
    """What a command prints to both streams in its order, on a terminal of 120 columns without colours."""
    terminal = {"COLUMNS": "120", "LINES": "50", "NO_COLOR": "1", "TERM": "dumb"}
    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        ["bash", "-c", _PRELUDE + command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **terminal},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    printed = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    done.wait(timeout=120)
    return printed.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """Some of what was printed; empty at the end, which Linux reports as an error."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def written_anew(text: str) -> str:
    """A page with the output of each command as it is now; padding at the ends of lines and blocks left out."""

    def block(found: re.Match[str]) -> str:
        parts = []
        for command in _COMMAND.findall(found.group(1)):
            lines = "\n".join(line.rstrip() for line in run(command).splitlines())
            shown = re.sub(r"\n{3,}", "\n\n", lines.strip("\n"))
            parts.append(f"$ {command}\n{shown}\n" if shown else f"$ {command}\n")
        return "```console\n" + "".join(parts) + "```"

    return re.sub(_BLOCK.format(language="console"), block, text, flags=re.DOTALL | re.MULTILINE)


def main(names: list[str]) -> None:
    """Write the pages anew, all of them without names; a page that stays as it is is not touched."""
    for page in [ROOT / name for name in names] or PAGES:
        before = page.read_text(encoding="utf-8")
        after = written_anew(before)
        if after != before:
            page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
