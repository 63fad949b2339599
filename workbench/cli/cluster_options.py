"""Options of the commands that ask a live cluster, and the line that says which one is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.option_values import seconds
from workbench.cli.output import tell

__all__ = ["TIMEOUT_S", "Context", "Kubeconfig", "Timeout", "announce"]

#: Seconds by default.
TIMEOUT_S = 60.0

Context = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig; else its current one.")
]
Kubeconfig = Annotated[
    Path | None, typer.Option("--kubeconfig", metavar="FILE", help="Else KUBECONFIG, or ~/.kube/config.")
]
Timeout = Annotated[float, seconds("--timeout", least=0.1, most=3600, help="For each request.")]


def announce(cluster: Any) -> None:
    """Say on stderr which cluster is asked, where, and as whom."""
    tell(f"context {cluster.context}, server {cluster.server}, user {cluster.user or '-'}")
