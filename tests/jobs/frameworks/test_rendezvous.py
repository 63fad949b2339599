"""The injected variables are enough: four processes with the environment of four pods rendezvous and add a number.

The processes are torch.distributed with gloo under the system's Python (Debian: python3-torch, python3-numpy), on
loopback; they have the variables of the pods unchanged, and a preloaded library gives 127.0.0.1 for every host name.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from functools import cache
from pathlib import Path

import pytest

from tests.control.manifests import job, small_cluster, task
from workbench.control.cluster import EmbeddedCluster

PYTHON = "/usr/bin/python3"
LIMIT_S = 120

#: What the container runs: rank + 1 of every process, in sum 10.
TRAIN = """
import datetime, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
number = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(number)
print("rank", dist.get_rank(), "of", dist.get_world_size(), "sum", int(number.item()), flush=True)
dist.destroy_process_group()
"""


@cache
def has_torch() -> bool:
    check = [PYTHON, "-c", "import torch.distributed as dist; assert dist.is_available()"]
    return Path(PYTHON).exists() and subprocess.run(check, capture_output=True, check=False).returncode == 0


@pytest.fixture
def torch() -> None:
    """Skips without torch for the system's Python; asking it takes a second, so not while tests are collected."""
    if not has_torch() or shutil.which("cc") is None:
        pytest.skip("needs python3-torch for /usr/bin/python3, and cc")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environments(port: int) -> dict[str, dict[str, str]]:
    """The variables of each pod's container in an embedded cluster, by the pod's name."""
    tasks = [task("master", 1, 1), task("worker", 3, 1)]
    cluster = EmbeddedCluster("volcano-1.15")
    cluster.submit(*small_cluster(), job("mnist", tasks, plugins={"pytorch": [f"--port={port}"], "svc": [], "env": []}))
    cluster.settle()
    pods = cluster.pods()
    assert [pod.phase for pod in pods] == ["Running"] * 4
    return {pod.name: pod.environment["main"] for pod in pods}


@pytest.mark.slow
@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("launcher", ["python", "torch.distributed.run"])
def test_four_pods_rendezvous_and_all_reduce(launcher: str, tmp_path: Path) -> None:
    """Started by python they read upstream's variables, by torch.distributed.run those of the design document."""
    library = tmp_path / "resolve.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, Path(__file__).with_name("resolve.c"), "-ldl"], check=True)
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    command = [PYTHON, str(script)] if launcher == "python" else [PYTHON, "-m", "torch.distributed.run", str(script)]
    machine = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(library), "GLOO_SOCKET_IFNAME": "lo", "HOME": str(tmp_path)}
    pods = environments(free_port())
    assert [variables["RANK"] for variables in pods.values()] == ["0", "1", "2", "3"]
    upstream = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
    started = []
    for name, variables in pods.items():
        hidden = () if launcher == "python" else upstream
        # torch 1.13 under Python 3.11 cannot read "no redirection", its default.
        shown = {"PET_REDIRECTS": "1", "PET_TEE": "1", "PET_LOG_DIR": str(tmp_path / f"{name}.log")} if hidden else {}
        given = {**machine, **shown, **{key: value for key, value in variables.items() if key not in hidden}}
        log = (tmp_path / name).open("w+")
        started.append((name, log, subprocess.Popen(command, env=given, stdout=log, stderr=subprocess.STDOUT)))
    end = time.monotonic() + LIMIT_S
    try:
        for _, _, process in started:
            process.wait(max(end - time.monotonic(), 0.1))
    finally:
        for _, _, process in started:
            process.kill()
            process.wait()
    said = {}
    for name, log, _ in started:
        log.seek(0)
        said[name] = log.read()
        log.close()
    for rank, (name, _, process) in enumerate(started):
        assert process.returncode == 0, said[name]
        assert f"rank {rank} of 4 sum 10" in said[name], said[name]
