"""The command `workbench topology convert`: write a topology in another format."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.arguments import given_paths, load_scenario, tell_gaps
from workbench.cli.option_values import format_names, name_from, one_of
from workbench.cli.options import Files, From, GpusPerNode, Matrices, Out, Paths, TableOutput
from workbench.cli.output import check_out, emit, emit_data, print_tables, tell
from workbench.errors import InputError
from workbench.model.counted import counted

__all__ = ["convert"]


def convert(
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    to: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help="Format to write.", autocompletion=format_names)
    ] = "",
    from_: From = None,
    gpus_per_node: GpusPerNode = None,
    matrix: Matrices = [],  # noqa: B006
    open_patterns: Annotated[
        bool,
        typer.Option(
            "--open-patterns",
            help="With --to hypernodes-regex: the shortest patterns, which later nodes may match by mistake.",
        ),
    ] = False,
    output: Annotated[
        TableOutput,
        one_of(TableOutput, "-o", "--output", help="Form of the list of formats."),
    ] = TableOutput.table,
    out: Out = None,
) -> None:
    """Write a topology in another format, or list the formats.

    Without options the formats are listed. Parts of the topology that the format cannot hold are listed on stderr.

    Examples:

    \b
      workbench topology convert
      workbench topology convert datasets/one-fabric/topology.conf --to hypernodes --out hypernodes.yaml
      workbench topology convert datasets/three-level-tree --to slurm
    """
    from workbench.formats.fabric.hypernode_yaml import HYPERNODES_REGEX, write_open_patterns
    from workbench.formats.fabric.registry import FORMATS, get_format, writable_formats

    if not paths and not file and not to:
        from workbench.report.command_tables import format_tables

        rows = [(f.name, bool(f.read or f.derive), f.write is not None, f.title) for f in FORMATS]
        if output is TableOutput.table:
            print_tables(*format_tables(rows), out=out)
        else:
            keys = ("format", "read", "written", "title")
            emit_data([dict(zip(keys, row, strict=True)) for row in rows], output, out)
        return
    if output is not TableOutput.table:
        raise InputError("of the list of formats alone", source="--output", got=output.value, expected="--to FORMAT")
    if not to:
        raise InputError("no format to write", source="--to", expected=", ".join(writable_formats()))
    with name_from("--to"):
        target = get_format(to)
    if target.write is None:
        raise InputError(
            "the format is only read", source="--to", got=target.name, expected=", ".join(writable_formats())
        )
    write = target.write
    if open_patterns:
        if target is not HYPERNODES_REGEX:
            raise InputError(
                "only patterns can be open", source="--open-patterns", got=f"--to {to}", expected="hypernodes-regex"
            )
        write = write_open_patterns
    inputs = given_paths(paths, file)
    check_out(out)
    scenario = load_scenario(inputs, matrix, from_, gpus_per_node=gpus_per_node)
    written = write(scenario.snapshot)
    emit(written.text, out)
    tell_gaps(scenario)
    losses = list(written.losses)
    if scenario.gangs:
        losses.append(f"not written: {counted(len(scenario.gangs), 'job')}")
    for loss in losses:
        tell(f"{loss}")
