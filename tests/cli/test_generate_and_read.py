"""What `topology generate` prints is what `-f -` reads."""

from __future__ import annotations

import io
import json
import sys

import pytest
import yaml

import workbench as wb
from tests.cli.conftest import Run
from workbench.cli import main
from workbench.topology.presets import generate, generate_scenario

FORMS = (("snapshot", "json"), ("jobs", "yaml"), ("arrivals", "csv"))


class _Stdin:
    def __init__(self, text: str) -> None:
        self.buffer = io.BytesIO(text.encode())


def test_generated_cluster_is_read_from_standard_input(capsys, monkeypatch):
    assert main(["topology", "generate", "use-case-1", "--set", "pods=6", "--set", "sizes=2,2,2,2"]) == 0
    text = capsys.readouterr().out
    assert list(yaml.safe_load_all(text)) == generate("use-case-1", pods=6, sizes="2,2,2,2")
    monkeypatch.setattr(sys, "stdin", _Stdin(text))
    assert main(["topology", "show", "-f", "-", "-o", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["nodes"] == 16
    assert len(shown["domains"]) == 15
    assert shown["problems"] == []


def test_a_generated_machine_is_asked_for_its_best_gpus(capsys, monkeypatch):
    assert main(["topology", "generate", "machine", "--set", "model=ascend-910c", "--set", "degraded=1"]) == 0
    monkeypatch.setattr(sys, "stdin", _Stdin(capsys.readouterr().out))
    assert main(["gpus", "-", "-k", "2", "-o", "json"]) == 0
    out, err = capsys.readouterr()
    best = json.loads(out)
    assert (best["bottleneck_gb_s"], best["optimal_sets"]) == (270.0, 8)
    assert [doubt["code"] for doubt in best["suspicious_links"]] == ["one-slow-direction"]
    assert err == "note: -: left aside: 2 documents that are no Device\n"


def test_a_fleet_is_written_as_snapshot_jobs_and_a_day_of_arrivals(capsys, tmp_path):
    params = {"sizes": "4,4,4", "pending": "6", "queues": "2", "busy": "50"}
    files = {name: tmp_path / f"{name}.{end}" for name, end in FORMS}
    for name, file in files.items():
        settings = [word for key, value in params.items() for word in ("--set", f"{key}={value}")]
        assert main(["topology", "generate", "fleet", *settings, "-o", name, "--out", str(file)]) == 0
    made = generate_scenario("fleet", **params)
    loaded = wb.load(files["snapshot"], files["jobs"])
    assert loaded.snapshot.running == made.snapshot.running
    assert [gang.key for gang in loaded.gangs] == [gang.key for gang in made.gangs]
    log = wb.load_jobs(files["arrivals"])
    assert sorted(job.gang.name for job in log.jobs) == [gang.name for gang in made.gangs]
    assert all(0 <= job.submitted_s < 86_400 and job.duration_s > 0 for job in log.jobs)
    mine = {gang.name: (gang.queue, gang.n_pods, gang.constraint) for gang in made.gangs}
    assert {job.gang.name: (job.gang.queue, job.gang.n_pods, job.gang.constraint) for job in log.jobs} == mine
    assert main(["simulate", str(files["snapshot"]), "--trace", str(files["arrivals"]), "-o", "json"]) in (0, 1)
    capsys.readouterr()


def test_a_preset_without_jobs_has_no_arrivals(capsys):
    assert main(["topology", "generate", "three-level-tree", "-o", "arrivals"]) == 2
    assert "a preset without jobs" in capsys.readouterr().err


def test_no_jobs_says_what_would_make_some(run: Run) -> None:
    result = run("topology", "generate", "fleet", "--set", "sizes=2,2", "--set", "pending=0", "-o", "jobs")
    assert result.status == 2
    assert result.err == "workbench: --set: no job waits (found pending=0, expected pending=1 or more)\n"
    result = run("topology", "generate", "balanced", "-o", "arrivals")
    assert "expected use-case-1 or use-case-2 or fleet" in result.err


def test_objects_where_the_environment_wants_tables(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = run("topology", "generate", "three-level-tree").out
    monkeypatch.setenv("WORKBENCH_OUTPUT", "table")
    result = run("topology", "generate", "three-level-tree")
    assert (result.out, result.err) == (usual, "note: WORKBENCH_OUTPUT: objects are no table; yaml is used\n")
