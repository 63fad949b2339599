"""`workbench gpus`: which k GPUs of one machine."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.arguments import gpu_list
from workbench.cli.options import TableOutput
from workbench.cli.output import emit, print_tables, to_json

if TYPE_CHECKING:
    from workbench.formats.matrices.base import MatrixReading

__all__ = ["gpus"]

#: Lines listed that could not be read; the rest is counted.
_UNREAD = 5


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
    link_speeds: Annotated[
        Path | None,
        typer.Option("--link-speeds", metavar="FILE", help="GB/s of link types, instead of datasets/link-speeds."),
    ] = None,
    block: Annotated[
        str | None, typer.Option("--block", metavar="NAME", help="Which table of a printout with several.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="List every tie instead of the first 100.")] = False,
    output: Annotated[TableOutput, typer.Option("-o", "--output", help="Form of the result.")] = TableOutput.table,
) -> None:
    """Choose the K GPUs whose slowest pair is as fast as possible, exactly.

    The matrix may be what p2pBandwidthLatencyTest, nvidia-smi topo, nvbandwidth, rocm-smi, npu-smi, TransferBench,
    hwloc or NCCL print, a plain table, CSV, JSON, .npy, or a Koordinator Device; told apart by content.
    Links that something is wrong with are named, and lines that could not be read are told on stderr.
    Exit status 1 when fewer than K GPUs are free.

    Examples:

    \b
      workbench gpus datasets/koordinator-matrices/matrix-a.txt -k 4
      workbench gpus matrix.csv -k 2 --free 0,3,4-7 --avoid 5 -o json
      nvidia-smi topo -m | workbench gpus - -k 4 --link-speeds our-speeds.csv
    """
    from workbench.formats.matrix import read_matrix, read_matrix_content
    from workbench.model.best_gpus import best_gpus

    reading = (
        read_matrix_content(sys.stdin.buffer.read(), "-", link_speeds, block)
        if matrix == "-"
        else read_matrix(matrix, link_speeds, block)
    )
    _tell(reading, matrix)
    best = best_gpus(
        reading.matrix,
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


def _tell(reading: MatrixReading, source: str) -> None:
    """What was left aside, and which lines could not be read."""
    for note in reading.notes:
        sys.stderr.write(f"note: {source}: {note}\n")
    for number, line in reading.unread[:_UNREAD]:
        sys.stderr.write(f"note: {source}: line {number} could not be read: {line[:60]!r}\n")
    if len(reading.unread) > _UNREAD:
        sys.stderr.write(f"note: {source}: {len(reading.unread) - _UNREAD} more lines could not be read\n")
