"""`workbench run`: live through what a cluster makes of manifests."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.advice import session_advice
from workbench.cli.arguments import given_paths, job_named, policy_with, reviewed, standard_input, tell_findings
from workbench.cli.option_values import grouped, one_of, seconds
from workbench.cli.options import Files, Out, Paths, PolicySettings, RunOutput, SchedulerPolicy, Strict
from workbench.cli.output import check_out, emit, live_table, print_tables, tell, to_json
from workbench.errors import InputError, UnknownNameError
from workbench.model.counted import name_list
from workbench.model.number_text import instant_text

if TYPE_CHECKING:
    from workbench.cancel import Token
    from workbench.control.cluster import EmbeddedCluster
    from workbench.evaluate.whatif.fix import FixReport
    from workbench.policies import Policy

__all__ = ["run"]

_LONGEST = 1e9

#: Seconds between two pictures of a table that moves.
_BETWEEN = 0.1


@dataclass(frozen=True)
class ClusterFaults:
    """The options that let something fail at a given time."""

    fail: Annotated[
        list[str],
        typer.Option("--fail", metavar="POD@SECONDS", help="Let a running pod fail for good at this time. Repeatable."),
    ] = field(default_factory=list)
    lose: Annotated[
        list[str],
        typer.Option(
            "--lose", metavar="PLACE@SECONDS", help="Delete a node, or all of a HyperNode, at this time. Repeatable."
        ),
    ] = field(default_factory=list)
    fail_node: Annotated[
        list[str],
        typer.Option(
            "--fail-node",
            metavar="PLACE@SECONDS",
            help="Let a node, or all of a HyperNode, fail: not ready any more, its pods gone. Repeatable.",
        ),
    ] = field(default_factory=list)
    not_ready: Annotated[
        list[str],
        typer.Option(
            "--not-ready",
            metavar="PLACE@SECONDS",
            help="From this time a node, or all of a HyperNode, takes no new pods; those there go on. Repeatable.",
        ),
    ] = field(default_factory=list)
    fail_npu: Annotated[
        list[str],
        typer.Option(
            "--fail-npu",
            "--fail-gpu",
            metavar="PLACE:N@SECONDS",
            help="Let NPU or GPU N of a node, or of each node of a HyperNode, fail, and the pods on it. Repeatable.",
        ),
    ] = field(default_factory=list)

    def events(self) -> list[tuple[float, str, str]]:
        """Time, option and name of each, in the order of time."""
        given = {
            "--fail": self.fail,
            "--fail-node": self.fail_node,
            "--fail-npu": self.fail_npu,
            "--lose": self.lose,
            "--not-ready": self.not_ready,
        }
        return sorted(event for option, texts in given.items() for event in _events(option, texts))


@dataclass(frozen=True)
class PodTimes:
    """The options that say when the cluster stops, and how long its pods take to start and run."""

    until: Annotated[
        float | None,
        seconds("--until", least=0, most=_LONGEST, help="Stop at this time; by default when nothing is left to do."),
    ] = None
    run_seconds: Annotated[
        float | None,
        seconds(
            "--run-seconds",
            least=0,
            most=_LONGEST,
            help="How long pods run; by default as in the store, or else until they are deleted.",
        ),
    ] = None
    start_seconds: Annotated[
        float, seconds("--start-seconds", least=0, most=_LONGEST, help="How long pods take to start.")
    ] = 0.0

    @property
    def of_pods(self) -> dict[str, Any]:
        """The arguments of `EmbeddedCluster` that say how long pods take."""
        return {"start_seconds": self.start_seconds, "run_seconds": self.run_seconds}


@grouped
def run(
    *,
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    policy: SchedulerPolicy = "volcano",
    set_: PolicySettings = [],  # noqa: B006
    times: PodTimes,
    faults: ClusterFaults,
    strict: Strict = False,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="Go on with the cluster in this file, and leave it there again."),
    ] = None,
    job: Annotated[
        str,
        typer.Option(
            "--job", metavar="NAMESPACE/NAME", help="The only job to say what would help it; else each that waits."
        ),
    ] = "",
    output: Annotated[
        RunOutput,
        one_of(
            RunOutput,
            "-o",
            "--output",
            help="Form of the result; yaml: every object as stored, pods with the variables of their GPUs.",
        ),
    ] = RunOutput.table,
    out: Out = None,
) -> None:
    """Submit manifests to an embedded cluster and let it run, in virtual time.

    Jobs become pods, a scheduler of any policy binds them, kubelets run them. The annotations
    topology-workbench/run-seconds, …/start-seconds and …/exit-code of a pod tell how it behaves. Ctrl-C stops before
    the event at hand; with --store a later call goes on from there. Exit status 1 when a job waits or has failed.

    Examples:

    \b
      workbench run datasets/demo --run-seconds 60
      workbench run datasets/demo --policy volcano-1.13 --until 30 -o json
      workbench run datasets/demo --run-seconds 60 --fail nccl-pair-worker-0@10
      workbench run datasets/demo --run-seconds 60 --fail-node s0@10 --fail-npu node2:3@20
      workbench run datasets/demo --until 60 --store cluster.json
    """
    from workbench.control.cluster import EmbeddedCluster
    from workbench.formats.file_bytes import read_bytes

    check_out(out)
    check_out(store)
    if output is RunOutput.csv:
        raise InputError("no table of everything", source="-o", got="csv", expected="table, json or yaml")
    resumes = store is not None and store.exists()
    if store is not None and not resumes and not paths and not file:
        raise InputError("no such file", source=str(store), expected="a store to go on from, or PATH… to begin with")
    inputs = [] if resumes and not paths and not file else given_paths(paths, file)
    events = faults.events()
    scheduler = policy_with(policy, set_)
    cluster = EmbeddedCluster(scheduler, **times.of_pods)
    known = None
    if resumes and store is not None:
        known = read_bytes(store)
        cluster.resume(store)
    if inputs:
        _submit(cluster, inputs, strict=strict)
    stopped = _lived(cluster, events, times.until)
    if store is not None:
        cluster.save(store, known=known)
    wanted = job_named(job, [f"{row.namespace}/{row.name}" for row in cluster.jobs()])  # a wrong one costs no run
    if stopped:
        left = f"; {store} goes on from here" if store is not None else ""
        tell(f"stopped at {instant_text(cluster.now)} s{left}")
    # Who stops the run does not wait for remedies to be tried.
    silent = stopped or output is RunOutput.yaml
    _tell_result(cluster, {} if silent else _advice(cluster, scheduler, wanted), output, out)
    unfinished = ("Pending", "Inqueue", "Failed", "Unknown", "Restarting")
    if stopped:
        raise typer.Exit(130)
    if any(row.phase in unfinished or row.waits_for for row in cluster.jobs()):
        raise typer.Exit(1)


def _lived(cluster: EmbeddedCluster, events: Sequence[tuple[float, str, str]], until: float | None) -> bool:
    """Let the cluster live until a time; returns whether Ctrl-C stopped it before."""
    from workbench.cancel import Cancelled, Token

    token = Token()
    with _stopping(token), live_table() as show:
        _tell_warnings(cluster)
        try:
            with token.watched():
                _live(cluster, events, until, show)
        except Cancelled:
            return True
    return False


def _submit(cluster: EmbeddedCluster, paths: Sequence[str], *, strict: bool) -> None:
    """Submit the manifests of files, and write to stderr what a cluster would refuse of them as they are written."""
    from workbench.formats.manifests import read_manifests

    stdin = standard_input(paths)
    documents = read_manifests(paths, stdin).documents
    reviewer, findings = reviewed(documents, stdin, strict=strict)
    try:
        cluster.submit_documents(documents)
    except InputError as error:
        refused = next((one for one in documents if (one.source, one.where) == (error.source, error.where)), None)
        raise (error if refused is None else reviewer.error(refused, error, stdin)) from None
    tell_findings(findings)


def _events(option: str, texts: Sequence[str]) -> Iterator[tuple[float, str, str]]:
    for text in texts:
        name, at, when = text.rpartition("@")
        try:
            moment = float(when.removesuffix("s"))
        except ValueError:
            moment = -1.0
        numbered = re.fullmatch(r".+:[0-9]{1,4}", name) if option == "--fail-npu" else name
        if not numbered or not at or not 0 <= moment <= _LONGEST:
            expected = "NAME:NUMBER@SECONDS" if option == "--fail-npu" else "NAME@SECONDS"
            raise InputError("no name and time", source=option, got=repr(text), expected=expected)
        yield moment, option, name


def _live(cluster: EmbeddedCluster, events: Sequence[tuple[float, str, str]], until: float | None, show: Any) -> None:
    """Let time pass, with what is to happen at given times in between."""
    from workbench.report.cluster_tables import job_table, summary

    shown = 0.0

    def advance(to: float | None) -> None:
        nonlocal shown
        going = True
        while going:
            going = cluster.advance(to)
            if show is not None and time.monotonic() - shown > _BETWEEN:
                shown = time.monotonic()
                jobs = cluster.jobs()
                show(summary(cluster.now, jobs), job_table(jobs, rows=15)[0])

    for moment, together in groupby(events, key=lambda event: event[0]):
        if (until is not None and moment > until) or moment < cluster.now:
            for _, option, name in together:
                span = f"{instant_text(cluster.now)} s{_up_to(until)}"
                tell(f"note: {option} {name}@{moment:.15g} is left out: the cluster runs from {span}")
            continue
        advance(moment)
        cluster.settle()
        # Faults of one moment are one change: controllers and the scheduler see the cluster after all of them.
        for _, option, name in together:
            try:
                _happen(cluster, option, name)
            except UnknownNameError as error:
                raise error.of(option) from None
            except InputError as error:
                raise error.at(source=f"{option} {name}") from None
    advance(until)
    cluster.settle()


def _up_to(until: float | None) -> str:
    return "" if until is None else f" to {instant_text(until)} s"


def _happen(cluster: EmbeddedCluster, option: str, name: str) -> None:
    if option == "--lose":
        cluster.lose(name)
    elif option == "--fail-node":
        cluster.fail_node(name)
    elif option == "--not-ready":
        cluster.not_ready(name)
    elif option == "--fail-npu":
        place, _, number = name.rpartition(":")
        cluster.fail_gpu(place, int(number))
    else:
        namespace, _, pod = name.rpartition("/")
        cluster.fail(pod, namespace or "default")


@contextmanager
def _stopping(token: Token) -> Iterator[None]:
    """While this lasts, Ctrl-C cancels the token, so that the cluster stops between two steps."""
    try:
        before = signal.signal(signal.SIGINT, lambda number, frame: token.cancel())
    except ValueError:  # another thread than the main one: nobody presses keys there
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _tell_warnings(cluster: EmbeddedCluster) -> None:
    """Write what admission warned about, one line for each text with the objects that it concerns."""
    objects: dict[str, list[str]] = {}
    for key, notice in cluster.warnings:
        objects.setdefault(notice.message, []).append(str(key))
    for text, keys in objects.items():
        tell(f"{name_list(keys)}: {text}")


def _tell_result(
    cluster: EmbeddedCluster, advice: Mapping[str, FixReport], output: RunOutput, out: Path | None
) -> None:
    from workbench.report import cluster_tables as tables

    if output is RunOutput.yaml:
        from workbench.control.visible_devices import with_node_agent_variables
        from workbench.formats.write_manifests import to_yaml as manifests_to_yaml

        emit(manifests_to_yaml([with_node_agent_variables(one) for one in cluster.store.contents()]), out)
        return
    jobs, pods = cluster.jobs(), cluster.pods()
    if output is RunOutput.json:
        emit(to_json(_record(cluster, advice)), out)
        return
    headlines = {key: found.headline for key, found in advice.items()}
    listed = tables.job_table(jobs, headlines=headlines)
    found = [tables.summary(cluster.now, jobs), *listed, *tables.pod_table(pods), *tables.log_table(cluster.log)]
    print_tables(*found, out=out)


def _advice(cluster: EmbeddedCluster, policy: Policy, wanted: str) -> dict[str, FixReport]:
    """Why jobs wait at the end of the run and what would help, by the name in the table of jobs.

    `wanted`: the name of the only job in question, or empty.
    """
    from workbench.control.waiting import waiting_session

    rows = {f"{row.namespace}/{row.name}" for row in cluster.jobs() if row.waits_for}
    session = waiting_session(cluster)
    waiting = {row: job for row, job in session.jobs.items() if row in rows and wanted in ("", row)}
    decisions = policy.schedule(session.gangs, session.snapshot)
    found = session_advice(policy, decisions, session.snapshot, jobs=set(waiting.values()))
    return {row: found[job] for row, job in waiting.items() if job in found}


def _record(cluster: EmbeddedCluster, advice: Mapping[str, FixReport]) -> dict[str, Any]:
    rows = [(row, advice.get(f"{row.namespace}/{row.name}")) for row in cluster.jobs()]
    return {
        "now": cluster.now,
        "jobs": [row._asdict() | ({"advice": found.to_dict()} if found is not None else {}) for row, found in rows],
        "pods": [row._asdict() for row in cluster.pods()],
        "events": [{**line._asdict(), "key": str(line.key)} for line in cluster.log],
        "warnings": [{"object": str(key), **notice.to_dict()} for key, notice in cluster.warnings],
    }
