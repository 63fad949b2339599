"""The commands `workbench live`: read a live cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.option_values import seconds
from workbench.cli.options import Out
from workbench.cli.output import check_out, emit, progress_bar, tell

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
