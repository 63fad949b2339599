"""The commands `workbench topology ...`: show, check, convert, compare or generate a topology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer

from workbench.cli.arguments import key_values
from workbench.cli.convert import convert
from workbench.cli.diff import diff
from workbench.cli.discover import discover_app
from workbench.cli.lint import lint
from workbench.cli.option_values import one_of, preset_names
from workbench.cli.options import GenerateOutput, Out
from workbench.cli.output import DATA, check_out, emit, emit_data, emit_objects, print_tables, tell
from workbench.cli.path import path
from workbench.cli.show import show
from workbench.errors import InputError, UnknownNameError

__all__ = ["topology_app"]

topology_app = typer.Typer(
    help="Look at a topology, check it, or make one.", no_args_is_help=True, rich_markup_mode=None
)
topology_app.add_typer(discover_app, name="discover", short_help="Find HyperNodes as Volcano's controller does")

topology_app.command(short_help="Write a topology in another format")(convert)
topology_app.command(short_help="Show the HyperNodes as a tree or a picture")(show)
topology_app.command(short_help="Show the way between two nodes")(path)
topology_app.command(short_help="Show the changes between two topologies")(diff)
topology_app.command(short_help="Report mistakes in a topology")(lint)


@topology_app.command(short_help="Make the objects of a cluster, as YAML")
def generate(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="What to make; without it the kinds are listed.", autocompletion=preset_names
        ),
    ] = "",
    set_: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="Parameter of the kind. Repeatable.")
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    output: Annotated[
        GenerateOutput | None,
        one_of(
            GenerateOutput,
            "-o",
            "--output",
            help="Form; of the list by default table, else yaml. snapshot: the cluster alone, as a file that loads "
            "fast; jobs: the jobs alone; arrivals: the jobs as a day of arrivals for 'workbench simulate' (CSV).",
        ),
    ] = None,
    out: Out = None,
) -> None:
    """Make the Kubernetes objects of a cluster, as YAML.

    The parameter sizes goes from tier 1 upwards, closest first: sizes=8,4,2 is 8 nodes in each HyperNode of tier 1, 4
    of those in each of tier 2, and 2 of those in the one of tier 3.

    Examples:

    \b
      workbench topology generate
      workbench topology generate balanced --set sizes=8,4,2 --set gpus=8 --out cluster.yaml
      workbench topology generate fleet --set sizes=16,16,4 -o snapshot --out fleet.json
    """
    from workbench.topology.presets import PRESETS, generate_jobs, generate_scenario
    from workbench.topology.presets import generate as make

    check_out(out)
    if not kind:
        from workbench.report.command_tables import preset_tables

        if output in DATA:
            emit_data({name: asdict(preset) for name, preset in PRESETS.items()}, output, out)
        else:
            print_tables(*preset_tables(PRESETS), out=out)
        return
    given = key_values("--set", set_, reserved=("kind",))
    if kind not in PRESETS:
        raise UnknownNameError("preset", kind, PRESETS).of("KIND")
    source = context.get_parameter_source("output")
    if output is GenerateOutput.table and source is not None and source.name == "ENVIRONMENT":
        tell("note: WORKBENCH_OUTPUT: objects are no table; yaml is used")
        output = None
    if output is GenerateOutput.table:
        raise InputError("objects are no table", source="--output", got="table", expected="yaml or json")
    if output is GenerateOutput.snapshot:
        from workbench.formats.snapshot_record import snapshot_text

        emit(snapshot_text(generate_scenario(kind, **given).snapshot), out)
    elif output in (GenerateOutput.jobs, GenerateOutput.arrivals):
        jobs = generate_jobs(kind, **given)
        if not jobs:
            raise _no_jobs(kind, output, given)
        if output is GenerateOutput.jobs:
            emit_objects([job.manifest() for job in jobs], "yaml", out)
        else:
            from workbench.formats.job_logs.table import day_of_jobs

            emit(day_of_jobs([job.gang() for job in jobs], int(given.get("seed", 0))), out)
    else:
        emit_objects(make(kind, **given), output or "yaml", out)


def _no_jobs(kind: str, output: GenerateOutput, given: Mapping[str, str]) -> InputError:
    """The error for a preset that makes no jobs: none of its kind, or none because of a parameter."""
    from workbench.topology.presets import PRESETS

    if "pending" in given:
        return InputError(
            "no job waits", source="--set", got=f"pending={given['pending']}", expected="pending=1 or more"
        )
    having = [
        name
        for name, preset in PRESETS.items()
        if "pending" in preset.parameters or any(each.of_job for each in preset.parameters.values())
    ]
    return InputError("a preset without jobs", source="-o", got=f"{output} of {kind}", expected=" or ".join(having))
