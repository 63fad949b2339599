"""The tree of all commands and sub-commands of the command line."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from workbench.cli.output import emit
from workbench.cli.plain_values import take_plain_values
from workbench.model.deferred import Deferred

__all__ = ["command"]

_HELP = """Where should the pods of an AI job go, given the network and the links between the GPUs?

Exit status: 0 all placed or valid, 1 something pending, refused or found, 2 bad input or usage, 3 endpoint unreachable.

Examples:

\b
  workbench compare datasets/demo --policies allocate,binpack,volcano-1.13+gpu-bottleneck
  workbench place datasets/demo --policy volcano --explain
  workbench gpus datasets/koordinator-matrices/matrix-a.txt -k 4
"""

#: By section of the help and name, where a command stands and its line there. One that is not called is not imported.
_COMMANDS = {
    "Place jobs": {
        "demo": ("workbench.cli.compare:demo", "Compare policies on an example cluster"),
        "place": ("workbench.cli.place:place", "Place the jobs of the input by one policy"),
        "compare": ("workbench.cli.compare:compare", "Place the jobs by several policies"),
        "fix": ("workbench.cli.fix:fix", "Say why a job is pending, and what would help"),
        "policies": ("workbench.cli.installed:policies", "List the policies and their parameters"),
    },
    "Topology and GPUs": {
        "topology": ("workbench.cli.topology:topology_app", "Show, check, convert or make a topology"),
        "gpus": ("workbench.cli.gpus:gpus", "Choose the K GPUs with the fastest slowest link"),
        "cost": ("workbench.cli.cost:cost", "Price the communication of a training step"),
        "calibrate": ("workbench.cli.cost:calibrate", "Fit latency and bandwidth to measurements"),
    },
    "Over time": {
        "simulate": ("workbench.cli.simulate:simulate", "Simulate a cluster as jobs come and go"),
        "fill": ("workbench.cli.fill:fill", "Fill an idle cluster with pods of a trace"),
        "study": ("workbench.cli.study:study_app", "Simulate policies with several seeds"),
        "run": ("workbench.cli.run:run", "Let an embedded cluster run manifests"),
    },
    "Kubernetes": {
        "live": ("workbench.cli.live:live_app", "Read a live cluster, write nothing"),
        "operator": ("workbench.cli.operator:operator_app", "Run jobs on a live cluster"),
        "kind": ("workbench.cli.kind:kind_app", "Make a cluster with fake GPU nodes"),
        "validate": ("workbench.cli.validate:validate", "Say what a cluster would refuse or complete"),
        "expand": ("workbench.cli.expand:expand", "Write the pods that Jobs become"),
        "schema": ("workbench.cli.validate:schema", "Write the JSON Schema of a kind"),
    },
    "This program": {
        "version": ("workbench.cli.installed:version", "Print the versions that a bug report needs"),
    },
}


class _Sections(TyperGroup):
    """The root command, whose help lists its commands in sections."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section of the help for each section of commands.

        `ctx`: of click, as typer brings it. `formatter`: where the lines are written.
        """
        formatter.write("\nCommands:\n")
        for title, names in _COMMANDS.items():
            formatter.write(f"  {title}:\n")
            formatter.write_dl([(f"    {name:<9}", line) for name, (_, line) in names.items()])


def _print_version(wanted: bool) -> None:
    if wanted:
        from workbench.evaluate.provenance import version

        emit(f"workbench {version()}")
        raise typer.Exit()


def _root(
    version: Annotated[
        bool,
        typer.Option("-V", "--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


_root.__doc__ = _HELP


@cache
def command(name: str = "") -> Any:
    """The tree of commands as one click command.

    Cached, because reading all signatures takes longer than most commands run.

    `name`: command below the root that is called: the tree holds this command alone, so that no other is imported. A
    name that is no command, such as an empty one, gives the whole tree.
    """
    app = typer.Typer(
        name="workbench",
        help=_HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        cls=_Sections,
    )
    app.callback()(_root)
    known = {one: place for names in _COMMANDS.values() for one, place in names.items()}
    for one, (home, line) in ({name: known[name]} if name in known else known).items():
        loaded = Deferred(home).load()
        if isinstance(loaded, typer.Typer):
            app.add_typer(loaded, name=one, short_help=line)
        else:
            app.command(one, short_help=line)(loaded)
    tree = typer.main.get_command(app)
    take_plain_values(tree)
    _without_types(tree)
    return tree


def _without_types(tree: Any) -> None:
    """Let the help write the names of arguments alone, and usage lines as other programs do.

    Some releases of typer add the Python type of each argument, and set required ones in braces.
    """
    for below in getattr(tree, "commands", {}).values():
        _without_types(below)
    for parameter in tree.params:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None
            name = parameter.metavar or parameter.name.upper()
            usage = (name if parameter.required else f"[{name}]") + ("..." if parameter.nargs != 1 else "")
            parameter.get_usage_pieces = lambda ctx, usage=usage: [usage]
