"""Results of runs in a folder: a file per run, found by the digest of its content, and one Parquet file of all."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from workbench.errors import InputError
from workbench.evaluate.metric_table import simulation_metrics
from workbench.formats.whole_file import check_writable, write_whole
from workbench.optional import optional
from workbench.study.plan import Run, StudyPlan

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["PARQUET", "keep_result", "prepare_folder", "read_result", "read_results", "write_results"]

#: Name of the file with all results, in the folder of results.
PARQUET = "results.parquet"

_PROVENANCE = b"workbench"


def prepare_folder(folder: Path) -> None:
    """Create the folder of results if it is missing; raises InputError if it is not writable."""
    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        place = str(error.filename or folder)
        raise InputError("cannot be made", source=place, got=error.strerror, expected="a folder") from None
    if (folder / "runs").is_symlink():
        # Whoever prepared the folder would choose where the files go.
        raise InputError("a link", source=str(folder / "runs"), expected="a folder of its own")
    check_writable(folder / PARQUET)
    check_writable(_file(folder, "0"))


def keep_result(folder: Path, run: Run, summary: dict[str, float]) -> None:
    """Write the metrics of a run atomically: after a crash its file is complete or missing.

    `folder`: as `prepare_folder` made it. `summary`: numbers by their keys; NaN is kept as null.
    """
    plain = {key: None if summary[key] != summary[key] else summary[key] for key in _numbers()}
    content = orjson.dumps({"run": run.digest, "summary": plain}, option=orjson.OPT_INDENT_2)
    write_whole(_file(folder, run.digest), content + b"\n", follow=False)


def read_result(folder: Path, digest: str) -> dict[str, float | None] | None:
    """Read the metrics of the run with a digest; None if its file is missing or invalid."""
    try:
        data = orjson.loads(_file(folder, digest).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    summary = data.get("summary") if isinstance(data, dict) and data.get("run") == digest else None
    numbers = _numbers()
    if not isinstance(summary, dict) or set(summary) != set(numbers):
        return None
    whole = all(type(summary[key]) is int for key, count in numbers.items() if count)
    return summary if whole and all(type(value) in (int, float, type(None)) for value in summary.values()) else None


def write_results(study: StudyPlan, folder: Path) -> None:
    """Write the existing results of a study into one Parquet file; equal results give equal bytes."""
    with optional("study"):
        import pyarrow.parquet

    sink = io.BytesIO()
    pyarrow.parquet.write_table(_table(study, folder), sink, compression="zstd", version="2.6")
    write_whole(folder / PARQUET, sink.getvalue(), follow=False)


def read_results(study: StudyPlan, folder: Path) -> pandas.DataFrame:
    """Results of a study as `Study.results` describes them."""
    frame: pandas.DataFrame = _table(study, folder).to_pandas()
    frame.attrs["provenance"] = study.provenance()
    return frame


def _table(study: StudyPlan, folder: Path) -> pyarrow.Table:
    """The existing results of a study: a row per run, in the order of the study."""
    with optional("study"):
        import pyarrow

    rows: list[dict[str, Any]] = []
    for run in study.runs:
        summary = read_result(folder, run.digest)
        if summary is not None:
            rows.append(
                {
                    "topology": run.topology,
                    "workload": run.workload,
                    "discipline": run.discipline,
                    "policy": run.policy,
                    "parameters": study.parameters_text(run.policy),
                    "seed": run.seed,
                    "run": run.digest,
                    **summary,
                }
            )
    texts = ("topology", "workload", "discipline", "policy", "parameters")
    fields = [
        *((name, pyarrow.string()) for name in texts),
        ("seed", pyarrow.int64()),
        ("run", pyarrow.string()),
        *((name, pyarrow.int64() if count else pyarrow.float64()) for name, count in _numbers().items()),
    ]
    # Without the metadata of pandas, which would name its version.
    schema = pyarrow.schema(fields, metadata={_PROVENANCE: orjson.dumps(study.provenance())})
    return pyarrow.Table.from_pylist(rows, schema=schema)


def _numbers() -> dict[str, bool]:
    """Keys of the metrics of a simulation, and whether each is a count."""
    return {metric.key: metric.count for metric in simulation_metrics()}


def _file(folder: Path, digest: str) -> Path:
    return folder / "runs" / f"{digest}.json"
