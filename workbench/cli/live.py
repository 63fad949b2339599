"""The commands `workbench live`: read a live cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.arguments import policy_names
from workbench.cli.option_values import one_of, seconds
from workbench.cli.options import Out, TableOutput
from workbench.cli.output import check_out, emit, print_tables, progress_bar, tell, to_json
from workbench.errors import InputError

__all__ = ["live_app"]

live_app = typer.Typer(
    help="Read a live cluster; nothing is written to it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Kubeconfig = Annotated[
    Path | None, typer.Option("--kubeconfig", metavar="FILE", help="Else KUBECONFIG, or ~/.kube/config.")
]
Timeout = Annotated[float, seconds("--timeout", least=0.1, most=3600, help="For each request.")]
_TIMEOUT_S = 60.0


@live_app.callback()
def _live() -> None:
    """Read a live cluster; nothing is written to it."""


@live_app.command()
def snapshot(
    context: Annotated[
        str | None, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig; else its current one.")
    ] = None,
    kubeconfig: Kubeconfig = None,
    timeout: Timeout = _TIMEOUT_S,
    out: Out = None,
) -> None:
    """Read nodes, pods, jobs, queues and HyperNodes of a live cluster into one file.

    Every command takes the file in place of manifests. It has no Secrets and no environment, commands or mounted
    files of containers. What the user may not read is told, with the RBAC rule that would allow it.

    Examples:

    \b
      workbench live snapshot --out cluster.json
      workbench compare cluster.json --policies volcano-1.13,volcano-1.15
    """
    from workbench.live import take_snapshot

    check_out(out)
    with progress_bar("reading") as step:
        found = take_snapshot(
            context,
            kubeconfig=kubeconfig,
            timeout_s=timeout,
            announce=lambda cluster: tell(
                f"context {cluster.context}, server {cluster.server}, user {cluster.user or '-'}"
            ),
            progress=step,
        )
    for gap in found.gaps:
        tell(f"note: {gap.message}")
    emit(found.to_json().decode(), out)


@live_app.command()
def compare(
    recorded: Annotated[
        Path, typer.Option("--recorded", metavar="FILE", help="Sessions of a real scheduler, one JSON object per line.")
    ],
    policies: Annotated[
        list[str],
        typer.Option(
            "--policies", metavar="P,P,…", help="Policies, separated by commas; else the twin of the release recorded."
        ),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    output: Annotated[TableOutput, one_of(TableOutput, "-o", "--output", help="Form of the result.")] = (
        TableOutput.table
    ),
    out: Out = None,
) -> None:
    """Compare what a real scheduler did with what policies would have done at the same moment.

    A real scheduler takes one of several equal HyperNodes at random: it agrees with a policy if it placed as many pods
    and chose one of the policy's equals. Exit status 1 when something differs.

    Example:

    \b
      workbench live compare --recorded sessions.jsonl -o json
    """
    from workbench.evaluate.audit import audit
    from workbench.formats.recorded_sessions import read_sessions
    from workbench.policies import get_policy
    from workbench.report.audit_tables import audit_tables

    check_out(out, output)
    names = policy_names(policies) if policies else []
    found = []
    for session in read_sessions(recorded):
        plain = [get_policy(name) for name in names or [_twin_of(session.release)]]
        chosen = [get_policy(one.name, config=session.config) if "config" in one.parameters else one for one in plain]
        for job in session.jobs():
            for policy in chosen:
                told = audit(job.scenario.gangs, job.scenario.snapshot, job.at, job.nodes, policy)
                found.append((session.name, told))
    if output is TableOutput.json:
        emit(to_json([{"session": name, **told.to_dict()} for name, told in found]), out)
    else:
        print_tables(*audit_tables(found))
    if any(not told.agrees for _, told in found):
        raise typer.Exit(1)


@live_app.command()
def rbac(
    subject: Annotated[
        str, typer.Argument(metavar="SUBJECT", help="user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME.")
    ],
    out: Out = None,
) -> None:
    """Write the roles that let somebody read a cluster with `workbench live`, and nothing else.

    Example:

    \b
      workbench live rbac user:jane | kubectl apply -f -
    """
    from workbench.formats.write_manifests import to_yaml
    from workbench.live.kubernetes.rbac import reader_role

    check_out(out)
    emit(to_yaml(reader_role(subject)), out)


def _twin_of(release: str) -> str:
    """The policy that stands for a release of Volcano, such as ``1.15.1``."""
    from workbench.policies import list_policies

    name = f"volcano-{'.'.join(release.split('.')[:2])}"
    if all(each.name != name for each in list_policies()):
        raise InputError("no policy stands for the release", got=repr(release), expected="--policies")
    return name
