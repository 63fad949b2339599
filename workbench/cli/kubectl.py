"""`kubectl topology …`: the commands of `workbench live` as a plugin of kubectl, and what its completion asks.

kubectl finds the programs ``kubectl-topology`` and ``kubectl_complete-topology`` by their names on PATH.
"""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress

from workbench.cli import main as workbench

__all__ = ["complete", "main"]

#: What kubectl reads in the last line of a completion: offer no files instead.
_NO_FILES = ":4"


def main() -> int:
    """Run `workbench live` with the arguments of the process; returns the exit status."""
    return workbench(["live", *sys.argv[1:]], called="kubectl topology")


def complete() -> int:
    """Print what could stand in the place of the last argument, a line each, as kubectl asks its plugins.

    Returns: exit status.
    """
    words = ["workbench", "live", *sys.argv[1:]]
    os.environ["_WORKBENCH_COMPLETE"] = "complete_bash"
    os.environ["COMP_WORDS"] = shlex.join(words)
    os.environ["COMP_CWORD"] = str(len(words) - 1)
    with suppress(SystemExit):
        workbench([])
    from workbench.cli.output import emit

    emit(_NO_FILES)
    return 0
