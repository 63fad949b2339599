"""Policies of a study compared in pairs of runs that differ in the policy alone: intervals and a sign test.

Intervals and tests take independent values. Pairs of one seed are not: its draws are in all of them. Over several
scenarios, therefore, each seed has one value, the mean over its pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.metric import Metric, View
from workbench.evaluate.metric_table import simulation_metrics
from workbench.model.arrays import Floats

if TYPE_CHECKING:
    import pandas

__all__ = [
    "LEVEL",
    "bootstrap_interval",
    "compare_in_pairs",
    "outcome",
    "outcomes_of",
    "outcomes_to_compare",
    "sign_test",
]


#: Part of such intervals that hold the true mean, if the seeds are a fair sample.
LEVEL = 0.95
_RESAMPLES = 10_000
#: Numbers drawn at once, so that a thousand pairs need no gigabyte.
_AT_ONCE = 1 << 22

_SCENARIO = ("topology", "workload", "discipline")


def outcomes_to_compare() -> list[Metric]:
    """The metrics of simulations that have a direction, so that one of two runs can be better."""
    return [metric for metric in simulation_metrics() if metric.better]


def outcomes_of(results: pandas.DataFrame) -> list[Metric]:
    """The metrics that tables of some results show if the user names none: those of `View.STUDY`.

    `results`: as `Study.results` returns it. A rare metric is shown if it is not 0 in some run.
    """
    return [
        metric
        for metric in outcomes_to_compare()
        if View.STUDY in metric.in_runs and (not metric.rare or results[metric.key].fillna(0).any())
    ]


def outcome(key: str) -> Metric:
    """The metric of simulations that has a key and a direction.

    Raises UnknownNameError: no metric of that key; InputError: the metric has no direction.
    """
    found = next((metric for metric in simulation_metrics() if metric.key == key), None)
    if found is None:
        raise UnknownNameError("outcome of a run", key, [metric.key for metric in outcomes_to_compare()])
    if not found.better:
        expected = "a metric declared with better='lower' or better='higher'"
        raise InputError("no run can be better by it", source="outcome of a run", got=key, expected=expected)
    return found


def compare_in_pairs(
    results: pandas.DataFrame, baseline: str, outcomes: Sequence[str] | None = None, *, pooled: bool = False
) -> pandas.DataFrame:
    """Compare each policy with a baseline over pairs of runs of equal topology, workload, discipline and seed.

    Raises UnknownNameError: no such policy or outcome; InputError: no results, or an outcome without a direction.

    Parameters
    ----------
    results : pandas.DataFrame
        As `Study.results` returns it.
    baseline : str
        A policy of the results.
    outcomes : sequence of str, optional
        Keys of metrics of simulations; by default all that have a direction.
    pooled : bool
        Compare over all topologies and workloads together, with one value per seed: the mean over the pairs that the
        seed has. By default over the pairs of one topology and workload, which differ in their seeds alone.

    Returns
    -------
    pandas.DataFrame
        A row per scenario, outcome and policy, in this order, each in the order of the results. Columns: topology,
        workload (both ``all`` if pooled), discipline, outcome, unit, wanted (``less`` or ``more``), policy, pairs
        (those in which both runs have the number), seeds (of these pairs), baseline and mean (means over the seeds'
        values), difference (mean - baseline), low and high (`bootstrap_interval` of the difference, seeds drawn),
        better, worse and equal (seeds), sign_p (`sign_test`). NaN where there are too few seeds. Unless pooled, a seed
        is a pair.

    Notes
    -----
    Every interval is drawn from the same seed, so that it does not depend on what else is compared. Nothing corrects
    for many comparisons: of a hundred intervals, five miss.
    """
    import pandas

    chosen = outcomes_to_compare() if outcomes is None else [outcome(key) for key in outcomes]
    policies = list(dict.fromkeys(results["policy"]))
    if not policies:
        raise InputError("no results to compare", source="study", expected="runs that are done")
    if baseline not in policies:
        raise UnknownNameError("policy with results", baseline, policies)
    rows = []
    pair = [*_SCENARIO, "seed"]
    by = ["discipline"] if pooled else list(_SCENARIO)
    for names, scenario in results.groupby(by, sort=False):
        of = {**dict.fromkeys(_SCENARIO, "all"), **dict(zip(by, names, strict=True))}
        by_policy = {policy: part.set_index(pair) for policy, part in scenario.groupby("policy", sort=False)}
        for one in chosen:
            for policy in policies:
                if policy == baseline or policy not in by_policy or baseline not in by_policy:
                    continue
                both = pandas.concat(
                    [by_policy[baseline][one.key], by_policy[policy][one.key]], axis=1, join="inner"
                ).dropna()
                of_seed = both.groupby(level="seed", sort=False).mean() if pooled else both
                before, after = of_seed.to_numpy(dtype=np.float64).T
                rows.append({**of, **_row(one, policy, len(both), before, after)})
    return pandas.DataFrame(rows, columns=[*_SCENARIO, *_COLUMNS])


#: The column ``wanted``, by the direction of the metric.
_WANTED = {"lower": "less", "higher": "more"}
_COLUMNS = (
    *("outcome", "unit", "wanted", "policy", "pairs", "seeds", "baseline", "mean", "difference", "low", "high"),
    *("better", "worse", "equal", "sign_p"),
)


def _row(one: Metric, policy: str, pairs: int, before: Floats, after: Floats) -> dict[str, object]:
    change = after - before
    gain = change if one.better == "higher" else -change
    low, high = bootstrap_interval(change, np.random.default_rng(0))
    better, worse = int((gain > 0).sum()), int((gain < 0).sum())
    means = [float(values.mean()) if len(values) else float("nan") for values in (before, after, change)]
    equal = len(change) - better - worse
    numbers = (pairs, len(change), *means, low, high, better, worse, equal, sign_test(better, worse))
    return dict(zip(_COLUMNS, (one.key, one.unit, _WANTED[one.better], policy, *numbers), strict=True))


def bootstrap_interval(
    values: Floats, rng: np.random.Generator, level: float = LEVEL, resamples: int = _RESAMPLES
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of some values.

    Returns: the quantiles (1 - level) / 2 and (1 + level) / 2 of the samples' means, interpolated linearly. NaN for
    fewer than two values.

    `values`: ndarray of shape (n,), float64. `rng`: draws the samples, n values with replacement each. `level`: between
    0 and 1. `resamples`: number of samples.

    Notes
    -----
    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13. With few values the interval is
    too narrow: of 5 values it holds the mean in some 85 % of cases rather than 95 %.
    """
    n = len(values)
    if n < 2:
        return float("nan"), float("nan")
    at_once = max(1, _AT_ONCE // n)
    means = np.concatenate(
        [
            values[rng.integers(0, n, (min(at_once, resamples - first), n))].mean(axis=1)
            for first in range(0, resamples, at_once)
        ]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def sign_test(better: int, worse: int) -> float:
    """Exact two-sided sign test: probability of a split at least this uneven if better and worse were equally likely.

    `better`, `worse`: independent values, such as pairs of different seeds; equal ones are left out. Returns:
    probability, at most 1; 1 if there is no value.
    """
    n = better + worse
    tail = sum(comb(n, k) for k in range(min(better, worse) + 1))
    # As whole numbers: 2**n is too large for a float from 1,024 pairs on.
    return min(1.0, 2 * tail / 2**n) if n else 1.0
