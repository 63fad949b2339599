"""The commands ``workbench study run`` and ``workbench study show``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.study.small import STUDY, small_study, write_small
from workbench.study import Study
from workbench.study.results import keep_result, prepare_folder
from workbench.study.work import package_digest, simulate_case


def done(folder: Path, runs: slice = slice(None), text: str = STUDY) -> Path:
    """The small study with the results of some of its runs, as a killed command leaves them; returns its file."""
    keep(small_study(folder, text), folder / "study-results", runs)
    return folder / "study.yaml"


def keep(study: Study, results: Path, runs: slice = slice(None)) -> None:
    """Do some runs in this process and keep their results in a folder."""
    prepare_folder(results)
    for run in study.runs[runs]:
        policy = study.policy_of(run.policy, run.workload, run.seed)
        case = study.cases[run.topology, run.workload]
        summary = simulate_case(case, policy, run.discipline, run.seed, package_digest())
        keep_result(results, run, summary)


@pytest.mark.slow
def test_run_does_the_runs_and_shows_them(run: Run, tmp_path: Path) -> None:
    file = write_small(tmp_path)
    result = run("study", "run", file, "--workers", "1")
    assert result.status == 0
    assert "12 runs; all results: " in result.err
    assert result.out == run("study", "show", file).out
    assert len(Study.read(file).results(tmp_path / "study-results")) == 12


def test_run_with_all_results_starts_nothing(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = done(tmp_path)
    monkeypatch.setattr("workbench.study.run.connected", None)
    result = run("study", "run", file, "-o", "json")
    assert result.status == 0 and len(result.json["results"]) == 12
    assert (tmp_path / "study-results" / "results.parquet").is_file()


def test_run_says_by_its_status_that_a_job_never_ran(run: Run, tmp_path: Path) -> None:
    file = done(tmp_path, slice(0, 0), STUDY.replace("disciplines: [fifo, best-effort]\n", "").replace("0-2", "0"))
    with (tmp_path / "jobs.csv").open("a") as log:
        log.write("huge,0,60,99,8\n")
    keep(Study.read(file), tmp_path / "study-results")
    result = run("study", "run", file)
    assert result.status == 1 and "never ran (jobs)" in result.out
    for policy in ("binpack", "spread"):
        line = f"1 job never ran under {policy}; waiting times count only jobs that ran"
        assert f"note: {line}\n" in result.err and f"{line}\n" in result.out
        assert line in run("study", "show", file, "-o", "json").json["notes"]
    chosen = run("study", "show", file, "--metric", "gpu_use")
    assert "never ran (jobs)" not in chosen.out and "never ran under binpack" in chosen.err


@pytest.mark.slow
def test_show_has_means_and_differences(run: Run, tmp_path: Path) -> None:
    result = run("study", "show", done(tmp_path))
    assert result.status == 0
    assert "small: means" in result.out
    assert "four nodes, jobs 90 %, fifo: 3 pairs" in result.out
    assert "wait, mean (min)" in result.out and "12 runs." in result.out
    pooled = run("study", "show", tmp_path / "study.yaml", "--pool", "--metric", "restarts")
    assert "all, all, fifo: 3 pairs" in pooled.out and "wait" not in pooled.out
    two = STUDY.replace("load: 90\n", "load: 90\n  - {trace: jobs.csv, load: 50}\n")
    (tmp_path / "two").mkdir()
    pooled = run("study", "show", done(tmp_path / "two", text=two), "--pool", "--metric", "restarts")
    assert "all, all, fifo: 3 seeds in 6 pairs" in pooled.out and "better and worse count seeds" in pooled.out


def test_what_is_not_done_yet_is_told(run: Run, tmp_path: Path) -> None:
    result = run("study", "show", done(tmp_path, slice(0, 5)))
    assert result.status == 1
    assert "7 of 12 runs not done yet" in result.err
    assert "7 runs are not done yet" in result.out
    assert "2 pairs" in result.out


def test_what_the_inputs_lack_is_told(run: Run, tmp_path: Path) -> None:
    file = done(tmp_path)
    result = run("study", "run", file)
    assert result.status == 0
    assert result.err.startswith("note: no bandwidth matrix for 4 nodes with several GPUs\n")


def test_no_results_at_all(run: Run, tmp_path: Path) -> None:
    result = run("study", "show", write_small(tmp_path))
    assert result.status == 2
    assert "study-results: no results of this study" in result.err and "workbench study run" in result.err


@pytest.mark.slow
def test_other_forms(run: Run, tmp_path: Path) -> None:
    file = done(tmp_path)
    told = run("study", "show", file, "-o", "json").json
    assert (told["study"], told["baseline"], told["missing"], len(told["results"])) == ("small", "binpack", 0, 12)
    assert {row["policy"] for row in told["differences"]} == {"spread"}
    assert set(told["provenance"]["inputs"]) == {"cluster.yaml", "jobs.csv"}
    lines = run("study", "show", file, "-o", "csv").out.splitlines()
    assert lines[0].startswith("topology,workload,discipline,outcome,unit,wanted,policy,pairs,seeds,baseline,mean")
    assert len(lines) == 1 + len(told["differences"])
    svg = run("study", "show", file, "-o", "svg", "--metric", "waited_p99_s").out
    assert svg.startswith("<svg") and svg.count("<circle") == 2 and "wait, p99 (min)" in svg
    page = run("study", "show", file, "-o", "html").out
    assert page.count("<svg") == 3 and page.count("<table") == 3 and "bootstrap" in page


def test_one_policy_has_means_alone(run: Run, tmp_path: Path) -> None:
    text = STUDY.replace("[binpack, spread]", "[binpack]")
    file = done(tmp_path, text=text)
    result = run("study", "show", file)
    assert result.status == 0 and "means" in result.out and "pairs of" in result.out
    assert run("study", "show", file, "-o", "html").out.count("<svg") == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("path: cluster.yaml", "path: nowhere.yaml", "nowhere.yaml"),
        ("path: cluster.yaml", "path: jobs.csv", "study.yaml, topologies[0]"),
        ("trace: jobs.csv", "trace: cluster.yaml", "cluster.yaml: no log of jobs"),
        ("[binpack, spread]", "[binpak]", "study.yaml: policies[0]: unknown policy 'binpak'"),
        ("[binpack, spread]", "[binpack, binpack]", "study.yaml: policies[1]: the same name twice (found binpack"),
        (
            "[binpack, spread]",
            "[{policy: binpack, set: {x: 1}}]",
            "study.yaml: policies[0]: unknown parameter of binpack 'x'",
        ),
        ("[binpack, spread]", "[{policy: binpack, set: {gpu_weight: -1}}]", "study.yaml, policies[0]"),
        ("[binpack, spread]", "[{policy: volcano, set: {config: no.conf}}]", "no.conf"),
        ("[fifo, best-effort]", "[fifa]", "study.yaml: the study: unknown discipline 'fifa'"),
        ("load: 90", "load: 90\n    arrivals: never", "study.yaml: workloads[0]: no kind of arrivals (found never"),
        ("repair_s: 300", "repair_s: 0", "study.yaml, faults"),
        ("seeds: 0-2", "seeds: [1, 1]", "study.yaml: seeds: a value twice"),
        (
            "path: cluster.yaml",
            "path: cluster.yaml\n    network: {card_gb_s: 5, tiers: {1: 2}}",
            "study.yaml: topologies[0].network: no job has a training step",
        ),
        (
            "load: 90",
            "step: {compute_s: 1, data_gb: 4}",
            "study.yaml: workloads[0].step: a step without a network (expected network: {card_gb_s: …} in a topology)",
        ),
        ("name: small", "baseline: volcano", "study.yaml: the study: unknown policy of the study 'volcano'"),
        ("name: small", "nane: small", "study.yaml: nane: a key that is not known (expected name or baseline)"),
    ],
)
def test_bad_input_is_one_line(run: Run, tmp_path: Path, old: str, new: str, message: str) -> None:
    result = run("study", "show", write_small(tmp_path, STUDY.replace(old, new)))
    assert result.status == 2 and result.out == ""
    assert message in result.err and result.err.count("\n") == 1


def test_unknown_metrics_and_places(run: Run, tmp_path: Path) -> None:
    file = done(tmp_path, slice(0, 1))
    result = run("study", "show", file, "--metric", "wait_mean_s")
    assert result.status == 2 and "did you mean waited_mean_s" in result.err
    assert run("study", "run", file, "--workers", "0").status == 2
    assert run("study", "run", tmp_path / "none.yaml").status == 2


def test_no_scheduler_at_the_address(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.study.cluster._ANSWER_S", 0.2)
    result = run("study", "run", write_small(tmp_path), "--scheduler", "tcp://127.0.0.1:9")
    assert result.status == 3 and "no Dask scheduler answers" in result.err
    assert [line.partition(":")[0] for line in result.err.splitlines()] == ["note", "workbench"]
    assert not (tmp_path / "study-results").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--scheduler", "nope"),
        ("--workers", "1", "--scheduler", "tcp://127.0.0.1:9"),
        ("--workers", "1000"),
    ],
)
def test_a_refused_option_leaves_no_folder(run: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    result = run("study", "run", write_small(tmp_path), *options)
    assert result.status == 2
    assert result.err.startswith(f"workbench: {options[0]}: ") and result.err.count("\n") == 1
    assert not (tmp_path / "study-results").exists()
