"""`workbench cost` and `workbench calibrate`: results, and refusals in one line with status 2."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run, job_yaml


def model(parameters: str = "8e9", hidden: str = "4096") -> list[str]:
    """Options of a model; a key must not be given twice."""
    keys = (f"parameters={parameters}", "layers=32", f"hidden={hidden}", "sequence=8192")
    return [word for each in keys for word in ("--model", each)]


MODEL = model()
MACHINE = ["--machine", "AWS p5.48xlarge"]
SPEEDS = ["--tier-gb-s", "1=2", "--tier-gb-s", "2=1"]
WIDE = [*MACHINE, "--shape", "4x8", *MODEL, *SPEEDS]


@pytest.fixture
def inputs(files: Path) -> list[Path]:
    """The small cluster and a job of four pods, which needs both leaves."""
    (files / "wide.yaml").write_text(job_yaml("wide", 4), encoding="utf-8")
    return [files / "cluster.yaml", files / "wide.yaml"]


def test_a_missing_machine_is_told_with_those_there_are(run: Run, inputs: list[Path]) -> None:
    result = run("cost", *inputs, "--shape", "4x8", *MODEL)
    assert result.status == 2
    assert "--machine: the option is needed" in result.err and "AWS p5.48xlarge" in result.err


def test_a_job_over_two_leaves_pays_for_the_second(run: Run, inputs: list[Path]) -> None:
    result = run("cost", *inputs, *MACHINE, "--shape", "4x8", *MODEL, *SPEEDS, "-o", "json")
    assert result.status == 0, result.err
    assert [tier["tier"] for tier in result.json["tiers"]] == [1]
    assert result.json["tiers"][0]["hypernodes"] == 2
    assert result.json["tiers"][0]["added_ms"] > 0
    assert [part["kind"] for part in result.json["parts"]] == ["tensor", "data"]
    low, high = (result.json["communication"]["exposed"][key] for key in ("low_ms", "high_ms"))
    assert 0 < low < high
    assert result.json["left_out"] and result.json["calibration"]["sources"]


@pytest.mark.slow
def test_the_table_names_tiers_interval_and_what_is_left_out(run: Run, inputs: list[Path]) -> None:
    said = run("cost", *inputs, *MACHINE, "--shape", "4x8", *MODEL, *SPEEDS, "--rank-order").out
    assert "communication" in said and "adds, ms per step" in said and "Left out:" in said and "tensor" in said


def test_huge_numbers_do_not_fill_the_page(run: Run, inputs: list[Path]) -> None:
    result = run("cost", *inputs, *MACHINE, "--shape", "4x8", *model("1e18", "999999999"), *SPEEDS)
    assert result.status == 0
    numbers = [word for word in result.out.split() if word.strip("(").replace(",", "")[:1].isdigit()]
    assert any("e+" in number for number in numbers) and max(map(len, numbers)) < 20


def test_a_job_that_stays_pending_is_status_1(run: Run, files: Path) -> None:
    (files / "large.yaml").write_text(job_yaml("large", 9), encoding="utf-8")
    result = run("cost", files / "cluster.yaml", files / "large.yaml", *MACHINE, "--shape", "9x8", *MODEL)
    assert result.status == 1 and "pending" in result.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(["--machine", "AWS p5", "--shape", "4x8", *MODEL, *SPEEDS], "p5.48xlarge", id="machine"),
        pytest.param([*MACHINE, "--shape", "4x8", *MODEL], "a fabric without speeds", id="no speeds"),
        pytest.param([*MACHINE, "--shape", "4x4", *MODEL, *SPEEDS], "does not fit the job", id="too small a shape"),
        pytest.param([*MACHINE, "--shape", "4*8", *MODEL, *SPEEDS], "no parallel shape", id="no shape"),
        pytest.param([*MACHINE, *MODEL, *SPEEDS], "no parallel shape", id="shape left out"),
        pytest.param([*MACHINE, "--shape", "4x8", *SPEEDS], "the model is not told", id="no model"),
        pytest.param([*MACHINE, "--shape", "4x8", *MODEL, "--model", "depth=3"], "no such key", id="unknown key"),
        pytest.param([*MACHINE, "--shape", "4x8", *MODEL, "--model", "micro_batch=x"], "wrong value", id="no number"),
        pytest.param([*WIDE, "--model", "sharded=maybe"], "expected true or false", id="no truth"),
        pytest.param([*WIDE, "--model", "kv_hidden=1e300"], "expected a whole number", id="no whole number"),
        pytest.param(
            [*MACHINE, "--shape", "4x8", *model("1e300")], "--model parameters: too large", id="too many parameters"
        ),
        pytest.param([*WIDE, "--model", "moe_layers=33"], "--model moe_layers: more than", id="too many experts"),
        pytest.param([*WIDE, "--model", "forward_ms=3"], "forward_ms and backward_ms", id="half a pass"),
        pytest.param([*MACHINE, "--shape", "4x8", *MODEL, "--tier-gb-s", "1=-3"], "no speed of a tier", id="speed"),
        pytest.param([*MACHINE, "--shape", "4x8", *MODEL, "--tier-gb-s", "7=3"], "no HyperNode", id="unknown tier"),
        pytest.param([*MACHINE, "--shape", "4x8", *MODEL, *SPEEDS, "--job", "x"], "no such job", id="unknown job"),
    ],
)
def test_refusals_are_one_line_with_status_2(run: Run, inputs: list[Path], options: list[str], said: str) -> None:
    result = run("cost", *inputs, *options)
    assert result.status == 2
    assert said in result.err
    assert len([line for line in result.err.splitlines() if not line.startswith("note")]) == 1


def test_calibrate_writes_what_cost_reads(run: Run, inputs: list[Path], tmp_path: Path) -> None:
    head = "source,machine,gpus_per_node,nodes,collective,bytes,time_us,note\n"
    rows = [
        f"s,mine,8,{nodes},{collective},{2**power},{20 + 2**power / 1e5},\n"
        for nodes in (1, 4)
        for collective in ("all_reduce", "alltoall")
        for power in range(10, 31, 4)
    ]
    (tmp_path / "collectives.csv").write_text(head + "".join(rows), encoding="utf-8")
    assert run("calibrate", tmp_path, "--name", "mine", "--out", tmp_path / "fit.json").status == 0
    assert json.loads((tmp_path / "fit.json").read_text())["name"] == "mine"
    options = ["--machine", "mine", "--calibration", tmp_path / "fit.json", "--shape", "4x8", *MODEL, *SPEEDS]
    result = run("cost", *inputs, *options, "-o", "json")
    assert result.status == 0 and result.json["calibration"]["name"] == "mine"


def test_calibrate_refuses_a_folder_without_measurements(run: Run, tmp_path: Path) -> None:
    result = run("calibrate", tmp_path)
    assert result.status == 2 and "collectives.csv" in result.err


def test_no_command_wants_the_speed_of_a_tier_that_nothing_crosses(run: Run, files: Path) -> None:
    inputs = files / "cluster.yaml", files / "near.yaml"
    (files / "near.yaml").write_text(job_yaml("near", 2), encoding="utf-8")
    priced = [*MACHINE, *MODEL]
    assert run("cost", *inputs, *priced, "--shape", "2x8", "--policy", "volcano").status == 0
    assert run("compare", *inputs, *priced, "--shape", "near=2x8", "--policies", "volcano").status == 0


def test_the_example_of_compare_runs(run: Run, files: Path) -> None:
    (files / "train.yaml").write_text(job_yaml("train", 4), encoding="utf-8")
    cluster = Path(__file__).parents[2] / "datasets" / "job-log" / "cluster.yaml"
    result = run(
        "compare", cluster, files / "train.yaml", *MACHINE, "--shape", "train=4x8", *MODEL, "--tier-gb-s", "1=50"
    )
    assert result.status == 0, result.err


@pytest.mark.slow
def test_compare_prices_the_jobs_that_are_named(run: Run, inputs: list[Path]) -> None:
    arguments = ["compare", *inputs, "--policies", "binpack,spread"]
    priced = [*MACHINE, "--shape", "wide=4x8", *MODEL, *SPEEDS]
    result = run(*arguments, *priced, "-o", "json")
    assert result.status == 0
    for row in result.json["policies"]:
        assert row["metrics"]["jobs"]["default/wide"]["communication"]["communication_ms"] > 0
    table = run(*arguments, *priced).out
    assert re.search(r"[\d.]+ \([\d.]+–[\d.]+\) +[\d.]+ \([\d.]+–[\d.]+\)", table)
    assert "calibration collectives" in table and "Left out:" in table
    header = run(*arguments, *priced, "-o", "csv").out.splitlines()[0].split(",")
    assert {f"communication_{end}{unit}" for end in ("low_", "", "high_") for unit in ("ms", "gb_s")} <= set(header)
    for options, said in (
        (["--shape", "wide=4x8"], "--shape: an option of the communication"),
        (["--calibration", "nofile"], "--calibration: an option of the communication"),
        ([*priced, "--shape", "wide=8x4"], "--shape: given twice"),
        ([*priced, "--shape", "default/wide=8x4"], "--shape: given twice"),
        ([*priced, *SPEEDS], "--tier-gb-s: given twice"),
        ([*MACHINE, *MODEL, *SPEEDS], "no job to price"),
        ([*MACHINE, "--shape", "other=4x8", *MODEL, *SPEEDS], "no such job"),
        ([*MACHINE, "--shape", "4x8", *MODEL, *SPEEDS], "no key and value"),
        ([*MACHINE, "--shape", "wide=4x8", *MODEL], "--tier-gb-s 1="),
    ):
        bad = run(*arguments, *options)
        assert (bad.status, bad.out) == (2, "")
        assert said in bad.err


@pytest.mark.slow
def test_a_model_may_be_named(run: Run, inputs: list[Path]) -> None:
    def priced(*keys: str) -> object:
        given = [word for each in keys for word in ("--model", each)]
        result = run("cost", *inputs, *MACHINE, "--shape", "4x8", *given, *SPEEDS, "-o", "json")
        assert result.status == 0, result.err
        return {key: value for key, value in result.json.items() if key != "provenance"}

    written = ("parameters=8.03e9", "layers=32", "hidden=4096", "kv_hidden=1024")
    assert priced("llama3.1-8b", "sequence=8192") == priced(*written, "sequence=8192")
    assert priced("llama3.1-8b", "sequence=8192", "layers=16") == priced(
        "parameters=8.03e9", "layers=16", "hidden=4096", "kv_hidden=1024", "sequence=8192"
    )
    experts = ("parameters=671e9", "expert_parameters=634e9", "layers=61", "hidden=7168", "kv_hidden=576")
    more = ("moe_layers=58", "top_k=8", "sequence=4096")
    assert priced("deepseek-v3", "sequence=4096") == priced(*experts, *more)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ("lama3.1-8b", "sequence=1"),
            "no model of this name (found 'lama3.1-8b', expected KEY=VALUE, or a model ",
        ),
        (("lama3.1-8b", "sequence=1"), "llama3.1-8b"),
        (("llama3.1-8b", "llama3-70b", "sequence=1"), "more than one model is named"),
        (("llama3.1-8b",), "the model is not told (expected sequence=)"),
        (("",), "no model of this name"),
    ],
)
def test_a_model_that_is_not_told_is_one_line(run: Run, inputs: list[Path], given: tuple[str, ...], said: str) -> None:
    words = [word for each in given for word in ("--model", each)]
    result = run("cost", *inputs, *MACHINE, "--shape", "4x8", *words, *SPEEDS)
    assert (result.status, result.out) == (2, "") and said in result.err and len(result.err.splitlines()) == 1
