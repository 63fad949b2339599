from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

CONF = "SwitchName=s2 Switches=s[0-1]\nSwitchName=s0 Nodes=node[0-1]\nSwitchName=s1 Nodes=node[2-3]\n"


def test_a_topology_is_written_and_what_is_lost_is_told(run: Run, files: Path) -> None:
    result = run("topology", "convert", "-f", files / "cluster.yaml", "--to", "slurm")
    assert result.status == 0
    assert result.out == CONF
    assert "not written: 4 nodes with resources (the format cluster holds them)\n" in result.err


def test_it_goes_to_a_file_that_is_read_again(run: Run, files: Path) -> None:
    run("topology", "convert", "-f", files / "cluster.yaml", "--to", "slurm-yaml", "--out", files / "t.yaml")
    assert run("topology", "convert", "-f", files / "t.yaml", "--to", "slurm").out == CONF


def test_without_options_the_formats_are_listed(run: Run) -> None:
    assert "slurm-yaml" in run("topology", "convert").out


@pytest.mark.parametrize(
    ("more", "want"),
    [
        (["--to", "slrm"], "workbench: --to: unknown format 'slrm'"),
        ([], "--to: no format to write"),
        (["--to", "slurm", "--from", "nope"], "workbench: --from: unknown format 'nope'"),
        (["--to", "slurm", "--open-patterns"], "--open-patterns: only patterns can be open"),
    ],
)
def test_bad_usage_is_one_line(run: Run, files: Path, more: list[str], want: str) -> None:
    result = run("topology", "convert", "-f", files / "cluster.yaml", *more)
    assert result.status == 2
    assert want in result.err and len(result.err.strip().splitlines()) == 1


def test_another_format_is_placed_on(run: Run, files: Path) -> None:
    (files / "topology.conf").write_text(CONF, encoding="utf-8")
    result = run("topology", "show", "-f", files / "topology.conf", "--from", "slurm", "-o", "json")
    assert result.json["nodes"] == 4


def test_jobs_are_placed_on_a_snapshot_and_on_slurm_switches(run: Run, files: Path) -> None:
    run("topology", "convert", "-f", files / "cluster.yaml", "--to", "snapshot", "--out", files / "s.json")
    nodes = run("topology", "convert", "-f", files / "cluster.yaml", "--to", "kueue").out
    (files / "nodes.yaml").write_text(nodes, encoding="utf-8")
    (files / "topology.conf").write_text(CONF, encoding="utf-8")
    (files / "job.yaml").write_text(JOB, encoding="utf-8")
    want = run("place", "-f", files / "s.json", "-f", files / "job.yaml", "-o", "json")
    assert want.status == 0
    assert want.json["jobs"][0]["hypernode"] in ("s0", "s1")
    more = ("-f", files / "nodes.yaml", "-f", files / "job.yaml", "-o", "json")
    got = run("place", "-f", files / "topology.conf", "--from", "slurm", *more)
    assert got.json["jobs"] == want.json["jobs"]


JOB = """apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j}
spec:
  minAvailable: 2
  networkTopology: {mode: hard, highestTierAllowed: 1}
  tasks:
  - name: t
    replicas: 2
    template: {spec: {containers: [{name: c, image: i, resources: {requests: {nvidia.com/gpu: 8}}}]}}
"""


def test_an_unwritable_target_is_refused_before_anything_is_said(run: Run, files: Path) -> None:
    target = files / "missing" / "t.conf"
    result = run("topology", "convert", "-f", files / "cluster.yaml", "--to", "slurm", "--out", target)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(f"workbench: {target}: cannot be written") and result.err.count("\n") == 1


def test_patterns_are_closed_unless_open_ones_are_asked_for(run: Run, files: Path) -> None:
    to = ["topology", "convert", "-f", files / "cluster.yaml", "--to", "hypernodes-regex"]
    closed, opened = run(*to), run(*to, "--open-patterns")
    assert "^node[01]$" in closed.out and "open patterns" not in closed.err
    assert "^node[01]$" not in opened.out and "pattern: " in opened.out
    assert "open patterns: a node that is added later" in opened.err
