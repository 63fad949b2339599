"""The command ``workbench fill``: fill an idle cluster with the pods of a trace, by policies that share GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.arguments import policies_with, required_policy_names, tell_notes
from workbench.cli.option_values import one_of, whole
from workbench.cli.options import CurveOutput, Out, SharedSettings
from workbench.cli.output import DATA, check_out, emit, emit_data, print_tables, progress_bar
from workbench.errors import InputError
from workbench.model.number_text import number_range

if TYPE_CHECKING:
    from workbench.model.pod_trace import PodTrace
    from workbench.simulate.day_zero import Ints, Longs

__all__ = ["fill"]

_POLICIES = ["fgd,fgd-best-fit,fgd-packing,fgd-clustering,fgd-dot-product,fgd-random,headroom"]
#: Most seeds of one run of the command.
_MOST_SEEDS = 10_000


def fill(
    nodes: Annotated[Path, typer.Argument(metavar="NODES", help="CSV: sn, cpu_milli, memory_mib, gpu, model.")],
    pods: Annotated[
        Path, typer.Argument(metavar="PODS", help="CSV: name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec.")
    ],
    policies: Annotated[
        list[str], typer.Option("--policies", metavar="P,P,…", help="Policies that share GPUs, separated by commas.")
    ] = _POLICIES,
    set_: SharedSettings = [],  # noqa: B006
    seeds: Annotated[str, typer.Option("--seeds", metavar="A-B", help="Seeds of the orders of arrival.")] = "42-51",
    load: Annotated[
        int, whole("--load", least=1, most=1000, metavar="PERCENT", help="Demand until which pods arrive.")
    ] = 130,
    orders: Annotated[
        Path | None,
        typer.Option("--orders", metavar="FOLDER", help="Orders of arrival, a file TRACE-SEED.json[.gz] per seed."),
    ] = None,
    output: Annotated[
        CurveOutput, one_of(CurveOutput, "-o", "--output", help="Form of the result.")
    ] = CurveOutput.table,
    out: Out = None,
) -> None:
    """Fill an idle cluster with the pods of a trace (openb) until they ask for more GPUs than it has.

    Pods arrive one after another and never end; one that fits nowhere is dropped. Shows what each policy leaves
    unallocated.

    Examples:

    \b
      workbench fill datasets/shared-gpus/nodes.csv datasets/shared-gpus/pods.csv
      workbench fill datasets/shared-gpus/nodes.csv datasets/shared-gpus/pods.csv --policies fgd,headroom --seeds 1-3 \\
        -o svg --out curves.svg
      workbench fill nodes.csv openb_pod_list_default.csv --orders order --seeds 42-51
    """
    from workbench.formats.openb import read_openb
    from workbench.simulate.fill_study import fill_study

    names = required_policy_names(policies)
    numbers = _seeds(seeds)
    check_out(out)
    chosen = policies_with(names, set_)
    trace = read_openb(nodes, pods)
    tell_notes(trace.notes)
    given = None if orders is None else {seed: _order(orders, trace, seed) for seed in numbers}
    try:
        with progress_bar("filling") as step:
            study = fill_study(trace, chosen, numbers, load=load / 100, orders=given, progress=step)
    except InputError as error:
        places = {"policy": "--policies", trace.name: str(pods)}
        raise error.of(places.get(error.source or "", error.source or "")) from None
    if output in DATA:
        emit_data(study.to_dict(), output, out)
    elif output is CurveOutput.csv:
        from workbench.report.csv_text import csv_text

        emit(csv_text(study.to_dataframe()), out)
    elif output is CurveOutput.svg:
        from workbench.report.study_views import draw_fill

        emit(draw_fill(study), out)
    else:
        from workbench.report.study_views import fill_tables

        print_tables(*fill_tables(study), out=out)


def _seeds(text: str) -> list[int]:
    """Seeds of ``A-B`` or ``A``."""
    seeds = number_range(text, _MOST_SEEDS)
    if seeds is None:
        expected = f"A-B, such as 42-51: A up to B, at most {_MOST_SEEDS:,} of them"
        raise InputError("no range of seeds", source="--seeds", got=repr(text), expected=expected)
    return list(seeds)


def _order(folder: Path, trace: PodTrace, seed: int) -> tuple[Longs, Ints]:
    from workbench.formats.openb import read_openb_order

    names = [f"{trace.name}-{seed}.json{ending}" for ending in (".gz", "")]
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        raise InputError(
            "no order of arrival for this seed", source=str(folder), got="no such file", expected=" or ".join(names)
        )
    return read_openb_order(found, trace)
