"""The commands `workbench cost`, time that the communication of a placed job takes per training step, and
`workbench calibrate`, which fits a calibration to measured collectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.arguments import given_paths, load_scenario, policy_with, tier_speeds
from workbench.cli.option_values import one_of
from workbench.cli.options import (
    AnyScheduler,
    Files,
    From,
    GpusPerNode,
    ObjectOutput,
    Out,
    Paths,
    SchedulerPolicy,
    TableOutput,
    TierSpeeds,
)
from workbench.cli.output import DATA, check_out, emit, emit_data, print_tables, tell
from workbench.cli.place import require_jobs
from workbench.cli.training_options import CalibrationFile, Machine, ModelKeys, calibration_with, training_model
from workbench.errors import InputError
from workbench.model.counted import counted

if TYPE_CHECKING:
    from workbench.model.placement import Decision

__all__ = ["calibrate", "cost"]


def cost(
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    machine: Machine = "",
    shape: Annotated[
        str, typer.Option("--shape", metavar="DPxTPxPPxCPxEP", help="Degrees of parallelism; those left out are 1.")
    ] = "",
    model: ModelKeys = [],  # noqa: B006
    tier_gb_s: TierSpeeds = [],  # noqa: B006
    job: Annotated[str, typer.Option("--job", metavar="NAME", help="Which of several jobs.")] = "",
    policy: SchedulerPolicy = "volcano",
    rank_order: Annotated[
        bool, typer.Option("--rank-order", help="Number the ranks along the HyperNodes before counting.")
    ] = False,
    calibration: CalibrationFile = None,
    from_: From = None,
    any_scheduler: AnyScheduler = False,
    gpus_per_node: GpusPerNode = None,
    output: Annotated[
        TableOutput, one_of(TableOutput, "-o", "--output", help="Form of the result.")
    ] = TableOutput.table,
    out: Out = None,
) -> None:
    """What a job's communication costs per training step, and what each tier of the network adds.

    The jobs of the input are placed by a policy; exit status 1 when the job in question stays pending. Times are of
    communication and carry an interval; nothing is claimed about the absolute time of a training.

    Examples:

    \b
      workbench cost datasets/demo --job hard-tier-2 --machine "AWS p5.48xlarge" --shape 4x6 \\
        --model parameters=8e9 --model layers=32 --model hidden=4096 --model sequence=8192 \\
        --tier-gb-s 1=50 --tier-gb-s 2=12.5 --tier-gb-s 3=6
    """
    from workbench.evaluate.cost.cost_model import CostModel
    from workbench.evaluate.cost.job_cost import job_cost, nodes_by_rank
    from workbench.evaluate.cost.parallel_shape import ParallelShape
    from workbench.evaluate.rank_order import rank_order as along_hypernodes
    from workbench.model.placement import Placement

    inputs = given_paths(paths, file)
    check_out(out)
    fitted = calibration_with(calibration, machine)
    parallel = ParallelShape.parse(shape, "--shape")
    trained = training_model(model)
    speeds = tier_speeds(tier_gb_s)
    chosen = policy_with(policy, [])
    scenario = load_scenario(
        inputs, (), from_, any_scheduler=any_scheduler, policies=[chosen], gpus_per_node=gpus_per_node
    )
    require_jobs(scenario)
    decision = _decision(chosen.schedule(scenario.gangs, scenario.snapshot), job)
    placement = decision.result
    if not isinstance(placement, Placement):
        from workbench.model.counted import quoted

        emit(f"{decision.gang.key} is pending: {'; '.join(map(quoted, placement.reasons))}", out)
        raise typer.Exit(1)
    nodes = nodes_by_rank(placement)
    if rank_order:
        nodes = _reordered(placement, along_hypernodes(placement).ranks_before)
    costs = CostModel(fitted, machine, scenario.snapshot.topology, speeds)
    found = job_cost(decision.gang.key, nodes, parallel, trained, costs)
    if output in DATA:
        emit_data(found.to_dict(), output, out)
    else:
        from workbench.report.command_tables import cost_tables

        print_tables(*cost_tables(found), out=out)


def _decision(decisions: Sequence[Decision], job: str) -> Decision:
    """The decision about the job that was asked for; without a name there must be one job."""
    names = [decision.gang.key for decision in decisions]
    found = [decision for decision in decisions if not job or job in (decision.gang.key, decision.gang.name)]
    if len(found) != 1:
        message = "several jobs" if len(found) > 1 else "no such job"
        raise InputError(message, source="--job", got=repr(job), expected=f"one of {', '.join(names)}")
    return found[0]


def _reordered(placement: Any, ranks_before: Sequence[int]) -> Any:
    """Node of each GPU with the pods in a new order, given as their old ranks."""
    import dataclasses

    import numpy as np

    from workbench.evaluate.cost.job_cost import nodes_by_rank

    old = np.arange(len(placement.node)) if placement.rank is None else np.argsort(placement.rank, kind="stable")
    rank = np.empty(len(old), dtype=np.int32)
    rank[old[list(ranks_before)]] = np.arange(len(old))
    return nodes_by_rank(dataclasses.replace(placement, rank=rank))


def calibrate(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder with collectives.csv or printouts of nccl-tests; or one of them."
        ),
    ],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the calibration.")] = "collectives",
    output: Annotated[
        ObjectOutput, one_of(ObjectOutput, "-o", "--output", help="Form of the result; `cost` reads json.")
    ] = ObjectOutput.json,
    out: Out = None,
) -> None:
    """Fit latency, bandwidth and efficiency of every measured block of collectives, as JSON for `workbench cost`.

    Examples:

    \b
      workbench calibrate measurements --out calibration.json
      workbench calibrate all_reduce_perf.txt --name our-cluster --out calibration.json
      workbench cost cluster.yaml job.yaml --calibration calibration.json ...
    """
    from workbench.evaluate.cost.fit import fit_calibration
    from workbench.formats.collectives import default_systems, read_measurement_files

    check_out(out)
    measurements, overruled, notes = read_measurement_files(folder)
    for file, note in notes:
        tell(f"note: {file}: {note}")
    if overruled:
        tell(f"left out: {counted(overruled, 'row')} measured with an algorithm switched off")
    emit_data(fit_calibration(measurements, default_systems(), name).to_record(), output, out)
