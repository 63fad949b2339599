"""The commands `workbench study`: sweeps of simulations, run on Dask and compared in pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.arguments import tell_notes
from workbench.cli.option_values import grouped, one_of, whole
from workbench.cli.options import Out, SimulationOutput
from workbench.cli.output import DATA, check_out, emit, emit_data, print_tables, progress_bar, tell
from workbench.errors import InputError
from workbench.model.counted import counted

if TYPE_CHECKING:
    from workbench.study import Study

__all__ = ["study_app"]

study_app = typer.Typer(
    help="Simulate policies on topologies and workloads with several seeds, and compare them in pairs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_MOST_WORKERS = 1024

File = Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study: see docs/studies.md.")]


@dataclass(frozen=True)
class ShownResults:
    """The options that say where the results of a study are, which numbers are compared, and in what form."""

    results: Annotated[
        Path | None,
        typer.Option(
            "--results", metavar="FOLDER", help="Folder of results; by default STUDY-results beside the study."
        ),
    ] = None
    metrics: Annotated[
        list[str],
        typer.Option("--metric", metavar="KEY", help="Number to compare, such as waited_p99_s. Repeatable."),
    ] = field(default_factory=list)
    pool: Annotated[
        bool, typer.Option("--pool", help="Compare over all topologies and workloads together, one value per seed.")
    ] = False
    output: Annotated[SimulationOutput, one_of(SimulationOutput, "-o", "--output", help="Form of the result.")] = (
        SimulationOutput.table
    )
    out: Out = None

    def checked(self) -> list[str]:
        """Keys of the numbers that the user named, each once; empty if none was named.

        Raises before anything runs if a key is unknown or the result cannot be written in this form.
        """
        from workbench.study.statistics import outcome

        check_out(self.out)
        return [outcome(key).key for key in dict.fromkeys(self.metrics)]

    def open(self, file: Path) -> tuple[Study, Path]:
        """The study of a file, and the folder of its results."""
        from workbench.study import Study

        return Study.read(file), self.results or file.with_name(f"{file.stem}-results")

    def show(self, study: Study, results: Any, chosen: list[str]) -> None:
        """Print or write the results of a study, and how the policies differ.

        `study`, `results`: the study, and its runs as `Study.results` returns them. `chosen`: keys of the numbers that
        are compared; empty: those that usually count.
        """
        from workbench.report.study_views import StudyView, draw_differences, study_page, study_tables
        from workbench.study.statistics import compare_in_pairs, outcome, outcomes_of

        shown = {one.key: one for one in (map(outcome, chosen) if chosen else outcomes_of(results))}
        # JSON and CSV always have every number.
        everything = self.output in (*DATA, SimulationOutput.csv)
        keys = None if everything else list(shown)
        differences = compare_in_pairs(results, study.compared_with, keys, pooled=self.pool)
        missing = len(study.runs) - len(results)
        view = StudyView(study.name, study.compared_with, results, differences, shown, missing, study.provenance())
        for line in view.never_ran:
            tell(f"note: {line}")
        match self.output:
            case SimulationOutput.json | SimulationOutput.yaml:
                emit_data(view.to_dict(), self.output, self.out)
            case SimulationOutput.csv:
                from workbench.report.csv_text import csv_text

                emit(csv_text(differences), self.out)
            case SimulationOutput.svg:
                emit(draw_differences(view, next(iter(shown))), self.out)
            case SimulationOutput.html:
                emit(study_page(view), self.out)
            case _:
                print_tables(*study_tables(view), out=self.out)


@study_app.callback()
def _study() -> None:
    """Simulate policies on topologies and workloads with several seeds, and compare them in pairs."""


@study_app.command(short_help="Do the missing runs, then show the results")
@grouped
def run(
    file: File,
    shown: ShownResults,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Dask scheduler, such as tcp://10.0.0.1:8786."),
    ] = None,
    workers: Annotated[
        int | None,
        whole(
            "--workers",
            least=1,
            most=_MOST_WORKERS,
            metavar="N",
            help="Worker processes on this machine, at most one per run; by default one per core.",
        ),
    ] = None,
) -> None:
    """Do the runs of a study that have no result yet, then show the results.

    Each run is kept as soon as it is done: after an interruption the same command goes on. All results together are in
    results.parquet. Exit status 1 when a job had not started by the end of some run (`until_s` counts as the end).

    Examples:

    \b
      workbench study run datasets/study/study.yaml --results out
      workbench study run study.yaml --scheduler tcp://10.0.0.1:8786
      workbench study run datasets/study/study.yaml --workers 2 -o html --out page.html
    """
    from workbench.evaluate.simulation_metrics import NEVER_PLACED
    from workbench.study.cluster import check_connection

    if workers is not None and scheduler is not None:
        expected = "one of them: a scheduler has workers of its own"
        raise InputError("not beside a scheduler", source="--workers", got="--scheduler beside it", expected=expected)
    try:
        check_connection(scheduler, workers)
    except InputError as error:
        raise error.of("--workers" if workers is not None else "--scheduler") from None
    chosen = shown.checked()
    study, folder = shown.open(file)
    for snapshot in study.topologies.values():
        tell_notes(snapshot.gaps)
    for workload in study.workloads.values():
        tell_notes(workload.log.notes)
    with progress_bar("running") as step:
        found = study.run(folder, scheduler, workers=workers, progress=step)
    tell(f"{counted(len(found), 'run')}; all results: {folder / 'results.parquet'}")
    shown.show(study, found, chosen)
    if found[NEVER_PLACED].any():
        raise typer.Exit(1)


@study_app.command(short_help="Show the results: means and differences")
@grouped
def show(
    file: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study that was run.")],
    shown: ShownResults,
) -> None:
    """Show the results of a study: means, and differences to the baseline with intervals and a sign test.

    Exit status 1 when runs are not done yet; they are left out.

    Examples:

    \b
      workbench study run datasets/study/study.yaml --results out
      workbench study show datasets/study/study.yaml --results out --metric waited_p99_s --metric gpu_use
      workbench study show datasets/study/study.yaml --results out -o html --out page.html
    """
    chosen = shown.checked()
    study, folder = shown.open(file)
    found = study.results(folder)
    if not len(found):
        expected = f"workbench study run {file}"
        raise InputError("no results of this study", source=str(folder), got="none of its runs", expected=expected)
    shown.show(study, found, chosen)
    if len(found) < len(study.runs):
        tell(f"{len(study.runs) - len(found)} of {counted(len(study.runs), 'run')} not done yet")
        raise typer.Exit(1)
