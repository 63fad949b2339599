"""Paired statistics against slow and obvious twins."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.metric_table import simulation_metrics
from workbench.study.statistics import bootstrap_interval, compare_in_pairs, sign_test


def tossed(better: int, worse: int) -> float:
    """Part of all ways to toss a coin that are at least as uneven."""
    n = better + worse
    tosses = [sum(each) for each in product((0, 1), repeat=n)]
    return sum(abs(heads - n / 2) >= abs(better - n / 2) for heads in tosses) / len(tosses)


@pytest.mark.parametrize("better", range(7))
@pytest.mark.parametrize("worse", range(6))
def test_the_sign_test_counts_tosses_of_a_coin(better: int, worse: int) -> None:
    assert sign_test(better, worse) == pytest.approx(tossed(better, worse), abs=1e-15)


def test_the_sign_test_of_many_pairs() -> None:
    assert sign_test(5, 0) == 0.0625
    assert sign_test(0, 2000) == 0.0
    assert sign_test(1000, 1000) == 1.0
    # scipy.stats.binomtest(900, 2000).pvalue
    assert sign_test(900, 1100) == pytest.approx(8.457089535503927e-06, rel=1e-12)


def slow_bootstrap(values: list[float], rng: np.random.Generator, level: float, resamples: int) -> tuple[float, float]:
    """One sample after the other, and quantiles by hand."""
    n = len(values)
    means = sorted(float(np.mean([values[i] for i in rng.integers(0, n, n)])) for _ in range(resamples))

    def quantile(part: float) -> float:
        at = part * (resamples - 1)
        low = int(at)
        high = min(low + 1, resamples - 1)
        return means[low] + (means[high] - means[low]) * (at - low)

    return quantile((1 - level) / 2), quantile((1 + level) / 2)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8), st.integers(0, 99))
def test_the_bootstrap_is_its_slow_twin(values: list[float], seed: int) -> None:
    fast = bootstrap_interval(np.array(values), np.random.default_rng(seed), 0.9, 50)
    slow = slow_bootstrap(values, np.random.default_rng(seed), 0.9, 50)
    assert fast == pytest.approx(slow, rel=1e-9, abs=1e-6)


def test_the_bootstrap_of_three_values_is_near_that_over_all_27_samples() -> None:
    values = np.array([0.0, 1.0, 5.0])
    means = [np.mean(each) for each in product(values, repeat=3)]
    low, high = bootstrap_interval(values, np.random.default_rng(1), 0.8, 100_000)
    assert (low, high) == pytest.approx(tuple(np.quantile(means, [0.1, 0.9], method="inverted_cdf")), abs=1e-9)


def test_samples_drawn_in_parts_are_those_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(10.0)
    whole = bootstrap_interval(values, np.random.default_rng(3))
    monkeypatch.setattr("workbench.study.statistics._AT_ONCE", 99)
    assert bootstrap_interval(values, np.random.default_rng(3)) == whole


def test_nothing_is_said_of_one_value() -> None:
    assert np.isnan(bootstrap_interval(np.array([1.0]), np.random.default_rng(0))).all()


def results(rows: list[tuple[str, str, str, int, float]]) -> pd.DataFrame:
    """Topology, workload, policy, seed and the mean wait of each run; every other number is 1."""
    others = {one.key: 1.0 for one in simulation_metrics()}
    return pd.DataFrame(
        [
            {
                "topology": t,
                "workload": w,
                "discipline": "fifo",
                "policy": p,
                "seed": s,
                **others,
                "waited_mean_s": wait,
            }
            for t, w, p, s, wait in rows
        ]
    )


def one_by_one(
    frame: pd.DataFrame, baseline: str, policy: str, by: list[str]
) -> dict[tuple[str, ...], dict[int, list[float]]]:
    """Differences of the mean wait, by seed, by looking for each run's partner among all rows."""
    found: dict[tuple[str, ...], dict[int, list[float]]] = {}
    for row in frame.to_dict("records"):
        for other in frame.to_dict("records"):
            same = all(row[key] == other[key] for key in ("topology", "workload", "discipline", "seed"))
            if same and row["policy"] == policy and other["policy"] == baseline:
                change = row["waited_mean_s"] - other["waited_mean_s"]
                if change == change:
                    found.setdefault(tuple(row[key] for key in by), {}).setdefault(row["seed"], []).append(change)
    return found


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    cells = list(product("xy", "lm", ("base", "new"), range(4)))
    kept = draw(st.lists(st.sampled_from(cells), unique=True, min_size=1))
    waits = st.sampled_from([0.0, 1.0, 2.5, 7.0, float("nan")])
    return results([("x", "l", "base", 9, 1.0), *((*cell, draw(waits)) for cell in sorted(kept))])


@given(frames(), st.booleans())
def test_pairs_are_runs_that_differ_in_the_policy_alone(frame: pd.DataFrame, pooled: bool) -> None:
    told = compare_in_pairs(frame, "base", ["waited_mean_s"], pooled=pooled)
    by = ["discipline"] if pooled else ["topology", "workload", "discipline"]
    want = one_by_one(frame, "base", "new", by)
    for row in told.to_dict("records"):
        of_seed = want.pop(tuple(row[key] for key in by), {})
        changes = [float(np.mean(each)) for each in of_seed.values()]
        assert (row["pairs"], row["seeds"]) == (sum(map(len, of_seed.values())), len(of_seed))
        assert row["better"] == sum(change < 0 for change in changes)
        assert row["worse"] == sum(change > 0 for change in changes)
        assert row["better"] + row["worse"] + row["equal"] == row["seeds"]
        if changes:
            assert row["difference"] == pytest.approx(np.mean(changes))
            assert row["mean"] - row["baseline"] == pytest.approx(row["difference"])
    assert want == {}


def test_a_row_by_hand() -> None:
    waits = {"base": [10.0, 20.0, 30.0, 40.0], "new": [9.0, 18.0, 33.0, 40.0]}
    frame = results(
        [("x", "l", policy, seed, wait) for policy, all_ in waits.items() for seed, wait in enumerate(all_)]
    )
    (row,) = compare_in_pairs(frame, "base", ["waited_mean_s"]).to_dict("records")
    assert (row["pairs"], row["better"], row["worse"], row["equal"], row["sign_p"]) == (4, 2, 1, 1, 1.0)
    assert (row["baseline"], row["mean"], row["difference"]) == (25.0, 25.0, 0.0)
    assert (row["unit"], row["wanted"]) == ("s", "less")
    low, high = bootstrap_interval(np.array([-1.0, -2.0, 3.0, 0.0]), np.random.default_rng(0))
    assert (row["low"], row["high"]) == (low, high)


def test_six_seeds_in_ten_scenarios_are_six_values() -> None:
    """Each seed is a little worse in every scenario, by an amount of its own: nothing is known but these six."""
    more = [1.0, 2.0, 3.0, 4.0, 5.0, 9.0]
    runs = [
        ("x", f"jobs {w}", policy, seed, 100.0 * w + (policy == "new") * more[seed])
        for w, policy, seed in product(range(10), ("base", "new"), range(6))
    ]
    (row,) = compare_in_pairs(results(runs), "base", ["waited_mean_s"], pooled=True).to_dict("records")
    assert (row["pairs"], row["seeds"], row["better"], row["worse"], row["equal"]) == (60, 6, 0, 6, 0)
    assert row["sign_p"] == 2 / 2**6
    assert (row["low"], row["high"]) == bootstrap_interval(np.array(more), np.random.default_rng(0))
    assert row["difference"] == 4.0


def test_a_seed_counts_once_however_many_scenarios_it_has() -> None:
    """Seed 0: +2 in one workload, +4 in the other; seed 1: -1 in one alone."""
    waits = {("l", 0): (1.0, 3.0), ("m", 0): (1.0, 5.0), ("l", 1): (2.0, 1.0)}
    runs = [("x", w, p, s, pair[i]) for (w, s), pair in waits.items() for i, p in enumerate(("base", "new"))]
    (row,) = compare_in_pairs(results(runs), "base", ["waited_mean_s"], pooled=True).to_dict("records")
    assert (row["pairs"], row["seeds"], row["better"], row["worse"]) == (3, 2, 1, 1)
    assert (row["baseline"], row["mean"], row["difference"]) == (1.5, 2.5, 1.0)


def test_an_interval_does_not_depend_on_what_else_is_compared() -> None:
    rng = np.random.default_rng(5)
    frame = results(
        [("x", "l", policy, seed, float(rng.random())) for policy in ("base", "b", "c") for seed in range(9)]
    )
    alone = compare_in_pairs(frame[frame["policy"] != "b"], "base", ["waited_mean_s"])
    among = compare_in_pairs(frame, "base")
    among = among[(among["policy"] == "c") & (among["outcome"] == "waited_mean_s")]
    assert alone[["low", "high"]].to_numpy().tolist() == among[["low", "high"]].to_numpy().tolist()
    assert list(dict.fromkeys(compare_in_pairs(frame, "base")["outcome"])) == [
        one.key for one in simulation_metrics() if one.better
    ]


def test_errors() -> None:
    frame = results([("x", "l", "base", 0, 1.0)])
    assert len(compare_in_pairs(frame, "base")) == 0
    with pytest.raises(UnknownNameError, match="did you mean base"):
        compare_in_pairs(frame, "bas")
    with pytest.raises(UnknownNameError, match="did you mean waited_mean_s"):
        compare_in_pairs(frame, "base", ["waited_mean"])
    with pytest.raises(InputError, match="no results to compare"):
        compare_in_pairs(frame[:0], "base")
