"""The command ``workbench simulate``."""

from __future__ import annotations

import io
import json
import os
import threading
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run
from workbench.model.number_text import duration_text

SAMPLE = Path(__file__).parents[2] / "datasets" / "job-log"
CLUSTER, JOBS = SAMPLE / "cluster.yaml", SAMPLE / "jobs.csv"
HEAD = "name,submit_s,duration_s,pods,gpus_per_pod\n"


def test_table_has_a_row_per_policy(run: Run) -> None:
    result = run("simulate", CLUSTER, "--trace", JOBS, "--policies", "volcano,binpack")
    assert result.status == 0
    assert "200 jobs, best-effort; times in hours" in result.out
    rows = [line.split() for line in result.out.splitlines() if line.strip().startswith(("volcano", "binpack"))]
    assert [row[1] for row in rows] == ["200", "200"]


def test_nodes_that_taints_close_are_counted_once(run: Run, tmp_path: Path) -> None:
    nodes = list(yaml.safe_load_all(CLUSTER.read_text("utf-8")))
    hard = [one for one in nodes if one["kind"] == "Node"][:3]
    for one, effect in zip(hard, ("NoSchedule", "NoExecute", "PreferNoSchedule"), strict=True):
        one.setdefault("spec", {})["taints"] = [{"key": "a", "effect": effect}]
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all(nodes), encoding="utf-8")
    told = run("simulate", path, "--trace", JOBS, "--policies", "volcano,binpack").err
    total = sum(one["kind"] == "Node" for one in nodes)
    assert told.count("tolerate no taints") == 1 and f"close 2 of {total} nodes" in told
    assert "taints" not in run("simulate", CLUSTER, "--trace", JOBS, "--policies", "binpack").err


def test_a_narrow_terminal_keeps_numbers_whole(on_terminal: Run) -> None:
    result = on_terminal("simulate", CLUSTER, "--trace", JOBS, "--policies", "volcano,binpack")
    rows = [line.split() for line in result.out.splitlines() if line.strip().startswith(("volcano", "binpack"))]
    assert [row[1] for row in rows] == ["200", "200"] and all(len(row[2]) == 4 for row in rows)


def test_faults_are_the_seeds(run: Run) -> None:
    arguments = ("simulate", CLUSTER, "--trace", JOBS, "--policies", "binpack", "--faults", "3", "-o", "json")
    first, again = run(*arguments), run(*arguments)
    assert first.out == again.out
    assert "breakdown" in first.err
    (told,) = first.json
    assert told["summary"]["completed"] == 200
    assert len(told["jobs"]) == 200
    other = run("simulate", CLUSTER, "--trace", JOBS, "--policies", "binpack", "--faults", "4", "-o", "json")
    assert other.json[0]["usage"] != told["usage"]


def test_faults_count_until_the_last_job_has_ended(run: Run, tmp_path: Path) -> None:
    """A job that fits nowhere lets the simulation go on through all faults; those met nobody."""
    log = tmp_path / "log.csv"
    log.write_text(f"{HEAD}huge,0,60,99,8\nlong,0,5184000,1,8\n")
    arguments = ("simulate", CLUSTER, "--trace", log, "--faults", "1", "--policies")
    told = run(*arguments, "binpack", "-o", "json")
    (result,) = told.json
    assert result["summary"]["makespan_s"] >= 5_184_000
    assert duration_text(result["summary"]["makespan_s"]) in told.err
    count = int(told.err.split(" breakdown")[0].split()[-1])
    times = [row["time_s"] for row in result["usage"] if row["time_s"] > result["summary"]["makespan_s"]]
    assert count > 0 and times, "faults lie beyond the last completion, and are not counted"
    page = run(*arguments, "binpack", "-o", "html").out
    assert ">2,000<" not in page and ">1000<" in page, "charts end with the last job"
    both = run(*arguments, "binpack,spread").err
    assert " breakdowns in " in both or " breakdowns until the last job ended" in both


def test_arrivals_at_a_load(run: Run) -> None:
    arguments = ("simulate", CLUSTER, "--trace", JOBS, "--policies", "binpack", "-o", "json", "--load")
    light, heavy = (run(*arguments, load, "--seed", "1").json[0]["summary"] for load in ("30", "200"))
    assert light["waited_mean_s"] < heavy["waited_mean_s"]
    bursty = run(*arguments, "30", "--arrivals", "bursty", "--seed", "1").json[0]["summary"]
    assert bursty["completed"] == 200
    assert bursty != light


def test_other_forms_and_a_stop(run: Run, tmp_path: Path) -> None:
    result = run("simulate", CLUSTER, "--trace", JOBS, "--policies", "binpack", "--until", "3600", "-o", "csv")
    assert result.status == 0
    lines = result.out.splitlines()
    assert lines[0].startswith("job,queue,priority,pods,submitted_s,started_s,ended_s,waited_s")
    assert len(lines) == 201
    target = tmp_path / "use.svg"
    assert run("simulate", CLUSTER, "--trace", JOBS, "-o", "svg", "--out", target).status == 0
    assert target.read_text().count("<polyline") + target.read_text().count("<path") >= 3


def test_the_page_shows_use_waiting_and_a_gantt_chart(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("name,submit_s,duration_s,pods,gpus_per_pod\nhuge<b>,0,60,99,8\nsmall,0,36000,1,8\nnext,5,9,24,8\n")
    result = run("simulate", CLUSTER, "--trace", log, "--policies", "volcano,binpack", "-o", "html")
    assert result.status == 1
    assert result.out.count("<svg") == 9
    for text in ("GPUs in use", "Why jobs wait, binpack", "binpack: 3 jobs", "never ran", "default/huge&lt;b&gt;"):
        assert text in result.out
    assert "huge<b>" not in result.out
    # Only small runs until next begins: an eighth of 24 nodes is in use for ten hours.
    assert "submitted, 0.0014 to" in result.out


def test_the_page_of_a_simulation_in_which_nothing_ran(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(f"{HEAD}huge,0,10,500,8\n")
    result = run("simulate", CLUSTER, "--trace", log, "--policies", "binpack", "-o", "html")
    assert result.status == 1
    assert "jobs that never ran" in result.out
    assert "default/huge" in result.out


def test_a_job_that_fits_nowhere_is_named(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("name,submit_s,duration_s,pods,gpus_per_pod\nhuge,0,60,99,8\nsmall,0,60,1,8\n")
    result = run("simulate", CLUSTER, "--trace", log, "--policies", "volcano")
    assert result.status == 1
    assert "default/huge" in result.out
    assert "times in seconds" in result.out


@pytest.mark.slow
def test_pods_of_openb_share_gpus(run: Run, tmp_path: Path) -> None:
    shared = SAMPLE.parent / "shared-gpus"
    arguments = ("simulate", shared / "nodes.csv", "--trace", shared / "pods.csv")
    result = run(*arguments, "--policies", "fgd,fgd-best-fit", "-o", "json")
    assert result.status == 0
    for told in result.json:
        assert told["summary"]["completed"] == 300
        assert max(row["gpus"] for row in told["usage"]) <= 24 * 8 + 8 * 4 + 8 * 2
        assert any(row["gpus"] % 1 for row in told["usage"])
        assert told["usage"][-1]["gpus"] == 0
    by_usual = dict(result.json[0]["provenance"]["policies"][0]["parameters"]["typical"])
    assert sum(by_usual.values()) == 300
    refused = run(*arguments, "--policies", "volcano")
    assert refused.status == 1
    assert "thousandths of a GPU" in refused.out
    pods = tmp_path / "pods.csv"
    pods.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,0,0\n")
    assert "no pod with times" in run("simulate", shared / "nodes.csv", "--trace", pods).err
    assert "need its nodes" in run("simulate", CLUSTER, CLUSTER, "--trace", shared / "pods.csv").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--trace: no jobs given"),
        (("--trace", "none.csv"), "none.csv"),
        (("--trace", str(CLUSTER)), "no log of jobs"),
        (("--trace", str(JOBS), "--policies", ""), "no policy given"),
        (("--trace", str(JOBS), "--discipline", "lifo"), "--discipline"),
        (("--trace", str(JOBS), "--restart", "-1"), "--restart"),
        (("--trace", str(JOBS), "--faults", "x"), "--faults"),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    result = run("simulate", CLUSTER, *arguments)
    assert result.status == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert result.out == ""


NETWORK = ("--card-gb-s", "50", "--tier-gb-s", "1=12.5", "--tier-gb-s", "2=6", "--cables", "1=8", "--rails", "4")
STEP = ("--step", "compute_s=1", "--step", "data_gb=40")


@pytest.mark.slow
def test_jobs_share_a_network(run: Run) -> None:
    arguments = ("simulate", CLUSTER, "--trace", JOBS, "--policies", "volcano,binpack", *NETWORK, *STEP)
    assert "network cost" in run(*arguments).out
    page = run(*arguments, "-o", "html").out
    assert "Step times" in page and "binpack: mean use of the links" in page
    assert "s6: no links above it" in page and "s6 0%" not in page
    told = [run(*arguments, "--phases", end, "-o", "json").json for end in ("together", "interleaved")]
    slowed = [[result["summary"]["slowed"] for result in each] for each in told]
    assert all(here >= there >= 0 for here, there in zip(*slowed, strict=True))
    assert slowed[0][0] > 0
    plain = run("simulate", CLUSTER, "--trace", JOBS, "--policies", "volcano", "-o", "json").json
    assert plain[0]["summary"]["slowed"] == 0


def test_steps_of_a_table(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "jobs.csv"
    head = "name,submit_s,duration_s,pods,gpus_per_pod,compute_s,data_gb,shape\n"
    log.write_text(head + "a,0,100,8,8,1,40,8x8\nb,0,100,8,8,1,40,\nc,0,100,1,8,,,\n")
    result = run("simulate", CLUSTER, "--trace", log, "--policies", "binpack", *NETWORK, "-o", "json")
    assert result.status == 0
    assert [job["slowed_s"] > 0 for job in result.json[0]["jobs"]] == [True, True, False]
    for row, place in (
        ("a,0,1,8,8,1,40,4x8", "does not fit the job"),
        ("a,0,1,8,8,1,-4,", "line 2, data_gb"),
        ("a,0,1,8,8,,4,", "line 2, compute_s"),
        ("a,0,1,8,8,1,4,8*8", "line 2, shape"),
        ("a,0,1,8,8,1,4,8x8x1x1x3", "EP divides DP x CP x TP"),
    ):
        log.write_text(head + row + "\n")
        bad = run("simulate", CLUSTER, "--trace", log, *NETWORK)
        assert (bad.status, bad.out) == (2, "")
        assert place in bad.err


@pytest.mark.parametrize(
    "options, said",
    [
        (("--card-gb-s", "50", *STEP), "no speed of tier 1, 2"),
        (("--card-gb-s", "0", *STEP), "--card-gb-s: no speed"),
        (("--card-gb-s", "nan", *STEP), "--card-gb-s: no speed"),
        (("--rails", "2"), "--rails: an option of a network"),
        ((*NETWORK, "--cables", "3=2", *STEP), "cables of a tier without a speed"),
        ((*NETWORK, "--cables", "2=0", *STEP), "no cables of a tier"),
        ((*NETWORK, "--tier-gb-s", "9=1", *STEP), "no HyperNode of this tier"),
        (NETWORK, "no job has a training step"),
        (STEP, "--step: an option of a network"),
        (("--phases", "interleaved"), "--phases: an option of a network"),
        ((*NETWORK, "--tier-gb-s", "1=2", *STEP), "--tier-gb-s: given twice (found '1=2', expected one value for 1)"),
        ((*NETWORK, *STEP, "--step", "data_gb=4"), "--step: given twice"),
        ((*NETWORK, "--cables", "1=2", *STEP), "--cables: given twice"),
        ((*NETWORK, "--step", "compute_s=1"), "no training step"),
        ((*NETWORK, "--step", "compute_s=1", "--step", "data_gb=-1"), "no training step"),
        ((*NETWORK, *STEP, "--routes", "random"), "hashed or static or spread"),
    ],
)
def test_bad_networks(run: Run, options: tuple[str, ...], said: str) -> None:
    result = run("simulate", CLUSTER, "--trace", JOBS, *options)
    assert (result.status, result.out) == (2, "")
    assert said in result.err


SHAPE = {"model": "llama3.1-8b", "gpus": 16, "dp": 2, "tp": 8, "pp": 1, "cp": 1, "ep": 1}
SHAPE |= {"seq_len": 8192, "micro_batch": 1, "global_batch": 32, "fsdp": False}


def test_jobs_of_published_shapes(run: Run, tmp_path: Path) -> None:
    shapes = tmp_path / "shapes.json"
    shapes.write_text(json.dumps([SHAPE, {**SHAPE, "gpus": 64, "dp": 8}, {**SHAPE, "model": "secret"}]))
    arguments = ("simulate", CLUSTER, "--shapes", shapes, "--jobs", "30", "--policies", "binpack", *NETWORK)
    result = run(*arguments, "--load", "90", "--gpu-tflops", "400", "-o", "json")
    assert result.status == 0
    assert result.json[0]["summary"]["completed"] == 30
    assert result.json[0]["summary"]["slowed"] > 0
    assert "1 shape left out: the size of secret is not known" in result.err
    for options, said in (
        (("--load", "90"), "--gpu-tflops is required with --shapes"),
        (("--gpu-tflops", "400"), "published shapes have no times"),
        (("--gpu-tflops", "-1", "--load", "90"), "--gpu-tflops: no speed of a GPU"),
        (("--gpu-tflops", "400", "--load", "90", "--trace", JOBS), "--trace beside it"),
    ):
        bad = run(*arguments, *options)
        assert (bad.status, bad.out) == (2, "")
        assert said in bad.err


@pytest.mark.parametrize("options", [("--jobs", "3"), ("--gpu-tflops", "400"), ("--arrivals", "bursty")])
def test_options_without_the_one_that_they_belong_to(run: Run, options: tuple[str, ...]) -> None:
    result = run("simulate", CLUSTER, "--trace", JOBS, *options)
    assert (result.status, result.out) == (2, "")
    needed = "--load" if options[0] == "--arrivals" else "--shapes"
    assert result.err.startswith(f"workbench: {options[0]}: ") and f"{needed} beside it" in result.err


def test_a_trace_from_a_pipe(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = f"{HEAD}a,0,10,2,8\n".encode()
    want = run("simulate", CLUSTER, "--trace", JOBS, "-o", "csv").out.splitlines()[0]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    result = run("simulate", CLUSTER, "--trace", "-", "-o", "csv")
    assert result.status == 0 and result.out.splitlines()[0] == want
    assert run("simulate", "-", "--trace", "-").err.startswith("workbench: --trace: standard input twice")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    try:
        assert run("simulate", CLUSTER, "--trace", pipe, "-o", "csv").out == result.out
    finally:
        writer.join()


@pytest.mark.slow
def test_pods_of_openb_from_a_pipe(run: Run, tmp_path: Path) -> None:
    shared = SAMPLE.parent / "shared-gpus"
    arguments = ("simulate", shared / "nodes.csv", "--policies", "fgd", "-o", "csv", "--trace")
    pipe = tmp_path / "pods.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=((shared / "pods.csv").read_bytes(),))
    writer.start()
    try:
        assert run(*arguments, pipe).out == run(*arguments, shared / "pods.csv").out
    finally:
        writer.join()
