"""The command `workbench calibrate`: fit a calibration to measured collectives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import Out
from workbench.cli.output import check_out, emit, tell, to_json
from workbench.model.counted import counted

__all__ = ["calibrate"]


def calibrate(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder with collectives.csv or printouts of nccl-tests; or one of them."
        ),
    ],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the calibration.")] = "collectives",
    out: Out = None,
) -> None:
    """Fit latency, bandwidth and efficiency of every measured block of collectives, as JSON for `workbench cost`.

    Examples:

    \b
      workbench calibrate measurements --out calibration.json
      workbench calibrate all_reduce_perf.txt --name our-cluster --out calibration.json
      workbench cost cluster.yaml job.yaml --calibration calibration.json ...
    """
    from workbench.evaluate.cost.fit import fit_calibration
    from workbench.formats.collectives import default_systems, read_measurement_files

    check_out(out)
    measurements, overruled, notes = read_measurement_files(folder)
    for file, note in notes:
        tell(f"note: {file}: {note}")
    if overruled:
        tell(f"left out: {counted(overruled, 'row')} measured with an algorithm switched off")
    emit(to_json(fit_calibration(measurements, default_systems(), name).to_record()), out)
