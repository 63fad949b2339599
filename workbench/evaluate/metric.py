"""`Metric`: the declaration of a number that measures a placement or a run, from which every output is generated."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench.errors import InputError
from workbench.model.value import Value

if TYPE_CHECKING:
    from workbench.evaluate.facts import JobFacts, RunFacts
    from workbench.evaluate.simulation_facts import FillFacts, SimulationFacts

__all__ = ["EVERYWHERE", "NOWHERE", "Metric", "MetricValue", "View", "nested"]

Number = int | float | None

#: What a metric says of one job or one run: a number, a text, a number per key; None where it is unknown.
MetricValue = Number | str | Mapping[str, Number]


class View(Flag):
    """The human-readable outputs in which a metric can appear; JSON and DataFrame always have every metric."""

    #: Tables in a terminal: ``workbench place``, ``compare``, ``simulate`` and ``fill``.
    TABLE = auto()
    #: The HTML reports, and a comparison in a notebook.
    PAGE = auto()
    #: The placement comparer.
    COMPARER = auto()
    #: Tables and pages of a study for which the user names no metrics.
    STUDY = auto()


EVERYWHERE = View.TABLE | View.PAGE | View.COMPARER | View.STUDY
NOWHERE = View(0)

_AGGREGATIONS: Mapping[str, Callable[[Sequence[int | float]], int | float]] = {
    "sum": sum,
    "min": min,
    "max": max,
    "mean": lambda values: sum(values) / len(values),
}


#: For each attribute whose values are not listed: whether it takes a value, and which values it takes.
_ATTRIBUTES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("heading", "meaning", "unit", "by", "column", "group"), (lambda value: isinstance(value, str), "a text")
    ),
    "brief": (lambda value: value is None or isinstance(value, str), "a text or None"),
    "whole": (
        lambda value: isinstance(value, tuple) and all(isinstance(key, str) for key in value),
        "a tuple of keys of metrics, such as ('pods', 'missing')",
    ),
    "ends": (
        lambda value: isinstance(value, tuple) and len(value) in (0, 2) and all(isinstance(key, str) for key in value),
        "the keys of the metrics of the lower and the upper end, or ()",
    ),
    **dict.fromkeys(
        ("in_jobs", "in_runs"),
        (
            lambda value: isinstance(value, View),
            "View.TABLE, View.PAGE, View.COMPARER, View.STUDY, EVERYWHERE or NOWHERE",
        ),
    ),
    **dict.fromkeys(("share", "count", "rare"), (lambda value: isinstance(value, bool), "True or False")),
    **dict.fromkeys(
        ("job", "run", "simulation", "fill"), (lambda value: value is None or callable(value), "a function or None")
    ),
}


@dataclass(frozen=True)
class Metric(Value):
    """Declaration of a metric: its names, unit and meaning, where it is shown, and the functions that compute it.

    Attributes
    ----------
    key : str
        Name in JSON and, unless `column` says otherwise, in DataFrame and CSV: lower-case letters, digits and ``_``.
    heading : str
        Name in tables and pages, without the unit.
    meaning : str
        Legend: a phrase that completes "heading: …".
    unit : str
        Unit of the values, such as ``GB/s``; empty for a count.
    brief : str, optional
        Heading in a terminal, where columns are narrow; by default heading and unit.
    better : {"", "lower", "higher"}
        Which values are better, so that the best of several policies is emphasised; empty if neither direction is
        better.
    by : str
        Meaning of the keys if the value is a mapping, such as ``tier``; empty if it is a single number.
    column : str
        Column of the DataFrame, followed by ``_`` and the key where the value is a mapping; by default `key`.
    group : str
        Metrics of a group are nested under this key in JSON and have a table of their own. A group without measured
        values is left out.
    total : {"", "sum", "min", "max", "mean"}
        How the values of jobs combine to the value of a run, unknown values left out; empty: they do not.
    whole : tuple of str
        Keys of other metrics whose sum is the whole of which this metric is a part, shown as "3 of 4".
    ends : tuple of str
        Keys of the metrics that are the lower and the upper end of this one's interval, shown as "155.5 (35.5–690.7)".
    share : bool
        Whether the value is a part of a whole, 0 to 1, which people see in percent.
    count : bool
        Whether the value is a whole number, so that files of results have integers.
    rare : bool
        Whether tables of simulations leave the metric out where all values are 0 or unknown.
    in_jobs, in_runs : View
        Where the values of a job and of a run (session, simulation or filled cluster) are shown.
    job : callable, optional
        Function from `JobFacts` to the value for one placed job.
    run : callable, optional
        Function from `RunFacts` to the value for a session; takes precedence over `total`.
    simulation : callable, optional
        Function from `SimulationFacts` to the value for a simulation.
    fill : callable, optional
        Function from `FillFacts` to the value for the runs in which one policy filled a cluster.
    """

    # `of_job`, `of_run`, `of_simulation` and `of_fill` measure: they call the declared function on facts and check what
    # it answers (`_checked`). `of_run` combines the values of jobs by `total` where no function for a run is declared.
    # `table_heading`, `shown_unit` and `best` are for outputs.

    key: str
    heading: str
    meaning: str = ""
    unit: str = ""
    brief: str | None = None
    better: Literal["", "lower", "higher"] = ""
    by: str = ""
    column: str = ""
    group: str = ""
    total: Literal["", "sum", "min", "max", "mean"] = ""
    whole: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    share: bool = False
    count: bool = False
    rare: bool = False
    in_jobs: View = EVERYWHERE
    in_runs: View = EVERYWHERE
    job: Callable[[JobFacts], Any] | None = None
    run: Callable[[RunFacts], Any] | None = None
    simulation: Callable[[SimulationFacts], Any] | None = None
    fill: Callable[[FillFacts], Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", self.key):
            expected = "lower-case letters, digits and _"
            raise InputError("not a key of a metric", source="metric", got=repr(self.key), expected=expected)
        for name, known in (("better", ("", "lower", "higher")), ("total", ("", *_AGGREGATIONS))):
            if getattr(self, name) not in known:
                expected = ", ".join(repr(value) for value in known)
                got = repr(getattr(self, name))
                raise InputError(f"unknown value of {name}", source=f"metric {self.key}", got=got, expected=expected)
        for name, (fits, expected) in _ATTRIBUTES.items():
            value = getattr(self, name)
            if not fits(value):
                raise InputError(
                    f"wrong value of {name}", source=f"metric {self.key}", got=repr(value), expected=expected
                )

    @cached_property
    def declared(self) -> Metric:
        """A copy of the metric without its functions, as kept in results, because not every function can be pickled."""
        return dataclasses.replace(self, job=None, run=None, simulation=None, fill=None)

    @property
    def shown_unit(self) -> str:
        """The unit in tables and pictures, which show shares in percent."""
        return "%" if self.share else self.unit

    @property
    def table_heading(self) -> str:
        """Heading of the metric in a terminal table."""
        return f"{self.heading} {self.shown_unit}".strip() if self.brief is None else self.brief

    def of_job(self, facts: JobFacts) -> MetricValue:
        """Value of this metric for one placed job; None if the metric has no function for jobs."""
        return None if self.job is None else self._checked(self.job, facts)

    def of_run(self, facts: RunFacts, jobs: Sequence[MetricValue]) -> MetricValue:
        """The metric's value for a whole session; `jobs` are its values for the placed jobs."""
        if self.run is not None:
            return self._checked(self.run, facts)
        if self.by:
            parts = [value for value in jobs if isinstance(value, Mapping)]
            keys = dict.fromkeys(key for part in parts for key in part)
            return {key: self._aggregated([part.get(key) for part in parts]) for key in keys}
        return self._aggregated(jobs)

    def of_simulation(self, facts: SimulationFacts) -> Number:
        """The metric's value for a simulation."""
        return self._single(self.simulation, facts)

    def of_fill(self, facts: FillFacts) -> Number:
        """The metric's value for the runs in which one policy filled a cluster."""
        return self._single(self.fill, facts)

    def best(self, values: Sequence[MetricValue]) -> frozenset[int]:
        """Indices of the best among the policies' values; empty if all are equal or neither direction is better."""
        known = [value for value in values if _is_number(value)]
        if not self.better or len(set(known)) < 2:
            return frozenset()
        best = (min if self.better == "lower" else max)(known)  # type: ignore[type-var]
        return frozenset(i for i, value in enumerate(values) if _is_number(value) and value == best)

    def _aggregated(self, values: Sequence[MetricValue]) -> Number:
        known = [value for value in values if isinstance(value, int | float)]
        if not known:
            # A sum over no job is 0; whether a group was measured can only be told from a job.
            return 0 if self.total == "sum" and not values and not self.group else None
        return _AGGREGATIONS[self.total](known)

    def _single(self, function: Callable[[Any], Any] | None, facts: SimulationFacts | FillFacts) -> Number:
        """The value of a metric that is one number; None if it has no function for such facts."""
        value = None if function is None else self._checked(function, facts)
        if isinstance(value, str | Mapping) or (self.count and type(value) is not int):
            expected = "a whole number" if self.count else "a finite number"
            raise InputError("not a value of a metric", source=f"metric {self.key}", got=repr(value), expected=expected)
        return value

    def _checked(self, function: Callable[[Any], Any], facts: Any) -> MetricValue:
        """Call a metric's function and convert its value to plain Python numbers, strings and dicts.

        InputError: the function raised, or answered with something that no output can show.
        """
        source = f"metric {self.key}"
        try:
            value = function(facts)
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
            raise InputError("the function of the metric raised", source=source, got=got) from error
        if value is None or (type(value) is int and not self.by):
            return value
        if not self.by:
            return value if isinstance(value, str) else _number(value, source)
        if not isinstance(value, Mapping):
            raise InputError("not a mapping", source=source, got=repr(value), expected=f"a number per {self.by}")
        return {str(key): _number(each, source) for key, each in value.items()}


def nested(metrics: Sequence[Metric], values: Mapping[str, MetricValue]) -> dict[str, Any]:
    """Metric values in the form of the JSON output: values of a group come last, nested under the group's name."""
    plain: dict[str, Any] = {metric.key: values[metric.key] for metric in metrics if not metric.group}
    for metric in metrics:
        if metric.group:
            plain.setdefault(metric.group, {})[metric.key] = values[metric.key]
    return plain


def _is_number(value: MetricValue) -> bool:
    return isinstance(value, int | float)


def _number(value: Any, source: str) -> Number:
    """A metric's value as a plain Python number; NaN and None become None. `source` names the metric in errors."""
    if type(value) is int or value is None:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, int | float) or value in (math.inf, -math.inf):
        raise InputError("not a value of a metric", source=source, got=repr(value), expected="a finite number")
    return None if value != value else value
