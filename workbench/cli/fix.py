"""The command `workbench fix`: why a job is pending, and the least that helps, written as changed input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.advice import session_advice
from workbench.cli.arguments import (
    given_paths,
    matrix_files,
    policy_with,
    standard_input,
    tell_gaps,
    tell_notes,
    tell_reading,
    wanted_job,
)
from workbench.cli.option_values import one_of
from workbench.cli.options import (
    AnyScheduler,
    Files,
    From,
    GpusPerNode,
    Matrices,
    Paths,
    PolicySettings,
    SchedulerPolicy,
    TableOutput,
)
from workbench.cli.output import check_out, emit, emit_data, print_tables, tell
from workbench.cli.place import require_jobs
from workbench.errors import InputError, UnknownNameError
from workbench.model.counted import counted, name_list

if TYPE_CHECKING:
    from workbench.evaluate.whatif.fix import FixReport, JobFix
    from workbench.formats.load_documents import LoadedDocuments
    from workbench.jobs.schedulers import TakenSchedulers
    from workbench.policies import Policy

__all__ = ["fix"]


def fix(
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    job: Annotated[
        str,
        typer.Option("--job", metavar="NAMESPACE/NAME", help="The pending job; without it, each pending job."),
    ] = "",
    policy: SchedulerPolicy = "volcano",
    set_: PolicySettings = [],  # noqa: B006
    matrix: Matrices = [],  # noqa: B006
    from_: From = None,
    any_scheduler: AnyScheduler = False,
    gpus_per_node: GpusPerNode = None,
    order: Annotated[
        str,
        typer.Option(
            "--order",
            metavar="CLASS,CLASS,…",
            help="Kinds of change that may be used, the most welcome first: job, queue (and order of jobs), wait (and "
            "repaired nodes), shrink (a smaller job), evict, nodes (new ones).",
        ),
    ] = "job,queue,wait,shrink,evict,nodes",
    output: Annotated[
        TableOutput, one_of(TableOutput, "-o", "--output", help="Form of the result.")
    ] = TableOutput.table,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write the whole input, changed by the first fix, to a file that place reads."
        ),
    ] = None,
) -> None:
    """Say why a job is pending, who holds what it needs, and the smallest changes with which the policy places it.

    Every fix was tried: the policy places the job when the changed input is read and the whole session is run again.

    Exit status 0 when each job in question has a fix or is placed, 1 when one has none or admission refuses an object.

    Examples:

    \b
      workbench fix datasets/three-level-tree --job hard-tier-1
      workbench fix datasets/three-level-tree --job hard-tier-1 --policy volcano-1.13 -o json
      workbench fix datasets/three-level-tree --job hard-tier-1 --order job,queue,wait --out fixed.yaml
      kubectl get nodes,pods,podgroups,jobs.batch.volcano.sh,queues.scheduling.volcano.sh,hypernodes -A -o json \\
        | workbench fix -
    """
    from workbench.formats.load_documents import load_documents
    from workbench.model.placement import Refusal
    from workbench.policies.contract import schedulers_of

    inputs = given_paths(paths, file)
    _check_out(out, inputs)
    chosen = policy_with(policy, set_)
    taken = any_scheduler or schedulers_of([chosen])
    loaded = load_documents(
        *inputs,
        matrices=matrix_files(matrix),
        stdin=standard_input(inputs),
        format=from_,
        any_scheduler=taken,
        gpus_per_node=gpus_per_node,
    )
    scenario = loaded.scenario
    tell_reading(scenario)
    require_jobs(scenario)
    wanted = wanted_job(scenario, job)
    decisions = chosen.schedule(scenario.gangs, scenario.snapshot)
    pending = [d.gang.key for d in decisions if isinstance(d.result, Refusal) and wanted in ("", d.gang.key)]
    written = _written(wanted, pending) if out is not None else ""
    advice = session_advice(chosen, decisions, scenario.snapshot, jobs=pending, classes=_classes(order))
    reports = list(advice.values())
    proven = [_proven(report, chosen, loaded, taken) for report in reports]
    tell_gaps(scenario)
    if out is not None:
        _write(proven, written, loaded, out)
    _show(proven, wanted, chosen, loaded, output)
    if scenario.refused or len(reports) < len(pending) or not all(report.fixes for report in proven):
        raise typer.Exit(1)


def _written(wanted: str, pending: Sequence[str]) -> str:
    """The job whose first fix is written: the one in question, or else the only one that is pending."""
    if not wanted and len(pending) > 1:
        text = f"whose fix? {counted(len(pending), 'job')} are pending"
        raise InputError(text, source="--out", expected=f"--job with {name_list(pending)}")
    return wanted or next(iter(pending), "")


def _check_out(out: Path | None, inputs: Sequence[str]) -> None:
    """Refuse a file for ``--out`` that cannot be written or is read."""
    check_out(out)
    if out is not None and any(Path(path).resolve() == out.resolve() for path in inputs if path != "-"):
        raise InputError("the input itself", source="--out", got=str(out), expected="another file")


def _write(proven: Sequence[FixReport], wanted: str, loaded: LoadedDocuments, out: Path) -> None:
    """Write the input as the first fix of the job changes it, if there is one."""
    if proven and proven[0].fixes:
        tell_notes(loaded.left_out)
        emit(_changed(proven[0].fixes[0], wanted, loaded), out)
    else:
        why = "no fix was found" if proven else f"{wanted} is placed" if wanted else "every job is placed"
        tell(f"note: {out} is not written: {why}")


def _show(
    proven: Sequence[FixReport], wanted: str, chosen: Policy, loaded: LoadedDocuments, output: TableOutput
) -> None:
    """Write what was found of each pending job; `wanted` is the key of the only job in question, or empty."""
    if output is TableOutput.table:
        from workbench.report.command_tables import fix_tables

        for report in proven:
            print_tables(*fix_tables(report, _commands(report, loaded)))
        if not proven:
            said = f"{wanted} is" if wanted else "every job is"
            nothing = f"{said} placed by {chosen.name}: nothing to fix"
            print_tables(nothing if loaded.scenario.gangs else "no job to place")
    else:
        records = [_record(report, loaded) for report in proven]
        if wanted:
            result: Any = records[0] if records else _placed_record(wanted, chosen)
        else:
            result = records
        emit_data(result, output)


def _classes(order: str) -> list[str]:
    """The classes of ``--order``, in their order."""
    from workbench.evaluate.whatif.edit import CLASSES

    names = [name.strip() for name in order.split(",")]
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise InputError("a class stands twice", source="--order", got=repr(twice[0]), expected="each class once")
    for name in names:
        if name not in CLASSES:
            raise UnknownNameError("class of edits", name, list(CLASSES)).of("--order")
    return names


def _edits(fix: JobFix) -> list[dict[str, Any]]:
    return [edit.to_dict() for edit in fix.edits]


def _changed(fix: JobFix, job: str, loaded: LoadedDocuments) -> str:
    """The text of the whole input after a fix."""
    from workbench.evaluate.whatif.edit import EditedSession
    from workbench.formats.edit_manifests.apply import changed_text

    case = EditedSession(loaded.scenario.gangs, loaded.scenario.snapshot, job)
    for edit in fix.edits:
        case = edit.apply(case)
    return changed_text(loaded, _edits(fix), case.snapshot)


def _proven(report: FixReport, policy: Policy, loaded: LoadedDocuments, any_scheduler: TakenSchedulers) -> FixReport:
    """A report without the fixes that do not hold when the changed manifests are read and placed."""
    kept = []
    for fix in report.fixes:
        why = _fails(fix, report.job, policy, loaded, any_scheduler)
        if why:
            tell(f"note: {report.job}: left out, because {why}: {' and '.join(edit.text for edit in fix.edits)}")
        else:
            kept.append(fix)
    return report if len(kept) == len(report.fixes) else replace(report, fixes=tuple(kept))


def _fails(fix: JobFix, job: str, policy: Policy, loaded: LoadedDocuments, any_scheduler: TakenSchedulers) -> str:
    """Why a fix does not hold when the changed manifests are read and placed; empty if it does."""
    from workbench.formats.load import load

    try:
        text = _changed(fix, job, loaded)
        changed = load("-", stdin=text, any_scheduler=any_scheduler)
    except InputError as error:
        return f"it cannot be written as manifests ({error})"
    refused = [one for one in changed.refused if one not in loaded.scenario.refused]
    if refused and all(gang.key != job for gang in changed.gangs):
        return f"admission refuses the changed {refused[0].subject} ({refused[0]})"
    try:
        decisions = policy.schedule(changed.gangs, changed.snapshot)
    except Exception as error:  # a policy from a notebook may fail on a cluster that it has never seen
        return f"the policy fails on the changed input ({type(error).__name__}: {error})"
    placed = any(decision.gang.key == job and decision.placed for decision in decisions)
    return "" if placed else "the changed manifests still leave the job pending"


def _commands(report: FixReport, loaded: LoadedDocuments) -> list[list[str]]:
    """For each fix what somebody types to make it in a live cluster."""
    from workbench.formats.edit_manifests.commands import kubectl_commands

    return [
        kubectl_commands(loaded.manifest_set, _edits(fix), whole_cluster=loaded.whole_cluster) for fix in report.fixes
    ]


def _record(report: FixReport, loaded: LoadedDocuments) -> dict[str, Any]:
    record = report.to_dict()
    for fix, commands in zip(record["fixes"], _commands(report, loaded), strict=True):
        fix["commands"] = commands
    return record


def _placed_record(job: str, policy: Policy) -> dict[str, Any]:
    """The record of a job that the policy places."""
    headline = f"placed by {policy.name}: nothing to fix"
    return {
        "job": job,
        "policy": policy.name,
        "headline": headline,
        "causes": [],
        "fixes": [],
        "never": False,
        "never_as_written": False,
        "proved": True,
        "nearest": None,
        "holders": [],
    }
