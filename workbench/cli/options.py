"""Options that several commands share, and the line that says which live cluster is asked.

The module imports nothing large, because `--help` loads it.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.option_values import OptionError, context_names, format_names, policy_names, seconds, whole
from workbench.cli.output import tell
from workbench.errors import UnknownNameError

__all__ = [
    "TIMEOUT_S",
    "AnyScheduler",
    "ArrivalKind",
    "CompareOutput",
    "Context",
    "CurveOutput",
    "DisciplineName",
    "Files",
    "From",
    "GenerateOutput",
    "GpusPerNode",
    "Job",
    "Jobs",
    "Kubeconfig",
    "LiveCompareOutput",
    "Matrices",
    "ObjectOutput",
    "Out",
    "Paths",
    "Phases",
    "PlaceOutput",
    "Policies",
    "PolicySettings",
    "Routes",
    "RunOutput",
    "SchedulerPolicy",
    "SharedSettings",
    "ShowOutput",
    "SimulationOutput",
    "Strict",
    "TableOutput",
    "TierSpeeds",
    "Timeout",
    "announce",
    "known_format",
]


class TableOutput(StrEnum):
    """Output formats (``-o``) of commands whose result is a table or data."""

    table = "table"
    json = "json"
    yaml = "yaml"


class LiveCompareOutput(StrEnum):
    """Output formats of `workbench live compare` (``-o``)."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    html = "html"


class PlaceOutput(StrEnum):
    """Output formats of `workbench place` (``-o``)."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    csv = "csv"


class ObjectOutput(StrEnum):
    """Output formats (``-o``) of commands that write Kubernetes objects."""

    yaml = "yaml"
    json = "json"


class GenerateOutput(StrEnum):
    """What `workbench topology generate` writes (``-o``)."""

    table = "table"
    json = "json"
    yaml = "yaml"
    snapshot = "snapshot"
    jobs = "jobs"
    arrivals = "arrivals"


class CompareOutput(StrEnum):
    """Output formats of `workbench compare` (``-o``)."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    csv = "csv"
    svg = "svg"
    png = "png"
    html = "html"


class CurveOutput(StrEnum):
    """Output formats (``-o``) of commands that draw curves."""

    table = "table"
    json = "json"
    yaml = "yaml"
    csv = "csv"
    svg = "svg"


class RunOutput(StrEnum):
    """Output formats of `workbench run` (``-o``)."""

    table = "table"
    json = "json"
    yaml = "yaml"
    csv = "csv"


class ArrivalKind(StrEnum):
    """Kinds of arrivals of `workbench simulate`, as `workbench.simulate.arrivals` describes them."""

    poisson = "poisson"
    diurnal = "diurnal"
    bursty = "bursty"


class SimulationOutput(StrEnum):
    """Output formats of `workbench simulate` (``-o``)."""

    table = "table"
    json = "json"
    yaml = "yaml"
    csv = "csv"
    svg = "svg"
    html = "html"


def _known_discipline(name: str) -> str:
    from workbench.simulate import get_discipline

    try:
        return get_discipline(name).name
    except UnknownNameError as error:
        raise OptionError(str(error.of("--discipline"))) from None


DisciplineName = Annotated[
    str,
    typer.Option(
        "--discipline",
        parser=_known_discipline,
        metavar="[fifo|best-effort|priority|backfill|shares|session]",
        help="Who is tried next, and who may pass whom; also the name of a discipline of another package.",
    ),
]


class Routes(StrEnum):
    """Routes of `workbench simulate`, as `workbench.evaluate.contention.RoutedFabric` describes them."""

    hashed = "hashed"
    static = "static"
    spread = "spread"


class Retry(StrEnum):
    """When `workbench simulate` tries waiting jobs: at every change, or as the scheduler that a policy follows."""

    changes = "changes"
    own = "own"


class Restarts(StrEnum):
    """How `workbench simulate` restarts a job after a fault: the whole job, or single pods (`SimulatedJob`)."""

    job = "job"
    pods = "pods"


class Phases(StrEnum):
    """Phases of `workbench simulate`, as `workbench.evaluate.contention.Network` describes them."""

    together = "together"
    interleaved = "interleaved"


class ShowOutput(StrEnum):
    """Output formats (``-o``) of commands that can draw a picture."""

    table = "table"
    json = "json"
    yaml = "yaml"
    html = "html"


TierSpeeds = Annotated[
    list[str],
    typer.Option(
        "--tier-gb-s",
        metavar="TIER=GB/S",
        help="Speed per GPU of the links above the HyperNodes of a tier, one direction. Repeatable.",
    ),
]
Files = Annotated[
    list[str],
    typer.Option(
        "-f",
        "--file",
        metavar="PATH",
        help="Another PATH. Repeatable.",
    ),
]
Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        help="Files, folders or - for stdin: Kubernetes manifests, or a fabric in another format.",
        show_default=False,
    ),
]
AnyScheduler = Annotated[
    bool,
    typer.Option("--any-scheduler", help="Also place plain pods and Volcano Jobs that name another scheduler."),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse what a cluster would refuse (see 'workbench validate'): exit status 1.")
]


def known_format(name: str) -> str:
    """The name of a format, for an option ``--from``; raises OptionError for one that is unknown."""
    from workbench.formats.fabric.registry import get_format

    try:
        return get_format(name).name
    except UnknownNameError as error:
        raise OptionError(str(error.of("--from"))) from None


From = Annotated[
    str | None,
    typer.Option(
        "--from",
        parser=known_format,
        metavar="FORMAT",
        autocompletion=format_names,
        help="Format of what is no Kubernetes manifest, instead of what its content says; see 'topology convert'.",
    ),
]
GpusPerNode = Annotated[
    int | None,
    whole(
        "--gpus-per-node",
        least=1,
        most=1024,
        metavar="N",
        help="GPUs assumed for every node that reports no resources, such as one that only a fabric file names.",
    ),
]
Job = Annotated[
    str, typer.Option("--job", metavar="NAMESPACE/NAME", help="Show this job only; all are placed, as in a session.")
]
Jobs = Annotated[
    int | None,
    whole(
        "--jobs",
        least=1,
        most=1024,
        metavar="N",
        help="Policies that run at a time, each in a process of its own; the result is the same for any number. By "
        "default as many as there are cores if the cluster is large, else one.",
    ),
]
Matrices = Annotated[
    list[str],
    typer.Option(
        "--matrix",
        metavar="PATTERN=FILE",
        help="Bandwidth matrix for the nodes whose names match the pattern (RE2). Repeatable.",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write to this file instead of stdout.")]
Policies = Annotated[
    list[str],
    typer.Option(
        "--policies",
        metavar="P,P,…",
        help="Policies, separated by commas; field: every twin; NAME@FILE: with a configuration.",
        autocompletion=policy_names,
    ),
]
SharedSettings = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Parameter, for every policy that has it; config=FILE for a volcano-scheduler.conf. Repeatable.",
    ),
]
SchedulerPolicy = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="NODE[+GPU]",
        help="Policy; see 'workbench policies'.",
        envvar="WORKBENCH_POLICY",
        autocompletion=policy_names,
    ),
]
PolicySettings = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Policy parameter; config=FILE for a volcano-scheduler.conf."),
]
#: Seconds by default.
TIMEOUT_S = 60.0
Context = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="NAME",
        help="Context of the kubeconfig; else its current one.",
        autocompletion=context_names,
    ),
]
Kubeconfig = Annotated[
    Path | None, typer.Option("--kubeconfig", metavar="FILE", help="Else KUBECONFIG, or ~/.kube/config.")
]
Timeout = Annotated[float, seconds("--timeout", least=0.1, most=3600, help="For each request.")]


def announce(cluster: Any) -> None:
    """Say on stderr which cluster is asked, where, and as whom."""
    tell(f"context {cluster.context}, server {cluster.server}, user {cluster.user or '-'}")
