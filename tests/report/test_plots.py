"""Tests of plots: what they ask of the axes that they are given, and what is said without matplotlib."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.report.plots import plot_runs, plot_value

DEMO = Path(__file__).parents[2] / "datasets" / "demo"
REAL = importlib.util.find_spec("matplotlib") is not None


class Axes:
    """Axes that note what is drawn on them: (method, arguments, options)."""

    def __init__(self):
        self.calls = []
        self.figure = SimpleNamespace(colorbar=lambda image, ax, label: self.calls.append(("colorbar", (), label)))

    def __getattr__(self, name):
        return lambda *args, **options: self.calls.append((name, args, options))

    def of(self, name):
        return [call for call in self.calls if call[0] == name]


@pytest.fixture(scope="module")
def comparison():
    return wb.load(DEMO).compare(["binpack", "spread"])


@pytest.fixture(scope="module")
def result():
    tree = wb.generate_scenario("three-level-tree")
    jobs = [wb.SimulatedJob(wb.gang(f"job-{i}", pods=5, gpus=8), 0.0, 3600.0) for i in range(2)]
    return wb.simulate(tree, jobs, "binpack")


def test_pairs_by_tier_are_stacked(comparison):
    ax = Axes()
    assert comparison.plot(ax) is ax
    bars = ax.of("bar")
    pairs = comparison["binpack"].metrics["pod_pairs"]
    assert [bar[2]["label"] for bar in bars] == [f"tier {tier}" for tier in pairs]
    assert {bar[1][0] == ["binpack", "spread"] for bar in bars} == {True}
    assert [bar[1][1][0] for bar in bars] == list(pairs.values())
    assert bars[1][2]["bottom"].tolist() == bars[0][1][1].tolist()


def test_one_number_is_a_bar(comparison):
    ax = Axes()
    comparison.plot(ax, metric="gpus_stranded")
    (bar,) = ax.of("bar")
    assert bar[1][1] == [row.metrics["gpus_stranded"] for row in comparison.rows]
    assert ax.of("set_ylabel")[0][1] == ("GPUs stranded",)


def test_a_metric_of_the_jobs(comparison):
    ax = Axes()
    comparison.plot(ax=ax, kind="jobs", metric="nodes")
    binpack, spread = ax.of("bar")
    assert binpack[1][1] == [comparison["binpack"].metrics.jobs[gang.key]["nodes"] for gang in comparison.gangs]
    assert (binpack[2]["label"], spread[2]["label"]) == ("binpack", "spread")


def test_use_and_waiting_over_time(result):
    ax = Axes()
    result.plot(ax)
    ((_, (times, gpus), options),) = ax.of("step")
    assert (times.tolist(), gpus.tolist()) == ([0.0, 1.0, 2.0, 2.0], [40.0, 40.0, 0.0, 0.0]) or gpus.max() == 40
    assert options["where"] == "post" and ax.of("set_ylim")[0][1] == (0, 64)
    result.plot(ax, "waiting")
    assert max(ax.of("step")[1][1][1]) == 1


def test_runs_and_waits(result):
    ax = Axes()
    result.plot(ax, kind="gantt")
    ((_, (jobs, lasted), options),) = ax.of("barh")
    assert (jobs, lasted.tolist(), options["left"].tolist()) == ([0, 1], [1.0, 1.0], [0.0, 1.0])
    assert ax.of("set_yticks")[0][1][1] == result.to_dataframe()["job"].tolist()
    result.plot(ax, kind="waits")
    ((_, (waited, share), _),) = ax.of("step")
    assert (waited.tolist(), share.tolist()) == ([0.0, 1.0], [0.5, 1.0])


def test_a_heat_map_leaves_the_diagonal_out():
    ax = Axes()
    matrix = wb.BandwidthMatrix([[700, 48], [12, 700]], labels=["a", "b"])
    matrix.plot(ax)
    (image,) = ax.of("imshow")
    assert np.isnan(np.diagonal(image[1][0])).all() and image[1][0][1, 0] == 12
    assert ax.of("colorbar") == [("colorbar", (), "GB/s")] and ax.of("set_yticks")[0][1][1] == ["a", "b"]
    assert matrix.gb_s[0, 0] == 700


RUNS = pd.DataFrame({"policy": ["a", "b"] * 3, "waited_mean_s": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
FOUND = pd.DataFrame(
    [["b", "tree", "log", "waited_mean_s", 1.0, 0.5, 1.5]],
    columns=["policy", "topology", "workload", "outcome", "difference", "low", "high"],
)


def test_results_of_a_study_as_boxes_and_differences():
    ax = Axes()
    plot_runs(RUNS, lambda: FOUND, ax)
    assert ax.of("boxplot")[0][1] == ([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]],)
    plot_runs(RUNS, lambda: FOUND, ax, "differences")
    assert ax.of("errorbar")[0][2]["xerr"] == [[0.5], [0.5]]
    assert ax.of("set_yticks")[0][1] == ([0], ["b tree log"])


def test_a_study_draws_its_results():
    study = SimpleNamespace(compare=lambda results: FOUND)
    ax = Axes()
    assert wb.Study.plot(study, RUNS, ax, kind="differences") is ax and ax.of("errorbar")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "pie"}, "did you mean|known: bar, jobs"),
        ({"metrik": "nodes"}, "did you mean metric"),
        ({"metric": "node"}, "did you mean nodes"),
        ({"kind": "jobs", "metric": "nods"}, "did you mean nodes"),
    ],
)
def test_wrong_names_are_told(comparison, given, message):
    with pytest.raises(wb.UnknownNameError, match=message):
        comparison.plot(Axes(), **given)


def test_a_metric_by_tier_is_no_number_of_a_job(comparison):
    with pytest.raises(wb.InputError, match="not one number"):
        comparison.plot(Axes(), kind="jobs", metric="pod_pairs")


def test_without_matplotlib_one_line_says_what_to_install(comparison, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(wb.MissingExtraError, match=r'pip install "topology-workbench\[plot\]"'):
        comparison.plot()


@pytest.mark.skipif(not REAL, reason="matplotlib is not installed (extra plot)")
@pytest.mark.parametrize("kind", ["bar", "jobs", "usage", "waiting", "gantt", "waits", "heatmap", "box", "differences"])
def test_matplotlib_draws_every_kind(comparison, result, kind, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    if kind in ("box", "differences"):
        axes = plot_runs(RUNS, lambda: FOUND, kind=kind)
    else:
        values = {"bar": comparison, "jobs": comparison, "heatmap": wb.BandwidthMatrix([[0, 48], [12, 0]])}
        axes = plot_value(values.get(kind, result), kind=kind)
    axes.figure.savefig(tmp_path / "plot.pdf")
    assert axes.has_data()
