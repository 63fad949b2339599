"""The command `workbench cost`: time that the communication of a placed job takes per training step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.arguments import (
    finite_number,
    given_paths,
    key_values,
    load_scenario,
    policy_with,
    tier_speeds,
)
from workbench.cli.option_values import one_of
from workbench.cli.options import (
    AnyScheduler,
    Files,
    From,
    GpusPerNode,
    Out,
    Paths,
    SchedulerPolicy,
    TableOutput,
    TierSpeeds,
)
from workbench.cli.output import check_out, emit, print_tables, to_json
from workbench.cli.place import require_jobs
from workbench.errors import InputError, close_names
from workbench.model.whole_number import whole_number

if TYPE_CHECKING:
    from workbench.evaluate.cost.calibration import Calibration
    from workbench.evaluate.cost.parallel_shape import TrainingModel
    from workbench.model.placement import Decision

__all__ = ["cost"]

#: Keys of --model that must be given.
_NEEDED = ("parameters", "layers", "hidden", "sequence")


def cost(
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    machine: Annotated[
        str, typer.Option("--machine", metavar="NAME", help="Measured machine that all nodes count as.")
    ] = "",
    shape: Annotated[
        str, typer.Option("--shape", metavar="DPxTPxPPxCPxEP", help="Degrees of parallelism; those left out are 1.")
    ] = "",
    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            metavar="KEY=VALUE",
            help="parameters, layers, hidden, sequence, and what docs/cost.md names. Repeatable.",
        ),
    ] = [],  # noqa: B006
    tier_gb_s: TierSpeeds = [],  # noqa: B006
    job: Annotated[str, typer.Option("--job", metavar="NAME", help="Which of several jobs.")] = "",
    policy: SchedulerPolicy = "volcano",
    rank_order: Annotated[
        bool, typer.Option("--rank-order", help="Number the ranks along the HyperNodes before counting.")
    ] = False,
    calibration: Annotated[
        Path | None, typer.Option("--calibration", metavar="FILE", help="JSON of 'workbench calibrate'.")
    ] = None,
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
      workbench cost cluster.yaml job.yaml --machine "AWS p5.48xlarge" --shape 4x8 \\
        --model parameters=8e9 --model layers=32 --model hidden=4096 --model sequence=8192 \\
        --tier-gb-s 1=50 --tier-gb-s 2=12.5
    """
    from workbench.evaluate.cost.cost_model import CostModel
    from workbench.evaluate.cost.job_cost import job_cost, nodes_by_rank
    from workbench.evaluate.cost.parallel_shape import ParallelShape
    from workbench.evaluate.rank_order import rank_order as along_hypernodes
    from workbench.model.placement import Placement

    inputs = given_paths(paths, file)
    check_out(out, output)
    fitted = _calibration(calibration)
    if machine not in fitted.machines:
        expected = close_names(machine, list(fitted.machines))
        raise InputError("no measured machine of this name", source="--machine", got=repr(machine), expected=expected)
    parallel = ParallelShape.parse(shape, "--shape")
    trained = _model(model)
    speeds = tier_speeds(tier_gb_s)
    chosen = policy_with(policy, [])
    scenario = load_scenario(inputs, (), from_, any_scheduler=any_scheduler, gpus_per_node=gpus_per_node)
    require_jobs(scenario)
    decision = _decision(chosen.schedule(scenario.gangs, scenario.snapshot), job)
    placement = decision.result
    if not isinstance(placement, Placement):
        from workbench.model.notice import texts_of

        emit(f"{decision.gang.key} is pending: {'; '.join(texts_of(placement.reasons))}", out)
        raise typer.Exit(1)
    nodes = nodes_by_rank(placement)
    if rank_order:
        nodes = _reordered(placement, along_hypernodes(placement).ranks_before)
    costs = CostModel(fitted, machine, scenario.snapshot.topology, speeds)
    found = job_cost(decision.gang.key, nodes, parallel, trained, costs)
    if output is TableOutput.json:
        emit(to_json(found.to_dict()), out)
    else:
        from workbench.report.cost_tables import cost_tables

        print_tables(*cost_tables(found))


def _calibration(path: Path | None) -> Calibration:
    """The calibration of a file, or the one that comes with the package."""
    from workbench.evaluate.cost.calibration import Calibration
    from workbench.formats.collectives import read_calibration_record

    return Calibration.from_record(*read_calibration_record(path))


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


def _model(given: Sequence[str]) -> TrainingModel:
    """The model of ``--model KEY=VALUE``; ``forward_ms`` and ``backward_ms`` are in milliseconds."""
    from workbench.evaluate.cost.parallel_shape import TrainingModel

    readers: dict[str, tuple[str, Callable[[str], Any]]] = {
        "parameters": ("parameters", finite_number),
        "layers": ("layers", whole_number),
        "hidden": ("hidden", whole_number),
        "sequence": ("sequence", whole_number),
        "micro_batch": ("micro_batch", whole_number),
        "microbatches": ("microbatches", whole_number),
        "bytes_per_element": ("bytes_per_element", finite_number),
        "gradient_bytes": ("gradient_bytes", finite_number),
        "moe_layers": ("moe_layers", whole_number),
        "top_k": ("top_k", whole_number),
        "kv_hidden": ("kv_hidden", whole_number),
        "sharded": ("sharded", {"true": True, "false": False}.get),
        "forward_ms": ("forward_s", lambda text: _scaled(text, 1e-3)),
        "backward_ms": ("backward_s", lambda text: _scaled(text, 1e-3)),
    }
    values = key_values("--model", given)
    found = {}
    for key, text in values.items():
        if key not in readers:
            raise InputError("no such key", source="--model", got=repr(key), expected=close_names(key, list(readers)))
        name, read = readers[key]
        found[name] = read(text)
        if found[name] is None:
            raise InputError("wrong value", source=f"--model {key}", got=repr(text), expected="a number")
    missing = [name for name in _NEEDED if name not in values]
    if missing:
        raise InputError("the model is not told", source="--model", expected=", ".join(f"{key}=" for key in missing))
    return TrainingModel(**found)


def _scaled(text: str, factor: float) -> float | None:
    number = finite_number(text)
    return None if number is None else number * factor
