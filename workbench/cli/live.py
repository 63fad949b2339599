"""The commands `workbench live`: read a live cluster."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.advice import session_advice
from workbench.cli.arguments import job_named, required_policy_names, standard_input
from workbench.cli.option_values import name_from, one_of
from workbench.cli.options import (
    TIMEOUT_S,
    Context,
    Job,
    Kubeconfig,
    LiveCompareOutput,
    ObjectOutput,
    Out,
    TableOutput,
    Timeout,
    announce,
)
from workbench.cli.output import (
    DATA,
    check_out,
    emit,
    emit_data,
    emit_objects,
    print_tables,
    progress_bar,
    tell,
    to_json,
    to_yaml,
)
from workbench.cli.watch import watch
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.cluster.waiting import Said
    from workbench.evaluate.audit import Audit
    from workbench.formats.recorded_moment import RecordedSession

__all__ = ["live_app"]

live_app = typer.Typer(
    help="Read a live cluster; nothing is written to it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@live_app.callback()
def _live() -> None:
    """Read a live cluster; nothing is written to it."""


@live_app.command(short_help="Save the objects of a live cluster")
def snapshot(
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    timeout: Timeout = TIMEOUT_S,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Replace names that somebody chose, for a bug report.")
    ] = False,
    output: Annotated[
        ObjectOutput, one_of(ObjectOutput, "-o", "--output", help="Form of the file.")
    ] = ObjectOutput.json,
    out: Out = None,
) -> None:
    """Read nodes, pods, jobs, queues and HyperNodes of a live cluster into one file.

    Every command takes the file in place of manifests. It has no Secrets and no environment, commands or mounted
    files of containers. What the user may not read is told, with the RBAC rule that would allow it. With --anonymize
    the same name has the same stand-in everywhere and policies decide alike; read messages of conditions and events
    before you publish them, because only names of the cluster are replaced there.

    Examples:

    \b
      workbench live snapshot --out cluster.json
      workbench live snapshot --anonymize --out report.json
      workbench compare cluster.json --policies volcano-1.13,volcano-1.15
    """
    check_out(out)
    taken = _taken(context, kubeconfig, timeout, anonymize).decode()
    emit(to_yaml(json.loads(taken)) if output is ObjectOutput.yaml else taken, out, private=True)


@live_app.command(short_help="Say which running gangs could be closer")
def compare(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
            help="A snapshot, a recording of live watch, or manifests with running pods; else the cluster is read.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    recorded: Annotated[
        Path | None,
        typer.Option(
            "--recorded",
            metavar="PATH",
            help="Sessions of a real scheduler: a file with a JSON object per line, or a folder of such files.",
        ),
    ] = None,
    job: Job = "",
    policies: Annotated[
        list[str],
        typer.Option(
            "--policies", metavar="P,P,…", help="Policies, separated by commas; else volcano, or the release recorded."
        ),
    ] = [],  # noqa: B006
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    timeout: Timeout = TIMEOUT_S,
    output: Annotated[
        LiveCompareOutput,
        one_of(LiveCompareOutput, "-o", "--output", help="Form of the result; wide: with all columns, unwrapped."),
    ] = LiveCompareOutput.table,
    out: Out = None,
) -> None:
    """Show which running gangs could be closer together, and what policies would do with those that wait.

    Each running gang is taken off its nodes, and the policies place it anew on the cluster as it is now. "is in" is the
    closest HyperNode around the gang's pods, "could be in" the one of the policy's placement. "pairs beyond" counts the
    pairs of the gang's pods whose nodes meet only above the tier of "could be in". The largest loss comes first.

    Jobs that wait are placed in one session, next to what the cluster says about them.

    A table counts for each policy the jobs with which the cluster did what the policy would do ("agree"). Of these
    counts "verdict" looks only at whether a job is placed or pending, and "pods" at the number of placed pods.
    "HyperNode" says "2 of 4" where the policy ranks HyperNodes for four of the placed jobs, and two are in one that it
    ranks first: schedulers take one of equal HyperNodes at random. Another HyperNode that is as close is no
    difference, but for recorded sessions: there the policy's rules must allow it. Exit status 1 when something differs.

    Examples:

    \b
      workbench live compare
      workbench live compare cluster.json --policies volcano-1.13,volcano-1.15
      workbench live compare cluster.json -o html --out closer.html
      workbench live compare --recorded sessions.jsonl -o json
    """
    from workbench.report.audit_tables import audit_page, audit_tables

    check_out(out)
    if recorded is not None and paths:
        raise InputError("nothing else is read", source="--recorded", expected="--recorded or PATH, one of the two")
    if recorded is not None and job:
        raise InputError("a job of a cluster", source="--job", got=repr(job), expected="no --recorded beside it")
    names = required_policy_names(policies) if policies else []
    said: dict[str, tuple[Said, ...]] = {}
    if recorded is not None:
        found = _of_sessions(recorded, names)
    else:
        found, said = _of_cluster(paths, names, context, kubeconfig, timeout, job)
    words = {key: [one.text for one in each] for key, each in said.items()}
    if output in DATA:
        emit_data([{**where, **told.to_dict(), **_waiting_record(told, said)} for where, told in found], output, out)
    elif output is LiveCompareOutput.html:
        emit(audit_page(found, words), out)
    else:
        wide = output is LiveCompareOutput.wide
        print_tables(*audit_tables(found, words, wide=wide), unwrapped=wide, out=out)
    if any(not told.agrees for _, told in found):
        raise typer.Exit(1)


live_app.command(short_help="Follow a live cluster")(watch)


@live_app.command(short_help="Check version, rights and configuration")
def doctor(
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    timeout: Timeout = TIMEOUT_S,
    output: Annotated[TableOutput, one_of(TableOutput, "-o", "--output", help="Form of the result.")] = (
        TableOutput.table
    ),
    out: Out = None,
) -> None:
    """Look at version, rights, kinds, HyperNodes and scheduler configuration of a cluster.

    Exit status 1 when something is in the way of reading the cluster or of placing jobs by its topology.

    Example:

    \b
      workbench live doctor --context production
    """
    from workbench.live import examine_cluster
    from workbench.report.command_tables import doctor_tables

    check_out(out)
    checks = examine_cluster(context, kubeconfig=kubeconfig, timeout_s=timeout, announce=announce)
    if output in DATA:
        emit_data([check.to_dict() for check in checks], output, out)
    else:
        print_tables(doctor_tables([(check.state.value, check.subject, check.text) for check in checks]), out=out)
    if any(check.state == "problem" for check in checks):
        raise typer.Exit(1)


@live_app.command(short_help="Write the roles that reading needs")
def rbac(
    subject: Annotated[
        str, typer.Argument(metavar="SUBJECT", help="user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME.")
    ],
    output: Annotated[
        ObjectOutput, one_of(ObjectOutput, "-o", "--output", help="Form of the result.")
    ] = ObjectOutput.yaml,
    out: Out = None,
) -> None:
    """Write the roles that let somebody read a cluster with `workbench live`, and nothing else.

    Example:

    \b
      workbench live rbac user:jane | kubectl apply -f -
    """
    from workbench.live.kubernetes.rbac import reader_role

    check_out(out)
    emit_objects(reader_role(subject), output, out)


def _of_sessions(recorded: Path, names: list[str]) -> list[tuple[dict[str, str], Audit]]:
    """What is found in recorded sessions, each with the session's name."""
    from workbench.evaluate.audit import audit_session
    from workbench.formats.recorded_sessions import read_sessions
    from workbench.policies import get_policy

    found: list[tuple[dict[str, str], Audit]] = []
    notes: list[str] = []
    for session in read_sessions(recorded, notes):
        where = {"session": session.name}
        chosen = []
        for name in names or [_twin_of(session)]:
            with name_from("--policies"):
                known = get_policy(name).parameters
            chosen.append(get_policy(name, **{key: value for key, value in session.settings.items() if key in known}))
        for moment in session.moments():
            scenario = moment.scenario
            told = [audit_session(scenario.gangs, scenario.snapshot, moment.nodes, policy) for policy in chosen]
            found += [(where, one) for row in zip(*told, strict=True) for one in row]
    for text in notes:
        tell(f"note: {text}")
    return found


def _of_cluster(
    paths: list[str], names: list[str], context: str | None, kubeconfig: Path | None, timeout: float, job: str
) -> tuple[list[tuple[dict[str, str], Audit]], dict[str, tuple[Said, ...]]]:
    """What is found of the gangs of a snapshot or of the cluster, each with the name of its scheduler.

    The running gangs come first. Second, by name, what the cluster says about each gang that waits. A job that is named
    is the only one of which something is found.
    """
    from workbench.cluster.observed import observed_gangs
    from workbench.cluster.state import ClusterState
    from workbench.cluster.waiting import waiting_gangs
    from workbench.evaluate.audit import audit, audit_waiting
    from workbench.formats.load import load_objects
    from workbench.policies import get_policy

    recorded = _last_moment(paths)
    if recorded is not None:
        objects = load_objects("-", stdin=recorded)
    elif paths:
        objects = load_objects(*paths, stdin=standard_input(paths))
    else:
        objects = load_objects("-", stdin=_taken(context, kubeconfig, timeout))
    with name_from("--policies"):
        chosen = [get_policy(name) for name in names or ["volcano"]]
    found = []
    with progress_bar("comparing") as step:
        state = ClusterState(objects, any_scheduler=True)
        for one in observed_gangs(state, step):
            for policy in chosen:
                told = audit([one.gang], one.snapshot, 0, one.nodes, policy, equal_places=True)
                found.append(({"scheduler": one.scheduler}, told))
        waiting = list(waiting_gangs(state))
    gangs, tried = [each.gang for each in waiting], [bool(each.said) for each in waiting]
    wanted = job_named(job, list(dict.fromkeys([told.gang.key for _, told in found] + [gang.key for gang in gangs])))
    advise = partial(session_advice, jobs=[wanted] if wanted else None, named=True)
    answers = [audit_waiting(gangs, state.snapshot, tried, policy, advise) for policy in chosen]
    for each, audits in zip(waiting, zip(*answers, strict=True), strict=True):
        found += [({"scheduler": each.scheduler}, told) for told in audits]
    if wanted:
        found = [(where, told) for where, told in found if told.gang.key == wanted]
    return found, {each.gang.key: each.said for each in waiting}


def _last_moment(paths: list[str]) -> bytes | None:
    """The objects at the end of a recording as a manifest, if that is what one path names; it is told which moment."""
    if len(paths) != 1 or not paths[0].endswith(".jsonl"):
        return None
    from workbench.live import Recording

    recording = Recording.read(paths[0])
    recording.seek(len(recording.clocks) - 1)
    tell(f"note: the last moment of the recording, {recording.clocks[-1]} UTC")
    return to_json({"apiVersion": "v1", "kind": "List", "items": recording.objects}).encode()


def _waiting_record(told: Audit, said: dict[str, tuple[Said, ...]]) -> dict[str, Any]:
    """What the row of a job that waits has beyond the others."""
    if told.observed_pods or told.gang.key not in said:
        return {}
    return {
        "reasons": [reason.to_dict() for reason in told.reasons],
        **({} if told.advice is None else {"advice": told.advice.to_dict()}),
        "cluster_says": [one.to_dict() for one in said[told.gang.key]],
    }


def _taken(context: str | None, kubeconfig: Path | None, timeout: float, anonymize: bool = False) -> bytes:
    """A snapshot of the cluster as a file; where it is read and what is missing is told on stderr."""
    from workbench.live import take_snapshot

    with progress_bar("reading") as step:
        found = take_snapshot(
            context,
            kubeconfig=kubeconfig,
            timeout_s=timeout,
            anonymize=anonymize,
            announce=announce,
            progress=step,
        )
    for gap in found.gaps:
        tell(f"note: {gap.message}")
    return found.to_json()


def _twin_of(session: RecordedSession) -> str:
    """The policy that stands for the scheduler of a session."""
    from workbench.policies import list_policies

    if all(each.name != session.twin for each in list_policies()):
        message, got = "no policy stands for the release", repr(session.release)
        raise session.record.error(message, "release", got, "--policies with the names of others")
    return session.twin
