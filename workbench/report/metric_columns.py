"""Columns and cells of tables of metrics, and which cells are the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.evaluate.facts import NODE, tier_keys
from workbench.evaluate.metric import Metric, MetricValue, View
from workbench.evaluate.metrics import Measured, RunMetrics
from workbench.model.number_text import TimeUnit, duration_text, number_text
from workbench.model.topology import Topology

if TYPE_CHECKING:
    from workbench.evaluate.compare import Comparison

__all__ = [
    "Column",
    "MetricCell",
    "ShownMetric",
    "groups",
    "job_cells",
    "job_columns",
    "legend",
    "run_cells",
    "run_columns",
    "session_columns",
    "shown_cells",
    "shown_metrics",
]


class Column(NamedTuple):
    """A column of a table of metrics: one metric, or one key of a metric whose values are mappings.

    `key`: empty where the metric has a single value. `is_text`: whether the values are texts or parts of a whole (``3
    of 4``), so that the column is aligned left.
    """

    metric: Metric
    key: str = ""
    is_text: bool = False

    @property
    def heading(self) -> str:
        """Heading of the column without the unit, such as ``bottleneck`` and ``pairs tier 1``."""
        return f"{self.metric.heading} {self._key_text('same node', 'tier ')}".strip()

    @property
    def page_heading(self) -> str:
        """Heading of the column on a page, such as ``bottleneck GB/s`` and ``pairs tier 1``."""
        return f"{self.heading} {self.metric.shown_unit}".strip()

    @property
    def table_heading(self) -> str:
        """Heading of the column in a terminal, such as ``GB/s`` and ``t1``."""
        return f"{self.metric.table_heading} {self._key_text(NODE, 't')}".strip()

    def value(self, measured: Measured) -> MetricValue:
        """The column's value among measured metrics; 0 if the metric is a mapping without the column's key.

        Shares are in percent.
        """
        found = measured.values.get(self.metric.key)
        value = found.get(self.key, 0) if isinstance(found, Mapping) else found
        return 100 * value if self.metric.share and isinstance(value, int | float) else value

    def ends(self, measured: Measured) -> tuple[MetricValue, ...]:
        """The lower and the upper end of the value's interval; empty if the metric has none."""
        return tuple(measured.values.get(key) for key in self.metric.ends)

    def shown(self, measured: Measured) -> object:
        """The column's value, as a text with its interval if it has one."""
        return _with_ends(self.value(measured), self.ends(measured)) if self.metric.ends else self.value(measured)

    def _key_text(self, same_node: str, tier: str) -> str:
        if self.metric.by != "tier":
            return self.key
        return same_node if self.key == NODE else f"{tier}{self.key}"


class ShownMetric(NamedTuple):
    """How the numbers of a metric of simulations are shown: shares in percent, times in one unit.

    `time`: unit of a column of times; None for other metrics.
    """

    metric: Metric
    time: TimeUnit | None = None

    @property
    def heading(self) -> str:
        """Heading with the unit, such as ``wait, mean (h)``."""
        unit = self.metric.shown_unit if self.time is None else self.time.symbol
        return f"{self.metric.heading} ({unit})" if unit else self.metric.heading

    @property
    def table_heading(self) -> str:
        """Heading in a terminal."""
        return self.heading if self.metric.brief is None else self.metric.brief

    @property
    def scale(self) -> float:
        """Factor by which numbers are multiplied where they are shown."""
        if self.time is not None:
            return 1.0 / self.time.seconds
        return 100.0 if self.metric.share else 1.0

    def text(self, value: MetricValue) -> str:
        """A number as it is shown in the unit of the heading; a dash for None and NaN."""
        if not isinstance(value, int | float) or value != value:
            return "–"
        if self.time is not None:
            return duration_text(value, self.time)
        return number_text(100.0 * value if self.metric.share else value)


class MetricCell(NamedTuple):
    """One cell of a table of metrics.

    `whole`: the amount of which the value is a part. `ends` (tuple of MetricValue): the lower and the upper end of the
    value's interval; empty if it has none. `best`: whether no other policy has a better value and at least one has a
    worse value.
    """

    value: MetricValue
    whole: int | None
    ends: tuple[MetricValue, ...]
    best: bool

    @property
    def shown(self) -> object:
        """The cell's value as shown on a page; a part of a whole as ``3 of 4``, an interval as `interval` has it."""
        if self.whole is not None:
            return f"{number_text(self.value)} of {number_text(self.whole)}"
        return self.interval if self.ends else self.value

    @property
    def interval(self) -> str:
        """The value with the ends of its interval, ``155.5 (35.5–690.7)``; without them if it is not known."""
        return _with_ends(self.value, self.ends)


def run_columns(comparison: Comparison, view: View, group: str = "") -> list[Column]:
    """Columns of a table of run metrics with one row per policy.

    `group`: name of the group whose metrics are shown; empty: the metrics that belong to no group.
    """
    shown = [metric for metric in comparison.metrics if metric.group == group and view in metric.in_runs]
    runs = [row.metrics for row in comparison.rows if row.metrics is not None]
    return _columns(shown, runs, tier_keys(comparison.snapshot.topology))


def job_columns(comparison: Comparison, view: View) -> list[Column]:
    """Columns of a table of job metrics with one row per policy and job; metrics of groups are included."""
    jobs = [job for row in comparison.rows if row.metrics is not None for job in row.metrics.jobs.values()]
    shown = [metric for metric in comparison.job_metrics if view in metric.in_jobs]
    return _columns(shown, jobs, tier_keys(comparison.snapshot.topology))


def session_columns(run: RunMetrics, topology: Topology | None) -> list[Column]:
    """Columns of a terminal table with one row per job of a session; `topology` is None if no job is placed."""
    shown = [metric for metric in run.job_metrics if View.TABLE in metric.in_jobs and (topology or not metric.by)]
    return _columns(shown, list(run.jobs.values()), () if topology is None else tier_keys(topology))


def groups(comparison: Comparison, view: View) -> list[str]:
    """Names of the groups of metrics with a run metric that is shown in `view`."""
    return list(dict.fromkeys(m.group for m in comparison.metrics if m.group and view in m.in_runs))


def run_cells(comparison: Comparison, columns: Sequence[Column]) -> list[list[MetricCell]]:
    """The cells of a table of run metrics: a list for each policy, empty if the policy raised an exception.

    Only policies that placed as many pods as any other compete for the best value, because a policy that leaves jobs
    pending has fewer pairs of distant pods. Amounts of placed jobs and pods are compared among all policies.
    """
    return _cells(columns, [row.metrics for row in comparison.rows], "pods_placed")


def job_cells(comparison: Comparison, columns: Sequence[Column], job: str) -> list[list[MetricCell]]:
    """The cells of a table of one job's metrics: a list for each policy, empty if the job is not placed.

    Only policies that placed as many pods of the job as any other compete for the best value.

    `job`: ``namespace/name``.
    """
    jobs = [None if row.metrics is None else row.metrics.jobs.get(job) for row in comparison.rows]
    return _cells(columns, jobs, "pods")


def shown_metrics(runs: Sequence[Measured], view: View, time: TimeUnit | None = None) -> list[ShownMetric]:
    """The columns of a table of simulations, or of filled clusters, with one row per run.

    `time`: unit of all times.
    """
    metrics = dict.fromkeys(metric for run in runs for metric in run.metrics)
    return [
        ShownMetric(metric, time if metric.unit == "s" else None)
        for metric in metrics
        if view in metric.in_runs and (not metric.rare or any(run.values.get(metric.key) for run in runs))
    ]


def shown_cells(
    columns: Sequence[ShownMetric], runs: Sequence[Measured], amount: str = ""
) -> list[list[tuple[str, bool]]]:
    """The cells of such a table: by run and column the text, and whether the value is the best of all runs.

    `amount`: key of a metric: only runs with the largest value of it compete in the other columns. Empty: all runs
    compete.
    """
    most = max((run[amount] for run in runs), default=0) if amount else 0
    found: list[list[tuple[str, bool]]] = [[] for _ in runs]
    for column in columns:
        key = column.metric.key
        competing = [not amount or key == amount or run[amount] == most for run in runs]
        values = [run.values.get(key) for run in runs]
        best = column.metric.best([v if may else None for v, may in zip(values, competing, strict=True)])
        for i, value in enumerate(values):
            found[i].append((column.text(value), i in best))
    return found


def legend(columns: Sequence[Column | ShownMetric], view: View) -> str:
    """The legend of a table of metrics: what each heading means, one phrase per metric."""
    headings: dict[Metric, list[str]] = {}
    for column in columns:
        heading = column.table_heading if view is View.TABLE else column.metric.heading
        headings.setdefault(column.metric, []).append(heading)
    return "; ".join(
        f"{', '.join(dict.fromkeys(names))}: {metric.meaning}" for metric, names in headings.items() if metric.meaning
    )


def _with_ends(value: MetricValue, ends: Sequence[MetricValue]) -> str:
    return number_text(value) + ("" if value is None else f" ({'–'.join(map(number_text, ends))})")


def _cells(columns: Sequence[Column], measured: Sequence[Measured | None], amount: str) -> list[list[MetricCell]]:
    most = max((one[amount] for one in measured if one is not None), default=0)
    best = []
    for column in columns:
        competing = [one is not None and (bool(column.metric.whole) or one[amount] == most) for one in measured]
        values = [column.value(one) if one and may else None for one, may in zip(measured, competing, strict=True)]
        best.append(column.metric.best(values))
    return [
        []
        if one is None
        else [
            MetricCell(
                column.value(one),
                sum(one[key] for key in column.metric.whole) if column.metric.whole else None,
                column.ends(one),
                i in winners,
            )
            for column, winners in zip(columns, best, strict=True)
        ]
        for i, one in enumerate(measured)
    ]


def _columns(metrics: Sequence[Metric], measured: Sequence[Measured], tiers: Sequence[str]) -> list[Column]:
    """Columns for the metrics that were measured; `tiers` are the keys of a metric by tier, the virtual top's last."""
    columns = []
    for metric in metrics:
        values = [one.values.get(metric.key) for one in measured]
        if not metric.by:
            columns.append(Column(metric, is_text=bool(metric.whole) or any(isinstance(v, str) for v in values)))
            continue
        found = [value for value in values if isinstance(value, Mapping)]
        keys = list(dict.fromkeys(key for value in found for key in value))
        if metric.by == "tier":
            *below, top = tiers
            # The virtual top has a column only where a job reaches it.
            reached = any(value.get(top) for value in found)
            keys = [tier for tier in below if tier in keys or not keys] + ([top] if reached else [])
        columns += [Column(metric, key) for key in keys]
    return columns
