"""`workbench place`: place every job of the input by one policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.arguments import load_scenario, policy_with, tell_gaps
from workbench.cli.option_values import one_of
from workbench.cli.options import AnyScheduler, Files, From, GpusPerNode, Matrices, PlaceOutput
from workbench.cli.output import emit, print_tables, to_json, to_yaml
from workbench.errors import InputError
from workbench.model.notice import texts_of

if TYPE_CHECKING:
    from workbench.model.explanation import Explanation
    from workbench.model.snapshot import Scenario

__all__ = ["place", "require_jobs"]


def place(
    file: Files,
    policy: Annotated[
        str, typer.Option("--policy", metavar="NODE[+GPU]", help="Policy; see 'workbench policies'.")
    ] = "volcano",
    set_: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Policy parameter; gpu.KEY for the GPU part; config=FILE for a volcano-scheduler.conf. Repeatable.",
        ),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    matrix: Matrices = [],  # noqa: B006
    from_: From = None,
    any_scheduler: AnyScheduler = False,
    gpus_per_node: GpusPerNode = None,
    output: Annotated[
        PlaceOutput, one_of(PlaceOutput, "-o", "--output", help="Form of the result.")
    ] = PlaceOutput.table,
    explain: Annotated[bool, typer.Option("--explain", help="Say what was considered and why it was dropped.")] = False,
) -> None:
    """Place the jobs of the input by one policy.

    Exit status 1 when a job stays pending or an object is refused by admission.

    Examples:

    \b
      workbench place -f cluster.yaml -f job.yaml
      workbench place -f datasets/demo --policy volcano-1.13+gpu-bottleneck -o json
      workbench place -f datasets/demo --policy random --set seed=7 --explain
      workbench place -f datasets/demo --set config=volcano-scheduler.conf
    """
    from workbench.evaluate.metrics import measure_run
    from workbench.evaluate.records import session_record
    from workbench.model.explanation import Recorder

    chosen = policy_with(policy, set_)
    scenario = load_scenario(file, matrix, from_, any_scheduler=any_scheduler, gpus_per_node=gpus_per_node)
    require_jobs(scenario)
    recorders = {i: Recorder() for i in range(len(scenario.gangs))} if explain else {}
    decisions = chosen.schedule(scenario.gangs, scenario.snapshot, recorders)
    metrics = measure_run(decisions, scenario.snapshot)
    tell_gaps(scenario)
    explanations = [recorder.explanation(decisions[i]) for i, recorder in recorders.items()]
    if output is PlaceOutput.table:
        from workbench.report import tables

        print_tables(*tables.session_tables(chosen.name, decisions, metrics))
        for explanation in explanations:
            print_tables(*tables.explanation_tables(explanation))
    else:
        record: dict[str, Any] = session_record(chosen.name, chosen.parameters, decisions, metrics)
        record["refused"] = [refused.to_dict() for refused in scenario.refused]
        record["gaps"] = [gap.to_dict() for gap in scenario.snapshot.gaps]
        if explain:
            record["explanations"] = [_explanation_record(explanation) for explanation in explanations]
        emit(to_json(record) if output is PlaceOutput.json else to_yaml(record))
    if scenario.refused or not all(decision.placed for decision in decisions):
        raise typer.Exit(1)


def require_jobs(scenario: Scenario) -> None:
    """Raise InputError if the input holds no job at all; jobs that admission refused count as jobs."""
    if not scenario.gangs and not scenario.refused:
        said = [gap for gap in scenario.snapshot.gaps if gap.code == "scheduling-gates"]
        said += scenario.notes
        raise InputError(
            "no job to place",
            source=", ".join(scenario.inputs),
            got="; ".join(["no pod that waits for a node", *texts_of(said)]),
            expected="a Job, Deployment or PodGroup with such pods, or a pending Pod",
        )


def _explanation_record(explanation: Explanation) -> dict[str, Any]:
    return {
        "job": explanation.decision.gang.key,
        "outcome": "placed" if explanation.decision.placed else "pending",
        "notes": list(explanation.notes),
        "candidates": [candidate.to_dict() for candidate in explanation.candidates],
    }
