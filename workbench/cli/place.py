"""The command `workbench place`: place every job of the input by one policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.advice import session_advice
from workbench.cli.arguments import given_paths, load_scenario, policy_with, tell_gaps, wanted_job
from workbench.cli.option_values import grouped, one_of, seconds
from workbench.cli.options import (
    AnyScheduler,
    Files,
    From,
    GpusPerNode,
    Job,
    Matrices,
    Out,
    Paths,
    PlaceOutput,
    SchedulerPolicy,
    Strict,
)
from workbench.cli.output import check_out, emit, emit_data, print_tables, progress_bar, tell
from workbench.errors import InputError
from workbench.model.notice import texts_of
from workbench.model.number_text import duration_text

if TYPE_CHECKING:
    from workbench.evaluate.metrics import RunMetrics
    from workbench.evaluate.rank_order import RankOrder
    from workbench.evaluate.switch_sharing import SwitchChange
    from workbench.evaluate.whatif.advice import SessionAdvice
    from workbench.evaluate.whatif.when import EarliestStart
    from workbench.model.explanation import Explanation
    from workbench.model.placement import Decision
    from workbench.model.scenario import Scenario
    from workbench.model.snapshot import ClusterSnapshot
    from workbench.policies import Policy

__all__ = ["place", "require_jobs"]


@dataclass(frozen=True)
class PlaceExtras:
    """The options that ask for more than the placements."""

    explain: Annotated[bool, typer.Option("--explain", help="Say what was considered and why it was dropped.")] = False
    tor_share: Annotated[
        Path | None,
        typer.Option(
            "--tor-share", metavar="FILE", help="Write the ConfigMap tor-share-cm: the switches after the session."
        ),
    ] = None
    rank_order: Annotated[
        bool,
        typer.Option("--rank-order", help="Ranks along the HyperNodes, and the ring's crossings before and after."),
    ] = False
    when: Annotated[
        bool,
        typer.Option(
            "--when",
            help="When pending jobs could start, by the annotations topology-workbench/remaining-seconds and "
            "topology-workbench/run-seconds of pods, else by --run-seconds.",
        ),
    ] = False
    run_seconds: Annotated[
        float | None,
        seconds("--run-seconds", least=0, most=1e9, help="With --when: seconds that each gang runs, or still runs."),
    ] = None

    def check(self, output: PlaceOutput) -> None:
        """Refuse options that the form of the result, or each other, leave without effect."""
        check_out(self.tor_share)
        if self.explain and output is PlaceOutput.csv:
            raise InputError("a table of pods has no room for it", source="--explain", got="-o csv", expected="-o json")
        if self.run_seconds is not None and not self.when:
            raise InputError("nothing to time", source="--run-seconds", expected="--when")


@grouped
def place(
    *,
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    policy: SchedulerPolicy = "volcano",
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
    strict: Strict = False,
    gpus_per_node: GpusPerNode = None,
    job: Job = "",
    output: Annotated[
        PlaceOutput, one_of(PlaceOutput, "-o", "--output", help="Form of the result; wide: every pod, unwrapped.")
    ] = PlaceOutput.table,
    out: Out = None,
    more: PlaceExtras,
) -> None:
    """Place the jobs of the input by one policy.

    Exit status 1 when a job (with --job: that job) stays pending or an object is refused by admission.

    Examples:

    \b
      workbench place datasets/demo --policy volcano-1.13+gpu-bottleneck -o json
      workbench place datasets/demo --policy random --set seed=7 --explain
      workbench place datasets/demo --set config=datasets/pending/capacity.conf
      workbench place datasets/demo --job hard-tier-2 --when --run-seconds 3600
      kubectl get nodes,pods,podgroups,hypernodes -A -o json | workbench place - job.yaml
    """
    from workbench.evaluate.metrics import measure_run
    from workbench.model.explanation import Recorder

    check_out(out)
    more.check(output)
    chosen = policy_with(policy, set_)
    scenario = load_scenario(
        given_paths(paths, file),
        matrix,
        from_,
        any_scheduler=any_scheduler,
        policies=[chosen],
        gpus_per_node=gpus_per_node,
        strict=strict,
    )
    require_jobs(scenario)
    wanted = wanted_job(scenario, job)
    recorders = {i: Recorder() for i, gang in enumerate(scenario.gangs) if more.explain and wanted in ("", gang.key)}
    decisions = chosen.schedule(scenario.gangs, scenario.snapshot, recorders)
    shown = [decision for decision in decisions if wanted in ("", decision.gang.key)]
    waits = not all(one.placed for one in shown)
    keys = [one.gang.key for one in shown]
    advice = session_advice(chosen, decisions, scenario.snapshot, jobs=keys) if waits else None
    found = _Found(
        policy=chosen,
        scenario=scenario,
        shown=shown,
        metrics=measure_run(decisions, scenario.snapshot),
        switches=_switches(scenario.snapshot, decisions, more.tor_share),
        advice=advice,
        starts=_starts(chosen, scenario, more.run_seconds) if more.when and waits else {},
        orders=_orders(shown) if more.rank_order else {},
        explanations=[recorder.explanation(decisions[i]) for i, recorder in recorders.items()],
    )
    tell_gaps(scenario)
    _tell_departures(chosen, scenario)
    if output in (PlaceOutput.table, PlaceOutput.wide):
        print_tables(*_tables(found, more, output is PlaceOutput.wide), unwrapped=output is PlaceOutput.wide, out=out)
    else:
        _write(found, more, output, out)
    if scenario.refused or waits:
        raise typer.Exit(1)


def _tell_departures(policy: Policy, scenario: Scenario) -> None:
    """Tell where the policy does not follow the documents for some of the gangs."""
    from workbench.policies.departures import departures_for

    if departs := departures_for(policy.name.partition("+")[0], scenario.gangs):
        tell(f"note: {departs}")


@dataclass(frozen=True)
class _Found:
    """The decisions of one session on the jobs that are shown, with the answers that options asked for."""

    policy: Policy
    scenario: Scenario
    shown: list[Decision]
    metrics: RunMetrics
    switches: tuple[SwitchChange, ...]
    advice: SessionAdvice | None
    starts: Mapping[str, EarliestStart]
    orders: Mapping[str, RankOrder]
    explanations: list[Explanation]


def _tables(found: _Found, more: PlaceExtras, wide: bool) -> list[Any]:
    from rich.text import Text

    from workbench.report import tables

    parts = tables.session_tables(
        found.policy.name, found.shown, found.metrics, found.switches, found.advice or {}, wide=wide
    )
    starts = found.starts
    parts += [Text(starts[one.gang.key].text) for one in found.shown if starts and not one.placed]
    for explanation in found.explanations:
        parts += tables.explanation_tables(explanation)
    if more.rank_order:
        from workbench.report.command_tables import rank_tables

        parts += rank_tables(found.orders.values())
    return parts


def _write(found: _Found, more: PlaceExtras, output: PlaceOutput, out: Path | None) -> None:
    if output is PlaceOutput.csv:
        from workbench.evaluate.frames import pod_frame
        from workbench.report.csv_text import csv_text

        emit(csv_text(pod_frame(found.shown)), out)
    else:
        emit_data(_record(found, more), output, out)


def _record(found: _Found, more: PlaceExtras) -> dict[str, Any]:
    from workbench.evaluate.records import session_record
    from workbench.objects.pod_group import ALLOCATED_HYPERNODE_ANNOTATION

    policy, scenario = found.policy, found.scenario
    written = ALLOCATED_HYPERNODE_ANNOTATION if policy.traits.annotates_group else ""
    record: dict[str, Any] = session_record(
        policy.name,
        policy.parameters,
        found.shown,
        found.metrics,
        found.advice or {},
        group_annotation=written,
        advice_note="" if found.advice is None else found.advice.note,
    )
    for row in record["jobs"]:
        key = f"{row['namespace']}/{row['name']}"
        if (order := found.orders.get(key)) is not None:
            row["rank_order"] = order.to_dict()
        if key in found.starts and row["outcome"] == "pending":
            row["when"] = found.starts[key].to_dict()
    record["findings"] = [finding.to_dict() for finding in scenario.findings]
    record["refused"] = [refused.to_dict() for refused in scenario.refused]
    record["gaps"] = [gap.to_dict() for gap in scenario.snapshot.gaps]
    if found.switches:
        record["switches"] = [switch.to_dict() for switch in found.switches]
    if more.explain:
        record["explanations"] = [_explanation_record(explanation) for explanation in found.explanations]
    return record


def _starts(policy: Policy, scenario: Scenario, run_seconds: float | None) -> dict[str, EarliestStart]:
    """When each job could start, by ``namespace/name``."""
    from workbench.evaluate.whatif.when import RunTimes, earliest_starts

    with progress_bar("waiting") as step:

        def tell_time(now: float) -> None:
            if step is not None:
                step(0, 0, f"{duration_text(now)} from now")

        found = earliest_starts(policy, scenario.gangs, scenario.snapshot, RunTimes(run_seconds), tell_time)
    return {one.job: one for one in found}


def _orders(decisions: Sequence[Decision]) -> dict[str, RankOrder]:
    """New ranks of the pods of each placed job, by ``namespace/name``."""
    from workbench.evaluate.rank_order import rank_order
    from workbench.model.placement import Placement

    placed = (decision.result for decision in decisions)
    return {one.gang.key: rank_order(one) for one in placed if isinstance(one, Placement)}


def _switches(
    snapshot: ClusterSnapshot, decisions: Sequence[Decision], tor_share: Path | None
) -> tuple[SwitchChange, ...]:
    """Changes of the leaf switches' states between the snapshot and the end of the session.

    Empty unless a job uses switch affinity or states are known. If `tor_share` is given, the states at the end are
    written to that file as the ConfigMap tor-share-cm; without switches that is an InputError.
    """
    from workbench.evaluate.switch_sharing import after_session, switch_changes, switches_matter

    if tor_share is None and not switches_matter(decisions, snapshot):
        return ()
    after = after_session(snapshot, decisions)
    found = switch_changes(snapshot, after)
    if tor_share is not None:
        from workbench.formats.fabric.tor_tables import share_config_map

        if not found:
            raise InputError(
                "the cluster has no switches", source="--tor-share", expected="basic-tor-node-cm or tier-1 HyperNodes"
            )
        emit(share_config_map(after), tor_share)
    return found


def require_jobs(scenario: Scenario) -> None:
    """Raise InputError if the input contains no job; jobs that admission refused count as jobs."""
    if not scenario.gangs and not scenario.refused:
        said = [gap for gap in scenario.snapshot.gaps if gap.code == "scheduling-gates"]
        said += scenario.notes
        raise InputError(
            "no job to place",
            source=", ".join(scenario.inputs),
            got="; ".join(["no pod that waits for a node", *texts_of(said)]),
            expected="a Job, Deployment, StatefulSet or PodGroup with such pods, or a pending Pod",
        )


def _explanation_record(explanation: Explanation) -> dict[str, Any]:
    return {
        "job": explanation.decision.gang.key,
        "outcome": "placed" if explanation.decision.placed else "pending",
        "notes": list(explanation.notes),
        "candidates": [candidate.to_dict() for candidate in explanation.candidates],
    }
