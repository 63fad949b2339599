"""A study as tables, as a chart of differences and as a page; a filled cluster as a table and as a chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from workbench.evaluate.metric import Metric, View
from workbench.model.counted import counted
from workbench.model.number_text import number_text, time_unit
from workbench.report.html import render
from workbench.report.intervals import DrawnInterval, draw_intervals
from workbench.report.lines import draw_lines
from workbench.report.metric_columns import ShownMetric, legend, shown_cells, shown_metrics
from workbench.report.svg_text import Inserted
from workbench.report.tables import metric_table, new_table, text_row
from workbench.simulate.fill_study import FillStudy

if TYPE_CHECKING:
    import pandas

__all__ = ["StudyView", "draw_differences", "draw_fill", "fill_tables", "study_page", "study_tables"]

_PAIR_HEADS = ("", "policy", "mean", "baseline", "difference", "95 % interval", "better", "worse", "p")
#: Smaller ones say nothing more.
_LEAST_P = 0.001
#: Percent of arrived demand from which on policies differ visibly.
_FROM = 75
_SCENARIO = ["topology", "workload", "discipline"]


@dataclass(frozen=True, eq=False)
class StudyView:
    """What is shown of a study.

    Attributes
    ----------
    results : pandas.DataFrame
        A row per run: topology, workload, discipline, policy, seed, never_placed, and a column per outcome.
    differences : pandas.DataFrame
        A row per comparison with the baseline (`workbench.study.statistics.compare_in_pairs`).
    outcomes : mapping of str to Metric
        The metrics of simulations that are shown, by key.
    missing : int
        Runs that have no result yet.
    """

    name: str
    baseline: str
    results: pandas.DataFrame
    differences: pandas.DataFrame
    outcomes: Mapping[str, Metric]
    missing: int
    provenance: Mapping[str, Any]

    @cached_property
    def shown(self) -> Mapping[str, ShownMetric]:
        """How each outcome is shown: a time in the unit that suits the longest one of all runs."""
        return {
            key: ShownMetric(metric, time_unit(float(self.results[key].abs().max())) if metric.unit == "s" else None)
            for key, metric in self.outcomes.items()
        }

    @property
    def headings(self) -> list[str]:
        """Headings of the outcomes with the units in which they are shown."""
        return [shown.heading for shown in self.shown.values()]

    @property
    def legend(self) -> str:
        """What the headings mean."""
        return legend(list(self.shown.values()), View.PAGE)

    @property
    def note(self) -> str:
        """A line about runs, missing ones and what the intervals mean."""
        missing = f"; {counted(self.missing, 'run is', 'runs are')} not done yet" if self.missing else ""
        several = (self.differences["pairs"] != self.differences["seeds"]).any()
        pooled = " A seed is the mean of its pairs; better and worse count seeds." if several else ""
        return (
            f"{counted(len(self.results), 'run')}{missing}. Differences to {self.baseline} over pairs of runs with "
            "equal seeds; intervals by bootstrap; p of a two-sided sign test, not corrected for many comparisons."
            f"{pooled}"
        )

    @property
    def never_ran(self) -> list[str]:
        """A line per policy under which jobs arrived and never started: waiting times leave these jobs out."""
        found = []
        for policy, part in self.results.groupby("policy", sort=False):
            jobs = part["never_placed"]
            if jobs.any():
                runs = "" if len(part) == 1 else f", in {int((jobs > 0).sum())} of {len(part)} runs"
                who = counted(int(jobs.sum()), "job")
                found.append(f"{who} never ran under {policy}{runs}; waiting times count only jobs that ran")
        return found

    def mean_rows(self) -> list[tuple[str, ...]]:
        """Cells of a row per scenario and policy: both names, runs, and the mean of each outcome."""
        rows = []
        for names, part in self.results.groupby([*_SCENARIO, "policy"], sort=False):
            *scenario, policy = names
            means = (shown.text(float(part[key].mean())) for key, shown in self.shown.items())
            rows.append((_names_text(scenario), str(policy), str(len(part)), *means))
        return rows

    def pair_rows(self) -> list[tuple[str, list[tuple[str, ...]]]]:
        """By scenario: its name with the numbers of pairs and seeds, and cells of a row per outcome and policy."""
        found = []
        for names, part in self.differences.groupby(_SCENARIO, sort=False):
            rows = []
            for row in part.to_dict("records"):
                shown = self.shown[row["outcome"]]
                numbers = [shown.text(row[key]) for key in ("mean", "baseline", "difference")]
                ends = [shown.text(row[key]) for key in ("low", "high")]
                interval = "–" if "–" in ends else " to ".join(ends)
                last = (str(row["better"]), str(row["worse"]), _probability(row["sign_p"]))
                if not row["pairs"]:
                    last = ("–", "–", "–")
                rows.append((shown.heading, row["policy"], *numbers, interval, *last))
            told = _counts(part["pairs"], "pair")
            if (part["pairs"] != part["seeds"]).any():
                told = f"{_counts(part['seeds'], 'seed')} in {told}"
            found.append((f"{_names_text(names)}: {told}", rows))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Results, differences and provenance as plain data; None where there is no number."""

        def rows(frame: pandas.DataFrame) -> list[dict[str, Any]]:
            records = frame.to_dict("records")
            return [{str(key): None if cell != cell else cell for key, cell in row.items()} for row in records]

        return {
            "study": self.name,
            "baseline": self.baseline,
            "missing": self.missing,
            "notes": self.never_ran,
            "results": rows(self.results),
            "differences": rows(self.differences),
            "provenance": dict(self.provenance),
        }


def _counts(column: Any, one: str) -> str:
    """The different numbers of a column, with what they count: ``4 or 5 pairs``."""
    counts = sorted({int(count) for count in column})
    return f"{' or '.join(map(str, counts))} {one if counts == [1] else f'{one}s'}"


def _names_text(names: Any) -> str:
    return ", ".join(str(name) for name in names)


def _probability(value: float) -> str:
    return f"< {_LEAST_P:g}" if value < _LEAST_P else number_text(value)


def study_tables(view: StudyView) -> list[Any]:
    """Tables for a terminal: means per scenario and policy, then for each scenario the differences to the baseline."""
    heads = ("scenario", "policy", "runs", *view.headings)
    means = new_table(*heads, title=f"{view.name}: means", right=range(2, len(heads)))
    last = ""
    for scenario, *cells in view.mean_rows():
        text_row(means, " " if scenario == last else scenario, *cells)
        last = scenario
    tables = [means]
    for title, rows in view.pair_rows():
        table = new_table(*_PAIR_HEADS, title=title, right=range(2, len(_PAIR_HEADS)))
        last = ""
        for outcome, *cells in rows:
            text_row(table, " " if outcome == last else outcome, *cells)
            last = outcome
        tables.append(table)
    return [*tables, *([view.legend] if view.legend else []), view.note, *view.never_ran]


def draw_differences(view: StudyView, key: str) -> str:
    """An SVG chart of the differences of one outcome to the baseline, a line per scenario and policy."""
    part = view.differences[view.differences["outcome"] == key]
    rows = [
        DrawnInterval(
            _names_text([row["policy"], *(row[name] for name in _SCENARIO)]),
            row["policy"],
            *(view.shown[key].scale * row[name] for name in ("difference", "low", "high")),
        )
        for row in part.to_dict("records")
    ]
    wanted = part["wanted"].iloc[0] if len(part) else "less"
    across = f"difference to {view.baseline}; {wanted} is better"
    return draw_intervals(view.shown[key].heading, across, rows)


def study_page(view: StudyView) -> str:
    """An HTML page, complete in itself: charts, means, differences to the baseline, and the provenance."""
    return render(
        "study_page.html.j2",
        title=view.name,
        notes=[view.note, *view.never_ran],
        legend=view.legend,
        pictures=[Inserted(draw_differences(view, key)) for key in view.outcomes] if len(view.differences) else [],
        mean_heads=("scenario", "policy", "runs", *view.headings),
        mean_rows=view.mean_rows(),
        pair_heads=_PAIR_HEADS,
        scenarios=view.pair_rows(),
        provenance=orjson.dumps(dict(view.provenance)).decode(),
    )


def fill_tables(study: FillStudy) -> list[Any]:
    """A table with a row per policy, least unallocated first, and what its numbers mean."""
    policies = list(study.summary().sort_values("unallocated", kind="stable").index)
    measured = [study.measured(policy) for policy in policies]
    columns = shown_metrics(measured, View.TABLE)
    rows = [([policy], cells) for policy, cells in zip(policies, shown_cells(columns, measured), strict=True)]
    title = f"{study.trace}: % of the cluster's GPUs, {counted(len(study.seeds), 'seed')}"
    return metric_table(["policy"], columns, rows, title)


def draw_fill(study: FillStudy) -> str:
    """An SVG chart of the GPUs that each policy leaves unallocated, by arrived demand; means over the seeds."""
    lines = {}
    for policy in study.policies:
        mean = study.mean(policy)["allocated"]
        lines[policy] = [(float(x), 100.0 - float(y)) for x, y in enumerate(mean) if x >= _FROM]
    title = f"{study.trace}: GPUs left unallocated"
    return draw_lines(title, "GPUs asked for, % of the cluster's", "% unallocated", lines)
