"""The command ``workbench fill``."""

from __future__ import annotations

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
