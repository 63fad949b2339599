"""The command `workbench gpus`: choose k GPUs of one machine, or say what policies lose against the best choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.arguments import gpu_list, required_policy_names, standard_input
from workbench.cli.option_values import grouped, one_of, whole
from workbench.cli.options import Out, ShowOutput
from workbench.cli.output import DATA, check_out, emit, emit_data, print_tables, progress_bar, tell
from workbench.errors import InputError
from workbench.model.counted import counted
from workbench.model.number_text import whole_number

if TYPE_CHECKING:
    from workbench.formats.matrices.base import MatrixReading
    from workbench.model.bandwidth import BandwidthMatrix
    from workbench.model.bandwidth import Symmetric as SymmetricRule
    from workbench.model.best_gpus import BestGpus
    from workbench.model.pod_gpus import PodGpus

__all__ = ["gpus"]

#: Lines listed that could not be read; the rest is counted.
_UNREAD = 5


class Symmetric(StrEnum):
    """How the two directions of a GPU pair become one weight (``--symmetric``)."""

    min = "min"
    max = "max"
    mean = "mean"


class Objective(StrEnum):
    """What is maximised first if several pods share a machine: all GPUs together, or each pod's own
    (``--objective``).
    """

    union = "union"
    per_pod = "per-pod"


@dataclass(frozen=True)
class MatrixFile:
    """The file with the bandwidths of a machine's GPU pairs, and the options that say how it is read."""

    matrix: Annotated[str, typer.Argument(metavar="MATRIX", help="File with the bandwidths in GB/s, or - for stdin.")]
    link_speeds: Annotated[
        Path | None,
        typer.Option("--link-speeds", metavar="FILE", help="GB/s of link types, instead of datasets/link-speeds."),
    ] = None
    block: Annotated[
        str | None, typer.Option("--block", metavar="NAME", help="Which table of a printout with several.")
    ] = None

    def read(self) -> BandwidthMatrix:
        """The matrix; what of the file could not be read is told on stderr."""
        from workbench.formats.matrix import read_matrix, read_matrix_content

        reading = (
            read_matrix(self.matrix, self.link_speeds, self.block)
            if (content := standard_input([self.matrix])) is None
            else read_matrix_content(content, "-", self.link_speeds, self.block)
        )
        _tell(reading, self.matrix)
        return reading.matrix


@dataclass(frozen=True)
class GpuLimits:
    """The options that say which GPUs may be chosen."""

    free: Annotated[str | None, typer.Option("--free", metavar="0,1,…", help="GPUs that may be used.")] = None
    require: Annotated[str | None, typer.Option("--require", metavar="0,1,…", help="GPUs that must be in.")] = None
    avoid: Annotated[str | None, typer.Option("--avoid", metavar="0,1,…", help="GPUs that must not be in.")] = None
    allowed: Annotated[
        str | None,
        typer.Option("--allowed", metavar="SETS", help="The only sets that may be chosen: partitions."),
    ] = None
    modules: Annotated[
        str | None,
        typer.Option(
            "--modules", metavar="SETS", help="GPUs that are taken together; none: also where SIO joins dies."
        ),
    ] = None

    def given(self) -> dict[str, str | None]:
        """The value of each option, by its name."""
        return {
            "--free": self.free,
            "--require": self.require,
            "--avoid": self.avoid,
            "--allowed": self.allowed,
            "--modules": self.modules,
        }

    def masks(self) -> dict[str, list[int] | None]:
        """The arguments of `best_gpus` and `split_gpus` that name single GPUs."""
        return {name: gpu_list(f"--{name}", getattr(self, name)) for name in ("free", "require", "avoid")}

    def sets(self, matrix: BandwidthMatrix, source: str, k: int) -> dict[str, Any]:
        """The arguments of `best_gpus` that limit the sets, from options or from the links of the matrix.

        `source`: name of the matrix in notes. `k`: how many GPUs are chosen.
        """
        from workbench.formats.gpu_sets import read_gpu_sets
        from workbench.model.allowed_sets import modules_of_links

        limits: dict[str, Any] = {}
        for option, text in (("allowed", self.allowed), ("modules", self.modules)):
            if text is not None and (option, text) != ("modules", "none"):
                limits[option], notes = read_gpu_sets(text, f"--{option}", matrix.labels)
                for note in notes:
                    tell(f"note: --{option}: {note}")
        if self.modules is None and self.allowed is None and (pairs := modules_of_links(matrix)):
            if k > 1:
                taken = f"SIO joins {len(pairs)} pairs of dies, taken together (--modules none: one by one)"
                tell(f"note: {source}: {taken}")
            limits["modules"] = pairs
        return limits


@grouped
def gpus(
    *,
    source: MatrixFile,
    k: Annotated[int | None, whole("-k", metavar="K", help="How many GPUs.")] = None,
    pods: Annotated[
        str | None, typer.Option("--pods", metavar="4,4", help="GPUs of each of several pods, instead of -k.")
    ] = None,
    objective: Annotated[
        Objective,
        one_of(Objective, "--objective", help="Of several pods: all GPUs together first, or each pod by itself."),
    ] = Objective.union,
    within: GpuLimits,
    symmetric: Annotated[
        Symmetric, one_of(Symmetric, "--symmetric", help="How the two directions of a pair become one weight.")
    ] = Symmetric.min,
    link_classes: Annotated[
        bool, typer.Option("--link-classes", help="Maximise the link class first, the measured value second.")
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="List every tie instead of the first 100.")] = False,
    regret: Annotated[
        bool, typer.Option("--regret", help="What GPU policies lose against the best set, over all free-GPU states.")
    ] = False,
    policies: Annotated[
        str | None, typer.Option("--policies", metavar="P,P,…", help="GPU policies for --regret.")
    ] = None,
    output: Annotated[
        ShowOutput, one_of(ShowOutput, "-o", "--output", help="Form of the result; html with --regret.")
    ] = ShowOutput.table,
    out: Out = None,
) -> None:
    """Choose the K GPUs whose slowest link is fastest.

    The search is exact. With --pods, choose GPUs for several pods and divide them among the pods.

    The matrix may be a printout of p2pBandwidthLatencyTest, nvidia-smi topo, nvbandwidth, amd-smi, rocm-smi,
    npu-smi, TransferBench, hwloc or NCCL, a plain table, CSV, JSON, .npy, or a Koordinator Device; its content decides.
    Suspicious links are listed with the result, and lines that could not be read on stderr. Exit status 1 when fewer
    than K GPUs are free, or no allowed set of K is.

    With --regret, instead, each policy's bottleneck is compared with the best one, for every set of free GPUs (above
    10 GPUs, for 200 random ones) and every number of GPUs, or K.

    Examples:

    \b
      workbench gpus datasets/koordinator-matrices/matrix-a.txt -k 4
      workbench gpus datasets/koordinator-matrices/matrix-a.txt -k 2 --free 0,3,4-7 --avoid 5 -o json
      workbench gpus datasets/koordinator-matrices/matrix-a.txt --pods 2,2 --objective per-pod
      workbench gpus datasets/koordinator-matrices/matrix-a.txt --regret --policies gpu-best-effort,gpu-mapa -o html
      workbench gpus datasets/machine-with-nics/topo.txt -k 4 --allowed "0-3;4-7"
      nvidia-smi topo -m | workbench gpus - -k 4 --link-speeds datasets/link-speeds/link-speeds.csv
    """
    from workbench.model.best_gpus import best_gpus
    from workbench.model.pod_gpus import split_gpus

    check_out(out)
    ties = {"--link-classes": link_classes, "--all": all_}
    if regret:
        _refuse_options({"--pods": pods, **within.given(), **ties})
    elif policies is not None or output is ShowOutput.html:
        raise InputError("only with --regret", source="--policies" if policies else "-o html")
    of_one_set = {**ties, "--allowed": within.allowed, "--modules": within.modules}
    sizes = [] if regret else _sizes(k, pods, [name for name, value in of_one_set.items() if value])
    matrix = source.read()
    if regret:
        _show_regret(matrix, k, symmetric.value, policies, output, out)
        return
    asked: dict[str, Any] = {**within.masks(), "symmetric": symmetric.value}
    found: BestGpus | PodGpus
    try:
        if k is not None:
            limits = within.sets(matrix, source.matrix, k)
            found = best_gpus(matrix, k, link_classes=link_classes, all_ties=all_, **asked, **limits)
        else:
            found = split_gpus(matrix, sizes, objective=objective.value, **asked)
    except InputError as error:
        # The functions name their arguments, the user knows options.
        options = (*asked, "allowed", "modules")
        raise (error.of(f"--{error.source}") if error.source in options else error) from None
    _show(found, sizes, output, out)


def _show(found: BestGpus | PodGpus, sizes: Sequence[int], output: ShowOutput, out: Path | None) -> None:
    """Write the GPUs that were chosen; exit status 1 where none were."""
    from workbench.model.best_gpus import BestGpus

    if output in DATA:
        emit_data(found.to_dict(), output, out)
    elif found.gpus:
        from workbench.report.command_tables import best_gpus_tables, pod_gpus_tables

        print_tables(*(best_gpus_tables(found) if isinstance(found, BestGpus) else pod_gpus_tables(found)), out=out)
    if isinstance(found, BestGpus) and found.why_none:
        tell(f"workbench: {found.why_none}")
        raise typer.Exit(1)
    if not found.gpus:
        tell(f"workbench: {counted(sum(sizes), 'GPU')} asked for, {found.n_free} of {len(found.matrix)} are free")
        raise typer.Exit(1)


def _sizes(k: int | None, pods: str | None, of_one_set: Sequence[str]) -> list[int]:
    """Number of GPUs of each pod; ``-k`` means one pod. `of_one_set`: options given that go with ``-k`` only."""
    if k is not None and pods is None:
        return [k]
    if pods is None or k is not None:
        got = "both" if pods else "neither"
        expected = "-k K, or --pods 4,4; or --regret"
        raise InputError("one of the two is needed", source="-k, --pods", got=got, expected=expected)
    if of_one_set:
        raise InputError("not for several pods", source="--pods", got=" ".join(of_one_set), expected="-k")
    sizes = [whole_number(part.strip()) for part in pods.split(",")]
    if not all(sizes):
        raise InputError(
            "not sizes of pods", source="--pods", got=repr(pods), expected="whole numbers from 1, such as 4,4,2"
        )
    return [size for size in sizes if size]


def _tell(reading: MatrixReading, source: str) -> None:
    """Write notices about a bandwidth matrix file to stderr: ignored parts, and lines that could not be read."""
    for note in reading.notes:
        tell(f"note: {source}: {note}")
    for number, line in reading.unread[:_UNREAD]:
        tell(f"note: {source}: line {number} could not be read: {line[:60]!r}")
    if len(reading.unread) > _UNREAD:
        tell(f"note: {source}: {counted(len(reading.unread) - _UNREAD, 'more line')} could not be read")


def _refuse_options(options: Mapping[str, object]) -> None:
    """Raise InputError if an option that applies only to choosing one set of GPUs was given beside ``--regret``."""
    for name, value in options.items():
        if value:
            raise InputError("not with --regret, which is about every state", source=name)


def _show_regret(
    matrix: BandwidthMatrix,
    k: int | None,
    symmetric: SymmetricRule,
    policies: str | None,
    output: ShowOutput,
    out: Path | None,
) -> None:
    """Compute the regret of GPU policies (bandwidth lost against the best choice) on one machine and write it.

    `k`: None, all numbers of GPUs. `policies`: names separated by commas; None, the usual policies.
    """
    from workbench.evaluate.regret import DEFAULT_POLICIES, regret

    names = DEFAULT_POLICIES if policies is None else required_policy_names([policies])
    if k is not None and not 1 <= k <= len(matrix):
        raise InputError(
            "k does not fit the machine", source=matrix.source, got=f"k={k}", expected=f"1 to {len(matrix)} GPUs"
        )
    with progress_bar("asking") as step:
        found = regret(matrix, names, sizes=None if k is None else [k], symmetric=symmetric, progress=step)
    if output in DATA:
        emit_data(found.to_dict(), output, out)
    elif output is ShowOutput.html:
        from workbench.report.regret_view import regret_page

        emit(regret_page(found), out)
    else:
        from workbench.report.regret_view import regret_tables

        print_tables(*regret_tables(found), out=out)
