"""Tests of the benchmark runner, on benchmarks that measure nothing."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "run.py"

ROW = {
    "benchmark": "choose",
    "size": "n=8",
    "ours_us_p50": 0.1,
    "ours_us_p99": 0.25,
    "baseline": "itertools",
    "baseline_us": 50.0,
    "goal_us": 0.2,
    "goal_of": "p99",
    "note": "",
    "fault": "",
}


@pytest.fixture
def run(monkeypatch):
    spec = importlib.util.spec_from_file_location("benchmarks_run", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Neither the test process's core nor its path may stay changed.
    monkeypatch.setattr(module, "pin_to_one_core", lambda: "not pinned to a core")
    monkeypatch.setattr(sys, "path", list(sys.path))
    return module


def bench(folder: Path, name: str, body: str) -> None:
    (folder / f"bench_{name}.py").write_text(f"ROW = {ROW!r}\n\n\ndef rows():\n{body}")


def test_one_table_and_one_file_with_where_the_numbers_come_from(run, tmp_path, capsys):
    bench(tmp_path, "a", "    yield ROW\n")
    bench(tmp_path, "b", "    yield ROW | {'benchmark': 'lca', 'goal_us': 1.0}\n")
    assert run.main(["--json", str(tmp_path / "out" / "bench.json")], tmp_path) == 0
    shown = capsys.readouterr().out
    assert "choose" in shown
    assert "500x" in shown
    written = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert [row["benchmark"] for row in written["rows"]] == ["choose", "lca"]
    assert written["python"] == ".".join(map(str, sys.version_info[:3]))
    assert written["versions"]["numpy"]
    assert written["interrupted"] is False


def test_only_runs_what_is_named(run, tmp_path, capsys):
    bench(tmp_path, "a", "    yield ROW\n")
    bench(tmp_path, "b", "    raise AssertionError\n    yield\n")
    assert run.main(["--only", "a", "--json", str(tmp_path / "bench.json")], tmp_path) == 0


def test_an_unknown_name_is_answered_with_the_names_that_exist(run, tmp_path, capsys):
    bench(tmp_path, "a", "    yield ROW\n")
    assert run.main(["--only", "z"], tmp_path) == 2
    assert "no benchmark 'z'; there are: a" in capsys.readouterr().err


def test_ctrl_c_keeps_what_was_measured(run, tmp_path, capsys):
    bench(tmp_path, "a", "    yield ROW\n    raise KeyboardInterrupt\n")
    bench(tmp_path, "b", "    yield ROW | {'benchmark': 'never'}\n")
    assert run.main(["--json", str(tmp_path / "bench.json")], tmp_path) == 130
    shown = capsys.readouterr().out
    assert "interrupted" in shown
    assert "choose" in shown
    assert "never" not in shown
    assert json.loads((tmp_path / "bench.json").read_text())["interrupted"] is True


def test_a_row_is_printed_and_written_before_the_next_one_is_measured(run, tmp_path, capsys):
    out = tmp_path / "bench.json"
    look = f"import json, sys; seen = json.load(open({str(out)!r})); sys.stderr.write(str(seen))"
    bench(tmp_path, "a", f"    yield ROW\n    exec({look!r})\n    yield ROW | {{'benchmark': 'later'}}\n")
    assert run.main(["--json", str(out)], tmp_path) == 0
    seen = ast.literal_eval(capsys.readouterr().err)
    assert [row["benchmark"] for row in seen["rows"]] == ["choose"]
    assert seen["interrupted"] is True and list(seen["seconds"]) == ["a"]
    assert json.loads(out.read_text())["interrupted"] is False
    assert [path.name for path in tmp_path.iterdir() if "bench.json" in path.name] == ["bench.json"]


def test_lines_come_out_one_by_one(tmp_path):
    """The first row is read from a pipe while the benchmark still waits for the reader."""
    bench(tmp_path, "a", "    yield ROW\n    input()\n    yield ROW | {'benchmark': 'later'}\n")
    code = f"import run, pathlib; run.main(['--json', 'bench.json'], pathlib.Path({str(tmp_path)!r}))"
    command = [sys.executable, "-c", code]
    environment = os.environ | {"PYTHONPATH": str(SCRIPT.parent)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline().startswith("benchmark ")
        assert running.stdout.readline().startswith("choose ")
        rest, _ = running.communicate("\n")
    assert rest.startswith("later ")
    assert running.returncode == 0


def test_slow_rows_are_measured_when_all_is_asked_for(run, tmp_path, capsys):
    bench(tmp_path, "a", "    yield ROW\n\n\ndef slow_rows():\n    yield ROW | {'benchmark': 'slow'}\n")
    bench(tmp_path, "b", "    yield ROW\n")
    out = tmp_path / "bench.json"
    for options, want in (([], ["choose", "choose"]), (["--full"], ["choose", "slow", "choose"])):
        assert run.main([*options, "--json", str(out)], tmp_path) == 0
        assert [row["benchmark"] for row in json.loads(out.read_text())["rows"]] == want


@pytest.mark.parametrize(
    ("goal_of", "goal_us", "shown"),
    [("p50", 0.2, ("p50 0.2 us", "yes")), ("p99", 0.2, ("p99 0.2 us", "no")), ("p99", 0.25, ("p99 0.25 us", "yes"))],
)
def test_a_goal_is_judged_by_the_percentile_that_it_was_stated_for(run, goal_of, goal_us, shown):
    found = run.cells(ROW | {"goal_of": goal_of, "goal_us": goal_us})
    assert found[2:4] == ("0.1 us", "0.25 us") and found[6:8] == shown
    assert len(run.line(found).split(shown[0])) == 2


def test_a_row_without_a_goal_shows_none(run):
    assert run.cells(ROW | {"goal_us": None})[6:8] == ("-", "")


@pytest.mark.parametrize("change", ["{**ROW, 'more': 1}", "{'benchmark': 'x'}"])
def test_a_row_with_other_keys_is_refused(run, tmp_path, change, capsys):
    bench(tmp_path, "a", f"    yield {change}\n")
    assert run.main(["--json", str(tmp_path / "bench.json")], tmp_path) == 1
    assert "bench_a.py: a row differs in" in capsys.readouterr().out


def test_wrong_answers_and_errors_are_told_at_the_end_and_stop_nothing(run, tmp_path, capsys):
    bench(tmp_path, "a", "    yield ROW | {'fault': 'gang 3: other nodes'}\n    yield ROW\n")
    bench(tmp_path, "b", "    yield ROW\n    raise RuntimeError('no room')\n")
    bench(tmp_path, "c", "    yield ROW\n")
    out = tmp_path / "bench.json"
    assert run.main(["--json", str(out)], tmp_path) == 1
    said = ["a: choose, n=8: gang 3: other nodes", "b ended early: RuntimeError('no room')"]
    assert capsys.readouterr().out.splitlines()[-2:] == [f"FAULT: {fault}" for fault in said]
    written = json.loads(out.read_text())
    assert written["faults"] == said and len(written["rows"]) == 4


@pytest.mark.parametrize(
    ("microseconds", "want"),
    [(0.123, "0.12 us"), (1.0, "1 us"), (4210.0, "4.21 ms"), (2.5e6, "2.5 s"), (None, "-")],
)
def test_a_duration_is_shown_in_the_unit_that_suits_it(run, microseconds, want):
    assert run.duration(microseconds) == want


def test_a_row_without_baseline_has_no_speed_up(run):
    assert run.speed_up(ROW | {"baseline_us": None}) == "-"
    assert run.speed_up(ROW | {"baseline_us": 0.35}) == "3.5x"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not pin processes")
def test_pinning_leaves_one_core():
    code = "import os, run; print(run.pin_to_one_core()); print(len(os.sched_getaffinity(0)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=SCRIPT.parent, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "1"
