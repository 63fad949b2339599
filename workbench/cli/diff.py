"""The command `workbench topology diff`: show the changes between two topologies."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from workbench.cli.option_values import one_of
from workbench.cli.options import Out, ShowOutput, known_format
from workbench.cli.output import DATA, check_out, emit, emit_data, print_tables

__all__ = ["diff"]


def diff(
    paths: Annotated[
        list[str], typer.Argument(metavar="OLD NEW", help="Files or folders, before and after; - is stdin.")
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Annotated[
        list[str], typer.Option("-f", "--file", metavar="PATH", help="The same: first before, then after.")
    ] = [],  # noqa: B006
    from_: Annotated[
        list[str],
        typer.Option(
            "--from",
            parser=lambda name: name if name == "auto" else known_format(name),
            metavar="FORMAT",
            help="Format of both; given twice, of the old and of the new one; auto: by content.",
        ),
    ] = [],  # noqa: B006
    output: Annotated[ShowOutput, one_of(ShowOutput, "-o", "--output", help="Form of the result.")] = ShowOutput.table,
    out: Out = None,
) -> None:
    """Show the changes between two topologies.

    Changes are nodes and HyperNodes that moved, appeared or vanished, HyperNodes that changed tier or were renamed, and
    nodes that offer other amounts of GPUs, cores or memory. The two topologies may be in different formats. Exit status
    0 if nothing differs, 1 if something does.

    Examples:

    \b
      workbench topology diff datasets/one-fabric/ibnetdiscover.out datasets/one-fabric/ibnetdiscover-recabled.out
      workbench topology diff datasets/one-fabric/hypernodes.yaml datasets/one-fabric/ibnetdiscover.out -o html \\
        --out diff.html
    """
    from workbench.cli.arguments import load_scenario, tell_notes
    from workbench.errors import InputError
    from workbench.topology.diff import diff_snapshots

    check_out(out)
    both = [*paths, *file]
    if len(both) != 2 or both == ["-", "-"]:
        got = " and ".join(both) or "none"
        raise InputError("not two topologies", source="OLD NEW", got=got, expected="one before, one after")
    if len(from_) > 2:
        raise InputError("too many formats", source="--from", got=", ".join(from_), expected="one or two")
    given = [*from_, *from_] or ["auto", "auto"]
    formats = [None if name == "auto" else name for name in given[:2]]
    before, after = (load_scenario([path], format=name).snapshot for path, name in zip(both, formats, strict=True))
    # A printout that is cut off looks like nodes that vanished.
    tell_notes(f"{path}: {gap}" for path, snapshot in zip(both, (before, after), strict=True) for gap in snapshot.gaps)
    found = diff_snapshots(before, after)
    if output is ShowOutput.table:
        from workbench.report.difference import difference_tables

        print_tables(*difference_tables(found), out=out)
    elif output in DATA:
        emit_data({"before": both[0], "after": both[1], **found.to_dict()}, output, out)
    else:
        from workbench.report.difference import difference_page

        emit(difference_page(found, before, after, both[0], both[1]), out)
    sys.stdout.flush()
    if not found.same:
        raise typer.Exit(1)
