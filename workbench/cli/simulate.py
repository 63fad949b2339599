"""The command ``workbench simulate``: jobs arrive, wait, run, meet faults and end in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.arguments import (
    finite_number,
    given_paths,
    load_scenario,
    policies_with,
    required_policy_names,
    standard_input,
    tell_gaps,
    tell_notes,
)
from workbench.cli.network_options import NetworkOptions
from workbench.cli.option_values import grouped, one_of
from workbench.cli.options import (
    DisciplineName,
    Files,
    From,
    GpusPerNode,
    Out,
    Paths,
    Policies,
    SharedSettings,
    SimulationOutput,
)
from workbench.cli.output import DATA, check_out, emit, emit_data, print_tables, progress_bar, tell
from workbench.cli.simulate_options import ArrivalOptions, ClockOptions, FaultOptions, JobSource
from workbench.errors import InputError
from workbench.model.counted import counted

if TYPE_CHECKING:
    from workbench.evaluate.contention import TrainingStep
    from workbench.model.job_log import JobLog
    from workbench.model.snapshot import ClusterSnapshot
    from workbench.policies import Policy
    from workbench.simulate import Breakdown, SimulatedJob, SimulationResult

__all__ = ["simulate"]

_POLICIES = ["volcano,allocate,binpack"]
#: Jobs drawn from published shapes, unless the user says how many.
_JOBS = 100


@grouped
def simulate(
    *,
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    source: JobSource,
    policies: Policies = _POLICIES,
    set_: SharedSettings = [],  # noqa: B006
    discipline: DisciplineName = "best-effort",
    arriving: ArrivalOptions,
    failing: FaultOptions,
    clock: ClockOptions,
    wires: NetworkOptions,
    from_: From = None,
    gpus_per_node: GpusPerNode = None,
    output: Annotated[
        SimulationOutput, one_of(SimulationOutput, "-o", "--output", help="Form of the result.")
    ] = SimulationOutput.table,
    out: Out = None,
) -> None:
    """Simulate a cluster over time: jobs of a trace arrive, wait, run and end in virtual time, by several policies.

    Exit status 1 when a job never ran under some policy although nothing was left to happen.

    Examples:

    \b
      workbench simulate datasets/job-log --trace datasets/job-log/jobs.csv
      workbench simulate datasets/job-log --trace datasets/job-log/jobs.csv --discipline fifo --faults 1
      workbench simulate datasets/job-log --trace datasets/job-log/jobs.csv --load 90 --arrivals bursty --seed 1
      workbench simulate datasets/shared-gpus/nodes.csv --trace datasets/shared-gpus/pods.csv --policies fgd,headroom
      workbench simulate datasets/job-log --trace datasets/job-log/jobs.csv --card-gb-s 50 --tier-gb-s 1=12.5 \\
        --tier-gb-s 2=6 --cables 1=8 --step compute_s=1 --step data_gb=40 -o html --out page.html
      workbench simulate topo.csv --gpus-per-node 8 --shapes shapes.json --gpu-tflops 400 --load 80
    """
    from workbench.simulate import Simulation, get_discipline
    from workbench.simulate.from_log import untolerated

    source.check(arriving.load)
    arriving.check()
    clock.check()
    names = required_policy_names(policies)
    wires.check()
    common = wires.common_step()
    inputs = given_paths(paths, file)
    check_out(out)
    chosen = policies_with(names, set_)
    for policy in chosen:
        get_discipline(discipline).check(policy)
    log, snapshot, chosen = _input(source.trace, inputs, chosen, from_, gpus_per_node)
    tell_notes((*log.notes, *untolerated(snapshot)))
    network = wires.network(snapshot, arriving.seed)
    jobs = _jobs(source, failing, log, snapshot, arriving.seed, common)
    if network is not None and not any(job.step for job in jobs):
        expected = "columns compute_s and data_gb, or --step"
        raise InputError("no job has a training step", source=str(source.trace), expected=expected)
    jobs = arriving.drawn(jobs, snapshot)
    breakdowns = failing.drawn(jobs, snapshot, clock.until, network)
    results = []
    with progress_bar("simulating") as told:
        for policy in chosen:
            simulation = Simulation(
                snapshot,
                policy,
                jobs,
                discipline=discipline,
                breakdowns=breakdowns,
                quotas=log.quotas,
                retry=clock.rule(policy),
                network=network,
            )
            simulation.run(float("inf") if clock.until is None else clock.until, progress=told)
            results.append(simulation.result())
    if failing.faults is not None:
        tell(_met(breakdowns, results))
    _show(results, snapshot, output, out)
    if any(result.done and result.measured()["never_placed"] for result in results):
        raise typer.Exit(1)


def _input(
    trace: Path | None, inputs: Sequence[str], chosen: list[Policy], format: str | None, gpus_per_node: int | None
) -> tuple[JobLog, ClusterSnapshot, list[Policy]]:
    """The jobs of a trace, the cluster, and the policies, which an openb trace tells the usual pods."""
    from workbench.formats.job_logs import load_jobs
    from workbench.formats.openb import is_openb_pods, read_openb_log
    from workbench.model.job_log import JobLog
    from workbench.simulate.from_log import judging_by

    content = None if trace is None else _content(trace, inputs)
    if trace is not None and content is not None and is_openb_pods(content):
        if len(inputs) != 1:
            expected = "one table of nodes (sn, cpu_milli, memory_mib, gpu, model)"
            got = counted(len(inputs), "path")
            raise InputError("pods of openb need its nodes", source="PATH", got=got, expected=expected)
        log, snapshot, usual = read_openb_log(inputs[0], trace, content)
        return log, snapshot, [judging_by(policy, usual) for policy in chosen]
    log = JobLog((), "shapes") if trace is None else load_jobs(trace, content)
    scenario = load_scenario(inputs, (), format, gpus_per_node=gpus_per_node)
    tell_gaps(scenario)
    return log, scenario.snapshot, chosen


def _jobs(
    source: JobSource,
    failing: FaultOptions,
    log: JobLog,
    snapshot: ClusterSnapshot,
    seed: int,
    common: TrainingStep | None,
) -> list[SimulatedJob]:
    from workbench.simulate.from_log import simulated_jobs

    if source.shapes is None:
        return simulated_jobs(log, snapshot, failing.restart, common, failing.restarts.value)
    drawn = _shaped(source.shapes, snapshot, source.count or _JOBS, source.gpu_tflops, seed)
    return [replace(job, restart_s=failing.restart, restarts=failing.restarts.value) for job in drawn]


def _show(
    results: Sequence[SimulationResult], snapshot: ClusterSnapshot, output: SimulationOutput, out: Path | None
) -> None:
    if output in DATA:
        emit_data([result.to_dict() for result in results], output, out)
    elif output is SimulationOutput.csv:
        import pandas

        from workbench.report.csv_text import csv_text

        frames = [result.to_dataframe().assign(policy=result.policy) for result in results]
        emit(csv_text(pandas.concat(frames, ignore_index=True)), out)
    elif output is SimulationOutput.svg:
        from workbench.report.simulation_views import draw_usage

        emit(draw_usage(results), out)
    elif output is SimulationOutput.html:
        from workbench.report.simulation_views import simulation_page

        emit(simulation_page(results, snapshot), out)
    else:
        from workbench.report.simulation_views import simulation_tables

        print_tables(*simulation_tables(results), out=out)


def _met(breakdowns: Sequence[Breakdown], results: Sequence[SimulationResult]) -> str:
    """A line about the breakdowns that happened until the last job ended; later ones met nobody."""
    from workbench.model.number_text import duration_text

    counts = [sum(one.at_s <= result.end_s for one in breakdowns) for result in results]
    least, most = min(counts), max(counts)
    how_many = counted(most, "breakdown") if least == most else f"{least} to {most} breakdowns"
    ends = {duration_text(result.end_s) for result in results}
    when = f"in {ends.pop()}" if len(ends) == 1 else "until the last job ended, which depends on the policy"
    return f"{how_many} {when}"


def _content(trace: Path, inputs: Sequence[str]) -> bytes:
    """The content of a trace, read once, because a pipe gives it only once."""
    from workbench.formats.file_bytes import read_bytes

    if str(trace) != "-":
        return read_bytes(trace)
    if "-" in inputs:
        raise InputError("standard input twice", source="--trace", got="-", expected="one of PATH and --trace as -")
    return standard_input(["-"]) or b""


def _shaped(path: Path, snapshot: ClusterSnapshot, count: int, gpu_tflops: str, seed: int) -> list[SimulatedJob]:
    """Jobs drawn from published shapes."""
    import numpy as np

    from workbench.formats.job_shapes import read_job_shapes
    from workbench.simulate.shaped_jobs import draw_shaped_jobs

    reached, expected = finite_number(gpu_tflops), "what a GPU reaches in training, such as 400"
    if not gpu_tflops:
        raise InputError("--gpu-tflops is required with --shapes", expected=expected)
    if reached is None or reached <= 0:
        raise InputError("no speed of a GPU", source="--gpu-tflops", got=repr(gpu_tflops), expected=expected)
    known, notes = read_job_shapes(path)
    tell_notes(notes)
    try:
        return draw_shaped_jobs(known, snapshot, count, np.random.default_rng(seed), gpu_tflops=reached)
    except InputError as error:
        raise (error.of(str(path)) if error.source == "shapes" else error) from None
