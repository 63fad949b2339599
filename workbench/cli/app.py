"""The tree of all commands and sub-commands of the command line."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer

from workbench.cli.compare import compare, demo
from workbench.cli.cost import calibrate, cost
from workbench.cli.expand import expand
from workbench.cli.fill import fill
from workbench.cli.fix import fix
from workbench.cli.gpus import gpus
from workbench.cli.kind import kind_app
from workbench.cli.live import live_app
from workbench.cli.operator import operator_app
from workbench.cli.output import emit
from workbench.cli.place import place
from workbench.cli.policies import policies
from workbench.cli.run import run
from workbench.cli.simulate import simulate
from workbench.cli.study import study_app
from workbench.cli.topology import topology_app
from workbench.cli.validate import schema, validate

__all__ = ["command"]

_HELP = """Where should the pods of an AI job go, given the network and the links between the GPUs?

Exit status: 0 all placed or valid, 1 something pending, refused or found, 2 bad input or usage, 3 endpoint unreachable.

Examples:

\b
  workbench compare datasets/demo --policies allocate,binpack,volcano-1.13+gpu-bottleneck
  workbench place datasets/demo --policy volcano --explain
  workbench gpus datasets/koordinator-matrices/matrix-a.txt -k 4
"""

_app = typer.Typer(
    name="workbench",
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_app.command()(demo)
_app.command()(place)
_app.command()(compare)
_app.command()(fix)
_app.command()(gpus)
_app.command()(fill)
_app.add_typer(topology_app, name="topology")
_app.add_typer(live_app, name="live")
_app.add_typer(operator_app, name="operator")
_app.add_typer(kind_app, name="kind")
_app.command()(validate)
_app.command()(expand)
_app.command()(run)
_app.command()(simulate)
_app.add_typer(study_app, name="study")
_app.command()(cost)
_app.command()(calibrate)
_app.command()(schema)
_app.command()(policies)


def _print_version(wanted: bool) -> None:
    if wanted:
        from workbench.evaluate.provenance import version

        emit(f"workbench {version()}")
        raise typer.Exit()


@_app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


_root.__doc__ = _HELP


@cache
def command() -> Any:
    """The tree of all commands as one click command.

    Cached, because reading all signatures takes longer than most commands run.
    """
    return typer.main.get_command(_app)
