"""`plot_value`: results on the axes of matplotlib, for the papers and notebooks of researchers.

The SVG drawings of this package are for reports and widgets. Here every function draws on the axes that it is given, by
their methods alone; matplotlib is imported only to make axes where none are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.compare import Comparison
from workbench.evaluate.metric import Metric
from workbench.model.bandwidth import BandwidthMatrix
from workbench.optional import optional
from workbench.simulate.result import SimulationResult

if TYPE_CHECKING:
    import pandas

__all__ = ["plot_runs", "plot_value"]

Draw = Callable[..., None]

#: Jobs of a chart that are named beside their rows; of more, rows have numbers.
_NAMED = 40


def plot_value(value: Any, ax: Any = None, kind: str | None = None, **options: Any) -> Any:
    """Draw a value on axes of matplotlib; this is ``value.plot(…)``.

    Raises MissingExtraError: matplotlib is not installed, and no axes were given; UnknownNameError: no such kind,
    option or metric.

    Parameters
    ----------
    ax : matplotlib.axes.Axes, optional
        None: new axes.
    kind : str, optional
        Comparison: ``bar`` (a metric of the session by policy), ``jobs`` (a metric of each job by policy).
        SimulationResult: ``usage`` (GPUs in use over time), ``waiting`` (jobs that wait over time), ``gantt`` (the runs
        of every job), ``waits`` (share of the jobs that waited at most so long). BandwidthMatrix: ``heatmap``. None:
        the first of them.
    **options
        ``metric`` of a comparison: the key of a metric; by default pairs of pods by tier, or the tier of the job.
    """
    return _drawn(_KINDS[type(value)], type(value).__name__, value, ax, kind, options)


def plot_runs(
    results: pandas.DataFrame,
    differences: Callable[[], pandas.DataFrame],
    ax: Any = None,
    kind: str | None = None,
    **options: Any,
) -> Any:
    """Draw the results of a study on axes of matplotlib; this is ``study.plot(results, …)``.

    Parameters
    ----------
    results : pandas.DataFrame
        As `workbench.Study.results` returns it.
    differences : callable
        Returns the comparison with the baseline, as `workbench.Study.compare` does.
    ax, kind, **options
        As of `plot_value`; kinds are ``box`` (a metric by policy, a value per run) and ``differences`` (from the
        baseline, with intervals). `metric` is by default the mean waiting time.
    """
    return _drawn({"box": _boxes, "differences": _differences}, "Study", (results, differences), ax, kind, options)


def _drawn(
    kinds: Mapping[str, Draw], of: str, value: Any, ax: Any, kind: str | None, options: Mapping[str, Any]
) -> Any:
    chosen = next(iter(kinds)) if kind is None else kind
    if chosen not in kinds:
        raise UnknownNameError(f"kind of {of}.plot", str(kind), kinds)
    known = list(signature(kinds[chosen]).parameters)[2:]
    for name in options:
        if name not in known:
            raise UnknownNameError(f"option of {of}.plot(kind={chosen!r})", name, known)
    axes = _new_axes() if ax is None else ax
    kinds[chosen](value, axes, **options)
    return axes


def _new_axes() -> Any:
    with optional("plot"):
        from matplotlib import pyplot
    return pyplot.subplots()[1]


def _metric(key: str, metrics: Sequence[Metric]) -> Metric:
    for metric in metrics:
        if metric.key == key:
            return metric
    raise UnknownNameError("metric", key, [metric.key for metric in metrics])


def _titled(metric: Metric) -> str:
    return f"{metric.heading} ({metric.unit})" if metric.unit else metric.heading


def _bars(comparison: Comparison, ax: Any, metric: str = "pod_pairs") -> None:
    rows = {policy: row for policy, row in comparison.items() if row.metrics is not None}
    shown = _metric(metric, comparison.metrics)
    values = {policy: row.metrics.values.get(metric) for policy, row in rows.items() if row.metrics is not None}
    if any(isinstance(value, Mapping) for value in values.values()):
        keys = dict.fromkeys(key for value in values.values() if isinstance(value, Mapping) for key in value)
        bottom = np.zeros(len(values))
        for key in keys:
            part = np.array([float(value.get(key) or 0) if value else 0.0 for value in values.values()])  # type: ignore[union-attr]
            ax.bar(list(values), part, bottom=bottom, label=f"{shown.by} {key}".strip())
            bottom = bottom + part
        ax.legend()
    else:
        ax.bar(list(values), [_number(value) for value in values.values()])
    ax.set_ylabel(_titled(shown))
    ax.tick_params(axis="x", rotation=30)


def _bars_of_jobs(comparison: Comparison, ax: Any, metric: str = "lca_tier") -> None:
    shown = _metric(metric, comparison.job_metrics)
    if shown.by:
        raise InputError("not one number", source="metric", got=metric, expected="a metric that is no mapping")
    rows = [row for row in comparison.rows if row.metrics is not None]
    places, width = np.arange(len(comparison.gangs)), 0.8 / max(len(rows), 1)
    for i, row in enumerate(rows):
        jobs = row.metrics.jobs if row.metrics is not None else {}
        heights = [
            _number(jobs[gang.key].values.get(metric)) if gang.key in jobs else np.nan for gang in comparison.gangs
        ]
        ax.bar(places + (i - (len(rows) - 1) / 2) * width, heights, width, label=row.policy)
    ax.set_xticks(places, [gang.name for gang in comparison.gangs], rotation=30)
    ax.set_ylabel(_titled(shown))
    ax.legend()


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)


def _hours(seconds: Any) -> Any:
    return np.asarray(seconds, dtype=np.float64) / 3600


def _steps(result: SimulationResult, ax: Any, column: str, upwards: str) -> None:
    frame = result.usage_frame()
    times = np.append(frame["time_s"], max(result.end_s, float(frame["time_s"].iloc[-1])))
    ax.step(_hours(times), np.append(frame[column], frame[column].iloc[-1]), where="post", label=result.policy)
    ax.set_xlabel("time (h)")
    ax.set_ylabel(upwards)


def _usage(result: SimulationResult, ax: Any) -> None:
    _steps(result, ax, "gpus", "GPUs in use")
    ax.set_ylim(0, max(result.n_gpus, 1))


def _waiting(result: SimulationResult, ax: Any) -> None:
    _steps(result, ax, "waiting", "jobs that wait")


def _gantt(result: SimulationResult, ax: Any) -> None:
    for outcome in dict.fromkeys(attempt.outcome for attempt in result.attempts):
        some = [attempt for attempt in result.attempts if attempt.outcome == outcome]
        start = _hours([attempt.start_s for attempt in some])
        lasted = _hours([attempt.end_s - attempt.start_s for attempt in some])
        ax.barh([attempt.job for attempt in some], lasted, left=start, label=outcome)
    names = result.to_dataframe()["job"].tolist()
    if len(names) <= _NAMED:
        ax.set_yticks(np.arange(len(names)), names)
    ax.set_xlabel("time (h)")
    ax.set_ylabel("job")
    if result.attempts:
        ax.legend()


def _waits(result: SimulationResult, ax: Any) -> None:
    waited = np.sort(result.to_dataframe()["waited_s"].dropna().to_numpy(np.float64))
    ax.step(_hours(waited), np.arange(1, len(waited) + 1) / max(len(waited), 1), where="post", label=result.policy)
    ax.set_xlabel("waited (h)")
    ax.set_ylabel("share of the jobs")


def _heatmap(matrix: BandwidthMatrix, ax: Any, cmap: str = "viridis") -> None:
    values = np.array(matrix.gb_s)
    np.fill_diagonal(values, np.nan)
    image = ax.imshow(values, cmap=cmap)
    places = np.arange(len(matrix)) if len(matrix) <= 32 else np.arange(0, len(matrix), max(len(matrix) // 16, 1))
    labels = [matrix.labels[place] for place in places.tolist()]
    ax.set_xticks(places, labels, rotation=90)
    ax.set_yticks(places, labels)
    ax.figure.colorbar(image, ax=ax, label="GB/s")


def _boxes(given: tuple[pandas.DataFrame, Any], ax: Any, metric: str = "waited_mean_s") -> None:
    results, _ = given
    if metric not in results:
        raise UnknownNameError("metric", metric, [str(name) for name in results.columns])
    groups = {policy: part[metric].dropna().to_list() for policy, part in results.groupby("policy", sort=False)}
    places = list(range(1, len(groups) + 1))
    ax.boxplot(list(groups.values()), positions=places)
    ax.set_xticks(places, list(map(str, groups)), rotation=30)
    ax.set_ylabel(metric)


def _differences(given: tuple[pandas.DataFrame, Any], ax: Any, metric: str = "waited_mean_s") -> None:
    found = given[1]()
    known = list(dict.fromkeys(found["outcome"]))
    if metric not in known:
        raise UnknownNameError("metric", metric, known)
    some = found[found["outcome"] == metric]
    names = [" ".join(map(str, row)) for row in some[["policy", "topology", "workload"]].to_numpy().tolist()]
    places = list(range(len(names)))
    ends = [some["difference"] - some["low"], some["high"] - some["difference"]]
    ax.errorbar(some["difference"].tolist(), places, xerr=[end.clip(lower=0).tolist() for end in ends], fmt="o")
    ax.axvline(0.0, linestyle="--")
    ax.set_yticks(places, names)
    ax.set_xlabel(f"{metric}, difference from the baseline")


_KINDS: Mapping[type, Mapping[str, Draw]] = {
    BandwidthMatrix: {"heatmap": _heatmap},
    Comparison: {"bar": _bars, "jobs": _bars_of_jobs},
    SimulationResult: {"usage": _usage, "waiting": _waiting, "gantt": _gantt, "waits": _waits},
}
