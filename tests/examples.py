"""Runs every example of ``--help`` and of docstrings in the present folder: ``python -P tests/examples.py``.

Nothing but the standard library and the installed package is needed. What an example of a command reads comes with the
package, or an example above it wrote it.
"""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import workbench
from workbench.cli.app import command

#: Examples that need what no machine has by itself: a cluster, a service of a fabric, a scheduler of Dask.
ELSEWHERE = ("live", "operator", "kind", "topology discover ufm")
SERVICES = ("kubectl ", "tcp://", "https://", "nvidia-smi ")

#: Files that only their owner has: measurements, settings of a controller, links of a fabric, shares of sizes, a trace.
OWN = ("measurements", "calibration.json", "all_reduce_perf", "controller.conf", "links.json", "shapes.json", "openb_")

#: Exit statuses of a command that did what it was asked; 1: something is pending or was found.
FINE = (0, 1)


def examples_of(text: str) -> list[str]:
    """The command lines below "Example" in a help text; lines that end in a backslash are joined."""
    below = text.replace("\b", "").partition("Example")[2].replace("\\\n", " ")
    return [" ".join(line.split()) for line in below.splitlines() if "workbench " in line and line.startswith("  ")]


def commands(tree: object, path: str = "workbench") -> Iterator[tuple[str, str]]:
    """Each command of the tree with its help text."""
    yield path, getattr(tree, "help", "") or ""
    for name, inner in sorted(getattr(tree, "commands", {}).items()):
        yield from commands(inner, f"{path} {name}")


def runnable(line: str) -> bool:
    """Whether an example can be run on any machine."""
    said = line.partition("workbench ")[2]
    return not said.startswith(ELSEWHERE) and not any(text in line for text in SERVICES + OWN)


def fault(line: str, folder: Path) -> str:
    """Run an example and describe what went wrong; an empty text if nothing did."""
    program = shlex.join([sys.executable, "-P", "-m", "workbench"])
    done = subprocess.run(
        line.replace("workbench ", f"{program} ", 1),
        shell=True,
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if "topology-workbench[" in done.stderr:  # it says which extra it needs
        return ""
    return "" if done.returncode in FINE else f"{line}: {done.returncode}: {done.stderr.strip()}"


def of_command(text: str) -> list[str]:
    """Run the examples of a command in a folder of their own; what went wrong with each, or nothing."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        return [fault(line, Path(folder)) for line in filter(runnable, examples_of(text))]


def of_commands() -> tuple[int, list[str]]:
    """Run the examples of every command, as many commands at a time as there are cores; how many, and what is wrong."""
    texts = [text for path, text in commands(command()) if not path.partition(" ")[2].startswith(ELSEWHERE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [one for found in pool.map(of_command, texts) for one in found]
    return len(said), [one for one in said if one]


def of_docstrings() -> tuple[int, int]:
    """Run the examples of every module that has some; how many, and how many failed."""
    tried = failed = 0
    for module in pkgutil.walk_packages(workbench.__path__, "workbench."):
        if "._core." in module.name or module.name.endswith("__main__"):
            continue
        file = Path(workbench.__path__[0], *module.name.split(".")[1:])
        source = next(path for path in (file.with_suffix(".py"), file / "__init__.py") if path.exists())
        if ">>>" in source.read_text("utf-8"):
            result = doctest.testmod(importlib.import_module(module.name))
            tried, failed = tried + result.attempted, failed + result.failed
    result = doctest.testmod(workbench)
    return tried + result.attempted, failed + result.failed


def main() -> int:
    """Print what went wrong; 1 if anything did."""
    count, wrong = of_commands()
    tried, failed = of_docstrings()
    print(
        "\n".join([*wrong, f"{count} examples of commands, {len(wrong)} wrong; {tried} of docstrings, {failed} wrong"])
    )
    return 1 if wrong or failed or not count or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
