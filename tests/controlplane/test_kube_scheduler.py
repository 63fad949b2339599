"""The real kube-scheduler beside the operator on one cluster: whose pods are whose, and what `live compare` says."""

from __future__ import annotations

import os
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.controlplane.faults import GPUS, RACKS, WIDTH, job, prepare
from tests.controlplane.live import Live
from tests.controlplane.server import ControlPlane, started
from workbench.live.kubernetes.apply import apply
from workbench.live.kubernetes.control_plane import programs

pytestmark = pytest.mark.slow

PODS = 300


@pytest.fixture
def live(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Live]:
    """A cluster with fake nodes, the operator and kube-scheduler."""
    where = programs()
    assert where is not None
    program = where / "kube-scheduler"
    if not os.access(program, os.X_OK):
        if os.environ.get("WORKBENCH_REQUIRE_CONTROL_PLANE") == "1":
            pytest.fail(f"WORKBENCH_REQUIRE_CONTROL_PLANE=1, but there is no {program}")
        pytest.skip(f"no {program}: tests/controlplane/build etcd kube-apiserver kube-scheduler builds it")
    with started(tmp_path / "server") as plane:
        cluster = Live(plane, tmp_path)
        prepare(cluster)
        command = [program, f"--kubeconfig={cluster.config}", "--leader-elect=false", "--secure-port=0"]
        with (tmp_path / "kube-scheduler.log").open("wb") as log:
            scheduler = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log)
        try:
            cluster.nodes()
            cluster.operator()
            yield cluster
        finally:
            scheduler.kill()
            scheduler.wait()
            cluster.close()


def pod(number: int, draw: random.Random) -> dict[str, Any]:
    amounts = {"cpu": f"{draw.choice([50, 100, 250])}m"}
    if draw.random() < 0.1:
        amounts["nvidia.com/gpu"] = str(draw.choice([1, 2]))
    container = {"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}
    metadata = {"name": f"pod-{number:03d}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def test_two_schedulers_share_a_cluster_and_each_pod_is_told_by_its_scheduler(live: Live, run: Run) -> None:
    draw = random.Random(3)
    apply(live.writer, [job("gang", 2, GPUS)])
    live.until(lambda: live.job_phases() == {"gang": "Running"}, "the gang to run")
    made = [pod(number, draw) for number in range(PODS)]
    wanted = sum(int(one["spec"]["containers"][0]["resources"]["limits"].get("nvidia.com/gpu", 0)) for one in made)
    assert wanted < (RACKS * WIDTH - 2) * GPUS
    apply(live.writer, made)
    live.until(lambda: all(live.nodes_of_pods().values()) and live.phases() == {"Running"}, "all pods to run")
    used: Counter[str] = Counter()
    for one in live.list("Pod"):
        limits = one["spec"]["containers"][0]["resources"]["limits"]
        used[one["spec"]["nodeName"]] += int(limits.get("nvidia.com/gpu", 0))
    assert max(used.values()) <= GPUS
    told = run("live", "compare", "--kubeconfig", str(live.config), "-o", "json")
    assert told.status in (0, 1), told.err
    by_scheduler = Counter(one["scheduler"] for one in told.json)
    with_gpus = sum("nvidia.com/gpu" in one["spec"]["containers"][0]["resources"]["limits"] for one in made)
    assert by_scheduler == {"volcano": 1, "default-scheduler": with_gpus}
    theirs = [one for one in told.json if one["scheduler"] == "default-scheduler"]
    assert all(one["observed_verdict"] == "placed" and one["verdict"] == "placed" for one in theirs)
