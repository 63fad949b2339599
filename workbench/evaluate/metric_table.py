"""`METRICS`: the table of built-in metrics, and the decorator `metric` that adds others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeVar

from workbench.errors import InputError, close_names
from workbench.evaluate.metric import Metric
from workbench.evaluate.session_metrics import SESSION_METRICS
from workbench.evaluate.simulation_metrics import FILL_METRICS, SIMULATION_METRICS

__all__ = ["METRICS", "added_simulation_metrics", "all_metrics", "metric", "simulation_metrics"]

F = TypeVar("F", bound=Callable[[Any], Any])

#: The built-in metrics in the order of every output.
METRICS = (*SESSION_METRICS, *SIMULATION_METRICS, *FILL_METRICS)

#: What a metric is computed for, by the name of its function in `Metric`.
_PER = ("job", "run", "simulation", "fill")
#: Attributes that say how values of jobs make one of a session, and how metrics of a session belong together.
_OF_SESSIONS = ("by", "column", "group", "total", "whole", "ends", "in_jobs")

#: Names in JSON, DataFrame and CSV that a further metric cannot have.
_TAKEN = frozenset(
    name for metric in METRICS for name in (metric.key, metric.column, metric.group) if name
) | frozenset(
    [
        *("policy", "job", "jobs", "outcome", "turn", "hypernode", "tier", "node_gpus", "reasons", "decision_s"),
        *("topology", "workload", "discipline", "parameters", "seed", "run"),
    ]
)

#: Metrics that a notebook cell or another program added, by key.
_registered: dict[str, Metric] = {}


def all_metrics() -> tuple[Metric, ...]:
    """All metrics: the built-in ones, then those that users added with the decorator `metric`."""
    return (*METRICS, *_registered.values())


def simulation_metrics() -> tuple[Metric, ...]:
    """The metrics of simulations, in the order of every output."""
    return tuple(metric for metric in all_metrics() if metric.simulation is not None)


def added_simulation_metrics() -> tuple[Metric, ...]:
    """The metrics of simulations that users added: other processes do not know them."""
    return tuple(metric for metric in _registered.values() if metric.simulation is not None)


def metric(
    key: str,
    heading: str = "",
    *,
    per: Literal["job", "run", "simulation", "fill"] = "job",
    meaning: str = "",
    **declaration: Any,
) -> Callable[[F], F]:
    """Decorator that adds the metric computed by a function to every output.

    Using the key of a metric that was added before replaces that metric.

    Raises InputError: the key or column is that of a built-in value or of a group, or an attribute is unknown or has a
    wrong value.

    Parameters
    ----------
    key : str
        Name in JSON, DataFrame and CSV.
    heading : str
        Name in tables and pages; by default the key with spaces.
    per : {"job", "run", "simulation", "fill"}
        The function takes `JobFacts` and is called for each placed job, or `RunFacts` and is called once per policy, or
        `SimulationFacts` for each simulation, or `FillFacts` for each policy that filled a cluster. The latter two
        answer with one number, or None where it is unknown.
    meaning : str
        Legend; by default the first line of the function's docstring.
    **declaration
        Further attributes of `Metric`: unit, better, total, by and so on. Without `total` a metric per job has no value
        for a run, and is not in the tables with one line per policy.

    Examples
    --------
    >>> import workbench as wb
    >>> @wb.metric("pods_per_node", better="higher", total="min")
    ... def pods_per_node(job):
    ...     return len(job.placed) / len(job.nodes)
    >>> tree = wb.generate_scenario("three-level-tree").with_gangs(wb.gang("mine", pods=2, gpus=4))
    >>> tree.compare(["binpack"]).to_dataframe()["pods_per_node"].tolist()
    [2.0]
    """
    known = [name for name in Metric.__dataclass_fields__ if name not in ("key", "heading", *_PER)]
    for name in _PER:
        if name in declaration:
            raise InputError(
                f"{name} is the function under the decorator",
                source=f"metric {key}",
                got=f"{name}={declaration[name]!r}",
                expected=f"per={name!r} and nothing else",
            )
    if unknown := sorted(set(declaration) - set(known)):
        expected = close_names(unknown[0], known)
        raise InputError("no such attribute of a metric", source=f"metric {key}", got=unknown[0], expected=expected)
    if per not in _PER:
        expected = ", ".join(map(repr, _PER))
        raise InputError("unknown value of per", source=f"metric {key}", got=repr(per), expected=expected)
    for name in _OF_SESSIONS if per in ("simulation", "fill") else ():
        if name in declaration:
            got, expected = f"{name}={declaration[name]!r}", "per='job' or per='run' beside it"
            raise InputError("an attribute of metrics of sessions", source=f"metric {key}", got=got, expected=expected)
    declared = Metric(key, heading or str(key).replace("_", " "), meaning=meaning, **declaration)
    if taken := sorted({key, declared.column or key} & _TAKEN):
        raise InputError("this name is taken", source="metric", got=taken[0])
    _check_group(declared)
    keys = [other.key for other in all_metrics() if other.simulation is None and other.fill is None]
    for attribute, part in (*(("whole", one) for one in declared.whole), *(("ends", one) for one in declared.ends)):
        if part not in (key, *keys):
            source, expected = f"metric {key}: {attribute}", close_names(part, keys)
            raise InputError("no metric of that key", source=source, got=repr(part), expected=expected)

    def register(function: F) -> F:
        first_line = (function.__doc__ or "").strip().partition("\n")[0]
        computed: dict[str, Any] = {per: function}
        _registered[key] = replace(declared, meaning=meaning or first_line, **computed)
        return function

    return register


def _check_group(declared: Metric) -> None:
    """Raise InputError if the group of the metric has the name of another metric: both would be one key in JSON."""
    groups = {metric.group for metric in all_metrics() if metric.group}
    values = {name for metric in all_metrics() for name in (metric.key, metric.column) if name} | (_TAKEN - groups)
    if declared.group and (declared.group == declared.key or declared.group in values - groups):
        raise InputError(
            "the name of the group is taken by a value",
            source=f"metric {declared.key}: group",
            got=repr(declared.group),
            expected=f"another name, or a group that exists: {', '.join(sorted(groups))}",
        )
    if declared.key in groups:
        raise InputError("this name is taken", source="metric", got=declared.key, expected="no name of a group")
