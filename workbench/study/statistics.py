"""Policies of a study compared in pairs of runs that differ in the policy alone: intervals and a sign test."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError, UnknownNameError
from workbench.study.outcomes import OUTCOMES, outcome

if TYPE_CHECKING:
    import pandas

__all__ = ["LEVEL", "bootstrap_interval", "compare_in_pairs", "sign_test"]

Floats = npt.NDArray[np.float64]

#: Part of such intervals that hold the true mean, if the seeds are a fair sample.
LEVEL = 0.95
_RESAMPLES = 10_000
#: Numbers drawn at once, so that a thousand pairs need no gigabyte.
_AT_ONCE = 1 << 22

_SCENARIO = ("topology", "workload", "discipline")


def compare_in_pairs(
    results: pandas.DataFrame, baseline: str, outcomes: Sequence[str] | None = None, *, pooled: bool = False
) -> pandas.DataFrame:
    """Compare each policy with a baseline over pairs of runs of equal topology, workload, discipline and seed.

    Parameters
    ----------
    results : pandas.DataFrame
        As `Study.results` returns it.
    baseline : str
        A policy of the results.
    outcomes : sequence of str, optional
        Keys of `OUTCOMES`; all by default.
    pooled : bool
        Compare over the pairs of all topologies and workloads together; by default over those of one, so that the pairs
        differ in their seeds alone.

    Returns
    -------
    pandas.DataFrame
        A row per scenario, outcome and policy, in this order, each in the order of the results. Columns: topology,
        workload (both ``all`` if pooled), discipline, outcome, unit, wanted (``less`` or ``more``), policy, pairs
        (those in which both runs have the number), baseline and mean (means over the pairs), difference (mean -
        baseline), low and high (`bootstrap_interval` of the difference), better, worse and equal (pairs), sign_p
        (`sign_test`). NaN where there are too few pairs.

    Raises
    ------
    UnknownNameError
        No such policy or outcome.
    InputError
        No results.

    Notes
    -----
    Every interval is drawn from the same seed, so that it does not depend on what else is compared. Nothing corrects
    for many comparisons: of a hundred intervals, five miss.
    """
    import pandas

    chosen = [outcome(key) for key in outcomes or [one.key for one in OUTCOMES]]
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
        told = {policy: part.set_index(pair) for policy, part in scenario.groupby("policy", sort=False)}
        for one in chosen:
            for policy in policies:
                if policy == baseline or policy not in told or baseline not in told:
                    continue
                both = pandas.concat([told[baseline][one.key], told[policy][one.key]], axis=1, join="inner").dropna()
                before, after = both.to_numpy(dtype=np.float64).T
                rows.append({**of, **_row(one.key, policy, before, after)})
    return pandas.DataFrame(rows, columns=[*_SCENARIO, *_COLUMNS])


_COLUMNS = (
    *("outcome", "unit", "wanted", "policy", "pairs", "baseline", "mean", "difference", "low", "high"),
    *("better", "worse", "equal", "sign_p"),
)


def _row(key: str, policy: str, before: Floats, after: Floats) -> dict[str, object]:
    one = outcome(key)
    change = after - before
    gain = change if one.better == "more" else -change
    low, high = bootstrap_interval(change, np.random.default_rng(0))
    better, worse = int((gain > 0).sum()), int((gain < 0).sum())
    means = [float(values.mean()) if len(values) else float("nan") for values in (before, after, change)]
    numbers = (len(change), *means, low, high, better, worse, len(change) - better - worse, sign_test(better, worse))
    return dict(zip(_COLUMNS, (key, one.unit, one.better, policy, *numbers), strict=True))


def bootstrap_interval(
    values: Floats, rng: np.random.Generator, level: float = LEVEL, resamples: int = _RESAMPLES
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of some values.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
    rng : numpy.random.Generator
        Draws the samples, n values with replacement each.
    level : float
        Between 0 and 1.
    resamples : int
        Number of samples.

    Returns
    -------
    low, high : float
        The quantiles (1 - level) / 2 and (1 + level) / 2 of the samples' means, interpolated linearly. NaN for fewer
        than two values, of which nothing can be said.

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
    """Exact two-sided sign test: how likely so uneven a split is, if better and worse were a toss of a coin.

    Parameters
    ----------
    better, worse : int
        Pairs; equal ones are left out.

    Returns
    -------
    float
        Probability, at most 1; 1 if there is no pair.
    """
    n = better + worse
    tail = sum(comb(n, k) for k in range(min(better, worse) + 1))
    # As whole numbers: 2**n is too large for a float from 1,024 pairs on.
    return min(1.0, 2 * tail / 2**n) if n else 1.0
