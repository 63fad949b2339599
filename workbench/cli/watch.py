"""`workbench live watch`: follow a live cluster."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import orjson
import typer

from workbench.cli.option_values import one_of, seconds
from workbench.cli.options import TIMEOUT_S, Context, Kubeconfig, TableOutput, Timeout, announce
from workbench.cli.output import DATA, emit, live_table, tell, to_yaml
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.control.views import JobRow

__all__ = ["watch"]

#: Seconds between two pictures of the cluster.
_BETWEEN_S = 0.2


def watch(
    policy: Annotated[
        str, typer.Option("--policy", metavar="NODE[+GPU]", help="Tells why jobs wait; see 'workbench policies'.")
    ] = "volcano",
    until: Annotated[
        float | None, seconds("--for", least=0, most=1e9, help="Stop after this time; else at Ctrl-C.")
    ] = None,
    recording: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Write what happens there too; the Workbench replays it."),
    ] = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    timeout: Timeout = TIMEOUT_S,
    output: Annotated[
        TableOutput,
        one_of(TableOutput, "-o", "--output", help="json: a line for each change of a job; yaml: a document."),
    ] = TableOutput.table,
) -> None:
    """Follow a live cluster: its jobs, where they run, and why they wait.

    In a terminal the table changes in place; elsewhere each change of a job is a line.

    Examples:

    \b
      workbench live watch --context production
      workbench live watch --for 60 -o json
      workbench live watch --record tuesday.jsonl
    """
    from workbench.live import LiveView, record
    from workbench.report.cluster_tables import job_table

    begun = time.monotonic()
    with (
        _opened(recording) as file,
        LiveView(context, kubeconfig=kubeconfig, policy=policy, timeout_s=timeout, announce=announce) as view,
    ):
        if file is not None:
            record(view, file)
        for gap in view.gaps.values():
            tell(f"note: {gap.message}")
        told: dict[str, JobRow] = {}
        with live_table() as show:
            try:
                while True:
                    rows = view.jobs(ask_policy=True)
                    if show is not None and output is TableOutput.table:
                        show(*job_table(rows))
                    else:
                        told = _tell_changes(told, rows, output)
                        # Into a pipe, lines would wait for more.
                        sys.stdout.flush()
                    left = 1e9 if until is None else until - (time.monotonic() - begun)
                    while not view.update(min(max(left, 0.0), 1.0)):
                        left = 1e9 if until is None else until - (time.monotonic() - begun)
                        if left <= 0:
                            return
                    # Changes come in bursts; what a person reads need not follow each.
                    time.sleep(_BETWEEN_S)
            except KeyboardInterrupt:
                return


def _opened(path: Path | None) -> AbstractContextManager[IO[bytes] | None]:
    """A new file for a recording, readable by its owner only; an existing one is not overwritten."""
    if path is None:
        return nullcontext()
    if path.suffix != ".jsonl":
        raise InputError("the Workbench would not know it", source="--record", got=path.name, expected="FILE.jsonl")
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")
    except OSError as error:
        raise InputError(str(error), source="--record", expected="a new file") from None


def _tell_changes(told: dict[str, JobRow], rows: list[JobRow], output: TableOutput) -> dict[str, JobRow]:
    """Print a line for each job that is new, gone or changed; returns the rows as now told."""
    now = {f"{row.namespace}/{row.name}": row for row in rows}
    for key in sorted(told.keys() | now.keys()):
        row = now.get(key)
        if row == told.get(key):
            continue
        if output in DATA:
            change = {"job": key, **({"gone": True} if row is None else row._asdict())}
            emit(orjson.dumps(change).decode() if output == "json" else f"---\n{to_yaml(change)}".removesuffix("\n"))
        elif row is None:
            emit(f"{key}: gone")
        else:
            counts = {name: getattr(row, name) for name in ("pending", "running", "succeeded", "failed")}
            pods = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
            where = f", in {row.hypernode} (tier {row.tier})" if row.hypernode else ""
            waits = f"; waits: {row.waits_for}" if row.waits_for else ""
            emit(f"{key}: {row.phase}{f', {pods}' if pods else ''}{where}{waits}")
    return now
