"""The command `workbench compare`: place the same jobs by several policies.

`workbench demo` is a first comparison, of data that come with the package.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.advice import tell_left_out
from workbench.cli.arguments import (
    given_paths,
    load_scenario,
    policies_with,
    required_policy_names,
    row_names,
    tell_gaps,
    wanted_job,
)
from workbench.cli.option_values import one_of
from workbench.cli.options import (
    AnyScheduler,
    CompareOutput,
    Files,
    From,
    GpusPerNode,
    Job,
    Jobs,
    Matrices,
    Out,
    Paths,
    Policies,
    SharedSettings,
    Strict,
    TableOutput,
    TierSpeeds,
)
from workbench.cli.output import (
    DATA,
    check_out,
    emit,
    emit_data,
    emit_png,
    print_tables,
    progress_bar,
    tell,
    tell_warnings,
)
from workbench.cli.place import require_jobs
from workbench.cli.training_options import CalibrationFile, Machine, ModelKeys, Shapes, communication_plan
from workbench.evaluate.usual_policies import USUAL_POLICIES

if TYPE_CHECKING:
    from workbench.evaluate.compare import Comparison
    from workbench.model.scenario import Scenario
    from workbench.policies import Policy

__all__ = ["compare", "demo"]

_USUAL = list(USUAL_POLICIES)

#: Nodes times jobs from which on policies run in processes of their own; a session of Volcano takes half a second then.
_LARGE = 1_000_000


def compare(
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    policies: Policies = _USUAL,
    set_: SharedSettings = [],  # noqa: B006
    matrix: Matrices = [],  # noqa: B006
    from_: From = None,
    any_scheduler: AnyScheduler = False,
    strict: Strict = False,
    gpus_per_node: GpusPerNode = None,
    job: Job = "",
    output: Annotated[
        CompareOutput, one_of(CompareOutput, "-o", "--output", help="Form of the result; wide: all columns, unwrapped.")
    ] = CompareOutput.table,
    machine: Machine = "",
    shape: Shapes = [],  # noqa: B006
    model: ModelKeys = [],  # noqa: B006
    tier_gb_s: TierSpeeds = [],  # noqa: B006
    calibration: CalibrationFile = None,
    by_job: Annotated[
        bool,
        typer.Option(
            "--by-job",
            help="Show the jobs that policies place differently, the pods that move, and who got their places.",
        ),
    ] = False,
    jobs: Jobs = None,
    out: Out = None,
) -> None:
    """Place the same jobs by several policies and compare the results.

    Exit status 1 when a policy leaves a job (with --job: that job) pending or fails, or admission refuses an object.

    Examples:

    \b
      workbench compare datasets/demo
      workbench compare datasets/demo --policies field
      workbench compare datasets/demo --policies volcano-1.13,volcano-1.15 --by-job
      workbench compare datasets/demo --policies spread,volcano+gpu-bottleneck -o html --out report.html
      workbench compare datasets/demo --policies allocate,volcano-1.13 --set config=datasets/pending/capacity.conf
      workbench compare datasets/demo --machine "AWS p5.48xlarge" --shape hard-tier-2=4x6 --tier-gb-s 1=50 \\
        --tier-gb-s 2=12.5 --model parameters=8e9 --model layers=32 --model hidden=4096 --model sequence=8192
    """
    from workbench.evaluate.compare import compare as run

    names = required_policy_names(policies)
    inputs = given_paths(paths, file)
    check_out(out)
    chosen = policies_with(names, set_)
    scenario = load_scenario(
        inputs, matrix, from_, any_scheduler=any_scheduler, policies=chosen, gpus_per_node=gpus_per_node, strict=strict
    )
    require_jobs(scenario)
    wanted = wanted_job(scenario, job)
    priced = communication_plan(scenario.gangs, machine, shape, model, tier_gb_s, calibration)
    with progress_bar("comparing") as step, tell_warnings():
        comparison = run(
            scenario.gangs,
            scenario.snapshot,
            chosen,
            progress=step,
            inputs=scenario.inputs,
            communication=priced,
            names=row_names(names, chosen),
            jobs=_processes(scenario) if jobs is None else jobs,
            advised=[wanted] if wanted else None,
        )
    if output is not CompareOutput.html:  # the page shows them itself
        tell_gaps(scenario)
    for row in comparison.rows:
        tell_left_out(row.advice, row.policy)
    _show(comparison, scenario, chosen, wanted, by_job, output, out)
    if scenario.refused or not _placed(comparison, wanted):
        raise typer.Exit(1)


def _processes(scenario: Scenario) -> int:
    """Number of processes where nobody said: all cores, or one where copying a process takes longer than it gains."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return allowed if scenario.snapshot.n_nodes * len(scenario.gangs) >= _LARGE else 1


def _show(
    comparison: Comparison,
    scenario: Scenario,
    chosen: Sequence[Policy],
    wanted: str,
    by_job: bool,
    output: CompareOutput,
    out: Path | None,
) -> None:
    """Write a comparison in the form asked for; `wanted` is the key of the only job to show, or empty."""
    from workbench.evaluate.differences import differences
    from workbench.evaluate.lost_places import lost_places

    if output in (CompareOutput.table, CompareOutput.wide):
        from workbench.report.comparison_tables import comparison_tables, difference_tables, job_tables

        wide = output is CompareOutput.wide

        if wanted:
            print_tables(*job_tables(comparison, wanted), unwrapped=wide, out=out)
        else:
            found = difference_tables(comparison, lost_places(comparison, chosen)) if by_job else None
            print_tables(*(comparison_tables(comparison) if found is None else found), unwrapped=wide, out=out)
    elif output in DATA:
        record = {**comparison.to_dict(), "findings": [finding.to_dict() for finding in scenario.findings]}
        if wanted:
            record["jobs"] = [wanted]
            for row in record["policies"]:
                row["jobs"] = [one for one in row["jobs"] if f"{one['namespace']}/{one['name']}" == wanted]
        if by_job:
            compared = tuple(row.policy for row in comparison.rows)
            record["differences"] = [one.to_dict(compared) for one in differences(comparison)]
            record["lost_places"] = [one.to_dict() for one in lost_places(comparison, chosen)]
        emit_data(record, output, out)
    elif output is CompareOutput.csv:
        from workbench.report.csv_text import csv_text

        emit(csv_text(comparison.to_dataframe()), out)
    elif output in (CompareOutput.svg, CompareOutput.png):
        from workbench.report.side_by_side import comparison_svg

        write = emit if output is CompareOutput.svg else emit_png
        write(comparison_svg(comparison), out)
    else:
        from workbench.report.html import report_html

        emit(report_html(comparison), out)


def _placed(comparison: Comparison, job: str) -> bool:
    """Whether every policy placed a job; every job if the name is empty."""
    if not job:
        return comparison.all_placed
    decisions = [row.decision(job) for row in comparison.rows]
    return all(decision is not None and decision.placed for decision in decisions)


#: Policies of `workbench demo`: blind to the topology, aware of it, and aware of it with the first free GPUs.
_POLICIES = ("allocate", "gang", "binpack", "spread", "volcano-1.13", "volcano-1.13+gpu-lowest-index")


def demo(
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the comparison as a page, with pictures, too.")
    ] = None,
    output: Annotated[
        TableOutput, one_of(TableOutput, "-o", "--output", help="Form of the result.")
    ] = TableOutput.table,
    out: Out = None,
) -> None:
    """Compare six policies on the cluster of Volcano's design document, which comes with the package.

    Examples:

    \b
      workbench demo
      workbench demo --html report.html
    """
    from workbench.evaluate.compare import compare
    from workbench.formats.datasets import load
    from workbench.policies import get_policy
    from workbench.report.comparison_tables import comparison_tables

    check_out(html)
    check_out(out)
    scenario = load("demo")
    with progress_bar("comparing") as step:
        comparison = compare(
            scenario.gangs,
            scenario.snapshot,
            [get_policy(name) for name in _POLICIES],
            progress=step,
            inputs=scenario.inputs,
        )
    if output is TableOutput.table:
        print_tables(*comparison_tables(comparison), out=out)
    else:
        emit_data(comparison.to_dict(), output, out)
    if html is not None:
        from workbench.report.html import report_html

        emit(report_html(comparison), html)
        tell(f"the same with pictures: {html}")
