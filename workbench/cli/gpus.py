"""`workbench gpus`: which k GPUs of one machine."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from workbench.cli.arguments import gpu_list
from workbench.cli.options import TableOutput
from workbench.cli.output import emit, print_tables, to_json

__all__ = ["gpus"]


class Symmetric(StrEnum):
    """How two directions become one weight."""

    min = "min"
    max = "max"
    mean = "mean"


def gpus(
    matrix: Annotated[str, typer.Argument(metavar="MATRIX", help="File with the bandwidths in GB/s, or - for stdin.")],
    k: Annotated[int, typer.Option("-k", metavar="K", help="How many GPUs.")],
    free: Annotated[str | None, typer.Option("--free", metavar="0,1,…", help="GPUs that may be used.")] = None,
    require: Annotated[str | None, typer.Option("--require", metavar="0,1,…", help="GPUs that must be in.")] = None,
    avoid: Annotated[str | None, typer.Option("--avoid", metavar="0,1,…", help="GPUs that must not be in.")] = None,
    symmetric: Annotated[
        Symmetric, typer.Option("--symmetric", help="How the two directions of a pair become one weight.")
    ] = Symmetric.min,
    link_classes: Annotated[
        bool, typer.Option("--link-classes", help="Maximise the link class first, the measured value second.")
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="List every tie instead of the first 100.")] = False,
    output: Annotated[TableOutput, typer.Option("-o", "--output", help="Form of the result.")] = TableOutput.table,
) -> None:
    """Choose the K GPUs whose slowest pair is as fast as possible, exactly.

    The matrix may be a table as tools print it, CSV, JSON, .npy, a Koordinator Device, or an NCCL topology (XML).
    Exit status 1 when fewer than K GPUs are free.

    Examples:

    \b
      workbench gpus datasets/koordinator-matrices/matrix-a.txt -k 4
      workbench gpus matrix.csv -k 2 --free 0,3,4-7 --avoid 5 -o json
    """
    from workbench.formats.matrix import load_matrix, parse_matrix
    from workbench.model.best_gpus import best_gpus

    best = best_gpus(
        parse_matrix(sys.stdin.buffer.read(), "-") if matrix == "-" else load_matrix(matrix),
        k,
        free=gpu_list("--free", free),
        require=gpu_list("--require", require),
        avoid=gpu_list("--avoid", avoid),
        symmetric=symmetric.value,
        link_classes=link_classes,
        all_ties=all_,
    )
    if output is TableOutput.json:
        emit(to_json(best.to_dict()))
    elif best.gpus:
        from workbench.report.tables import best_gpus_tables

        print_tables(*best_gpus_tables(best))
    if not best.gpus:
        sys.stderr.write(f"workbench: {k} GPUs asked for, {best.n_free} of {len(best.matrix)} are free\n")
        raise typer.Exit(1)
