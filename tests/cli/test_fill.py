"""The command ``workbench fill``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

SAMPLE = Path(__file__).parents[2] / "datasets" / "shared-gpus"
FILES = (SAMPLE / "nodes.csv", SAMPLE / "pods.csv")


def test_table_lists_policies_by_what_they_leave(run: Run) -> None:
    result = run("fill", *FILES, "--seeds", "1-2", "--policies", "fgd,fgd-random")
    assert result.status == 0
    lines = [line.split() for line in result.out.splitlines() if line.strip().startswith("fgd")]
    assert [line[0] for line in lines] == ["fgd", "fgd-random"]
    assert float(lines[0][3]) < float(lines[1][3])


def test_other_forms(run: Run, tmp_path: Path) -> None:
    told = run("fill", *FILES, "--seeds", "7", "--policies", "fgd", "-o", "json").json
    assert told["summary"][0]["policy"] == "fgd"
    assert told["summary"][0]["sd"] is None
    assert len(told["curves"]) == 1
    assert set(told["provenance"]["inputs"]) == {"nodes.csv", "pods.csv"}
    lines = run("fill", *FILES, "--seeds", "7", "--policies", "fgd", "-o", "csv").out.splitlines()
    assert lines[0] == "policy,seed,arrived,allocated,fragmented,fragmented_of_idle"
    target = tmp_path / "curves.svg"
    assert run("fill", *FILES, "--seeds", "7", "--policies", "fgd,headroom", "-o", "svg", "--out", target).status == 0
    assert target.read_text().startswith("<svg")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--seeds", "5-3"), "--seeds: no range of seeds"),
        (("--seeds", "x"), "--seeds: no range of seeds"),
        (("--load", "0"), "--load"),
        (("--policies", "volcano"), "--policies: volcano-1.15 cannot share GPUs"),
        (("--policies", ""), "no policy given"),
        (("--policies", "fgdd"), "did you mean"),
        (("--orders", "nowhere"), "no order of arrival"),
        (("--set", "typical=1:2"), "typical"),
        (("-o", "svg", "--out", "no/such/folder.svg"), "cannot be written"),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    result = run("fill", *FILES, *arguments)
    assert result.status == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert result.out == ""


def test_the_file_without_gpus_is_named(run: Run, tmp_path: Path) -> None:
    pods, nodes = tmp_path / "p10.csv", tmp_path / "nodes.csv"
    pods.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,1,0,0\n")
    result = run("fill", FILES[0], pods, "--seeds", "1")
    assert result.status == 2
    assert f"{pods}: nothing to fill the cluster with" in result.err
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,64000,1024,0,\n")
    result = run("fill", nodes, FILES[1], "--seeds", "1")
    assert result.status == 2
    assert "expected models of the nodes: none, as no node has GPUs" in result.err


def test_orders_name_rows_of_the_file_whatever_their_order(run: Run, tmp_path: Path) -> None:
    """Two files of pods, one of them upside down, give equal curves if the order of arrivals fits each."""
    head, *rows = FILES[1].read_text().splitlines()
    arrivals = [5, 3, 3, *range(len(rows)), 0]
    ranks = list(range(len(FILES[0].read_text().splitlines()) - 1))
    curves = []
    for name, lines, order in (
        ("a", rows, arrivals),
        ("b", rows[::-1], [len(rows) - 1 - row for row in arrivals]),
    ):
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *lines, ""]))
        (tmp_path / f"{name}-7.json").write_text(json.dumps({"order": order, "node_rank": ranks}))
        options = ("--seeds", "7", "--policies", "fgd", "--orders", tmp_path, "-o", "json")
        curves.append(run("fill", FILES[0], tmp_path / f"{name}.csv", *options).json["curves"])
    assert curves[0] == curves[1]


def test_unknown_models_are_told_and_not_refused(run: Run, tmp_path: Path) -> None:
    text = FILES[1].read_text()
    assert "T4" in text
    (tmp_path / "pods.csv").write_text(text.replace("T4", "T4|H900", 1))
    result = run("fill", FILES[0], tmp_path / "pods.csv", "--seeds", "7", "--policies", "fgd")
    assert result.status == 0
    assert result.err == "note: 1 pod accepts GPU models that no node has: H900\n"
