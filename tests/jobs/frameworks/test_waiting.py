"""The scripts of the waiting init containers, run by a shell whose ping, nc, sleep and date are not the real ones."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.jobs.frameworks.jobs import env_of, job_of, pods_of, task_of

START = 1000


def programs(folder: Path, ready: int) -> None:
    """A clock that only `sleep` moves, and an answer of `ping` and `nc` once `ready` seconds have passed."""
    clock, asked = folder / "clock", folder / "asked"
    clock.write_text(f"{START}\n")
    answer = f'echo "$@" >> {asked}; test "$(cat {clock})" -ge {START + ready}'
    sleep = f"now=$(cat {clock}); echo $((now + $1)) > {clock}"
    texts = {"date": f"cat {clock}", "sleep": sleep, "ping": answer, "nc": answer}
    for name, text in texts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)


def waits(folder: Path, pod: dict[str, Any]) -> tuple[int, int, list[str]]:
    """Exit status of the pod's only init container, seconds that passed, and what it asked."""
    (container,) = pod["spec"]["initContainers"]
    environment = {"PATH": f"{folder}:/usr/bin:/bin", **env_of(pod, field="initContainers")}
    done = subprocess.run(
        container["command"], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""
    return done.returncode, int((folder / "clock").read_text()) - START, (folder / "asked").read_text().splitlines()


def master(arguments: list[str]) -> dict[str, Any]:
    pods = pods_of(workbench.jobs.expand_job(job_of({"mpi": arguments}, task_of("master"), task_of("worker", 2))))
    return pods[0]


def worker(arguments: list[str]) -> dict[str, Any]:
    job = job_of({"pytorch": ["--wait-master-enabled", *arguments]}, task_of("master"), task_of("worker"))
    return pods_of(workbench.jobs.expand_job(job))[1]


@pytest.mark.parametrize(("ready", "passed"), [(0, 0), (1, 5), (12, 15)])
def test_the_mpi_master_asks_every_five_seconds(tmp_path: Path, ready: int, passed: int) -> None:
    programs(tmp_path, ready)
    status, seconds, asked = waits(tmp_path, master([]))
    assert (status, seconds) == (0, passed)
    assert [each.split()[-1] for each in asked[-2:]] == ["jobname-worker-0.jobname", "jobname-worker-1.jobname"]


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "passed"), [([], 305), (["--wait-worker-timeout=7"], 10)])
def test_the_mpi_master_gives_up_after_its_time(tmp_path: Path, arguments: list[str], passed: int) -> None:
    programs(tmp_path, 10_000)
    assert waits(tmp_path, master(arguments))[:2] == (1, passed)


def test_the_mpi_master_s_image_is_an_argument() -> None:
    pods = [master([]), master(["--wait-worker-image=alpine:3"])]
    assert [pod["spec"]["initContainers"][0]["image"] for pod in pods] == ["busybox:1.36.1", "alpine:3"]


@pytest.mark.parametrize(("ready", "passed"), [(0, 0), (3, 4)])
def test_the_pytorch_worker_asks_every_two_seconds(tmp_path: Path, ready: int, passed: int) -> None:
    programs(tmp_path, ready)
    status, seconds, asked = waits(tmp_path, worker([]))
    assert (status, seconds) == (0, passed)
    assert asked[-1] == "-z jobname-master-0.jobname 23456"


def test_the_pytorch_worker_gives_up_after_its_time(tmp_path: Path) -> None:
    programs(tmp_path, 10_000)
    assert waits(tmp_path, worker(["--wait-master-timeout=9"]))[:2] == (1, 10)
