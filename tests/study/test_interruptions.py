"""Studies whose process is killed or interrupted at random moments go on where they were."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.study.small import STUDY, write_small
from tests.waiting import PATIENCE_S
from workbench.study import Study

SEEDS = 15
TEXT = STUDY.replace("seeds: 0-2", f"seeds: 0-{SEEDS - 1}").replace("[fifo, best-effort]", "[backfill]")


HERE = ("--workers", "1")

#: The command, whose last run is never kept: however late its death comes, the study is not over.
ENDLESS = f"""
import sys, time
from workbench.cli import main
from workbench.study import run as module

keep = module.keep_result


def keep_all_but_one(folder, run, summary):
    while len(list((folder / "runs").glob("*.json"))) >= {2 * SEEDS - 1}:
        time.sleep(0.1)
    keep(folder, run, summary)


module.keep_result = keep_all_but_one
sys.exit(main(sys.argv[1:]))
"""


def begin(file: Path, options: tuple[str, ...] = HERE) -> subprocess.Popen[str]:
    """`workbench study run` as a process of its own, in a group of its own as a terminal makes one."""
    command = [sys.executable, "-c", ENDLESS, "study", "run", str(file), *options]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # What a script starts in its background ignores Ctrl-C, and so would this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for_results(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    while len(list((folder / "runs").glob("*.json"))) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)


def gone(children: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(children, timeout=PATIENCE_S)[1]


@pytest.mark.slow
def test_killed_at_three_random_moments_it_gives_the_bytes_of_an_undisturbed_run(tmp_path: Path, address: str) -> None:
    file = write_small(tmp_path, TEXT, jobs=30)
    study, folder = Study.read(file), tmp_path / "study-results"
    study.run(tmp_path / "undisturbed", address)
    rng = random.Random(19)
    moments = sorted(rng.sample(range(1, len(study.runs) - 5), 3))
    # Somebody else's cluster saves the time to start one; the first process has its own.
    there = ("--scheduler", address)
    for moment, options in zip(moments, (HERE, there, there), strict=True):
        process = begin(file, options)
        wait_for_results(process, folder, moment)
        time.sleep(rng.random() * 0.02)
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert gone(children)
        assert moment <= len(study.results(folder)) < len(study.runs)
        assert not (folder / "results.parquet").exists()
    assert len(study.run(folder, address)) == len(study.runs) == 30
    names = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    assert names == {path.relative_to(tmp_path / "undisturbed") for path in (tmp_path / "undisturbed").rglob("*.*")}
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes()


@pytest.mark.slow
def test_ctrl_c_ends_it_with_one_line_and_keeps_what_is_done(tmp_path: Path) -> None:
    file = write_small(tmp_path, TEXT, jobs=30)
    process = begin(file)
    wait_for_results(process, tmp_path / "study-results", 3)
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (130, "")
    assert [line for line in err.splitlines() if not line.startswith("note: ")] == ["workbench: interrupted"]
    assert gone(children)
    assert len(Study.read(file).results(tmp_path / "study-results")) >= 3
