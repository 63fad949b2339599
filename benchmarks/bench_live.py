"""Benchmark of reading a live cluster: 5,000 nodes and 20,000 pods of 3.9 KB on a real API server with etcd.

Goals: 8 s for a snapshot, and a peak of 150 MB above the imports, which the note tells. The baseline lists the same
nodes and pods by the official client, as raw responses that are parsed whole. Needs ``make control-plane``; only
``--full`` runs it, because the API server takes two gigabytes and filling it takes minutes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from measure import row

from tests.controlplane.kubeconfigs import kubeconfig
from tests.controlplane.server import ControlPlane, started
from workbench.control.kinds import Ref
from workbench.control.store import Binding
from workbench.live.kubernetes.api_store import ApiStore
from workbench.live.kubernetes.configuration import cluster_of
from workbench.live.kubernetes.programs import missing_programs
from workbench.live.kubernetes.writer import Writer

NODES, PODS, THREADS = 5_000, 20_000, 8
GOAL_US = 8e6

#: Prints seconds and peak MiB above the imports; a process of its own, because a peak never falls again.
_OURS = """
import resource, sys, time
import workbench.live
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.perf_counter()
found = workbench.live.take_snapshot(kubeconfig=sys.argv[1])
found.to_json()
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(seconds, (peak - before) / 1024, len(found.objects))
"""
_CLIENT = """
import json, resource, sys, time
from kubernetes import client, config
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.perf_counter()
core = client.CoreV1Api(config.new_client_from_config(sys.argv[1]))
found = [json.loads(ask(_preload_content=False).data) for ask in (core.list_node, core.list_pod_for_all_namespaces)]
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(seconds, (peak - before) / 1024, sum(len(each["items"]) for each in found))
"""


BOUND = 1_000


def rows() -> Iterator[dict[str, object]]:
    """No row in a standard run."""
    yield from ()


def slow_rows() -> Iterator[dict[str, object]]:
    """One row: a snapshot beside plain lists."""
    if missing_programs():
        return
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as plane:
        config = kubeconfig(plane, Path(folder, "config"))
        fill(plane)
        ours = [measured(_OURS, config) for _ in range(3)]
        client = [measured(_CLIENT, config) for _ in range(3)]
    peak, others = max(one[1] for one in ours), max(one[1] for one in client)
    yield row(
        "live.snapshot",
        f"{NODES:,} nodes, {PODS:,} pods",
        [one[0] * 1e6 for one in ours],
        "plain lists by the official client",
        sorted(one[0] for one in client)[1] * 1e6,
        GOAL_US,
        f"{ours[0][2]:,.0f} objects; peak {peak:.0f} MiB above the imports, the client's {others:.0f}",
        "p50",
    )
    yield from bindings()


def bindings() -> Iterator[dict[str, object]]:
    """One row: pods bound by the operator's store beside plain POSTs by as many threads."""
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as plane:
        store = ApiStore(Writer(cluster_of(kubeconfig=kubeconfig(plane, Path(folder, "config")))), ["Pod"])
        ours, plain = [], []
        for turn in range(3):
            names = [f"{kind}-{turn}-{i:04d}" for kind in ("ours", "plain") for i in range(BOUND)]
            waits = [{**pod(0), "metadata": {"name": name}} for name in names]
            for one in waits:
                one["spec"] = {name: value for name, value in one["spec"].items() if name != "nodeName"}
            with ThreadPoolExecutor(THREADS) as threads:
                list(threads.map(lambda one: plane.create(one, "/api/v1/namespaces/default/pods"), waits))
            if not turn:
                store.start()
            while len(store) < (turn + 1) * 2 * BOUND:
                store.watch(store.version)
            begin = time.perf_counter()
            outcomes = store.bind_all([Binding(Ref("Pod", "default", name), "n", {}) for name in names[:BOUND]])
            ours.append((time.perf_counter() - begin) * 1e6 / BOUND)
            assert not any(outcomes)
            begin = time.perf_counter()
            with ThreadPoolExecutor(THREADS) as threads:
                list(threads.map(lambda name: _bound(plane, name), names[BOUND:]))
            plain.append((time.perf_counter() - begin) * 1e6 / BOUND)
        store.close()
    share = sorted(plain)[1] / sorted(ours)[1]
    note = f"per pod; {share:.0%} of the rate of plain POSTs by {THREADS} threads (goal 70 %)"
    yield row("live.bind", f"{BOUND:,} pods", ours, "plain POSTs", sorted(plain)[1], None, note, "p50")


def _bound(plane: ControlPlane, name: str) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    status, answer = plane.ask("POST", f"/api/v1/namespaces/default/pods/{name}/binding", body)
    assert status == 201, answer


def measured(program: str, config: Path) -> tuple[float, float, float]:
    """Seconds, peak MiB above the imports, and number of objects."""
    done = subprocess.run([sys.executable, "-c", program, str(config)], capture_output=True, text=True, check=True)
    seconds, peak, objects = map(float, done.stdout.split())
    return seconds, peak, objects


def fill(plane: ControlPlane) -> None:
    """Create the nodes and the pods."""
    with ThreadPoolExecutor(THREADS) as threads:
        for _ in threads.map(lambda i: plane.create(node(i), "/api/v1/nodes"), range(NODES)):
            pass
        for _ in threads.map(lambda i: plane.create(pod(i), "/api/v1/namespaces/default/pods"), range(PODS)):
            pass


def node(number: int) -> dict[str, Any]:
    """A node of eight GPUs."""
    amounts = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
    status = {"allocatable": amounts, "capacity": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number:04d}"}, "status": status}


def pod(number: int) -> dict[str, Any]:
    """A pod on a node, with as much environment as a training job has."""
    requests = {"cpu": "1", "memory": "8Gi"}
    environment = [{"name": f"VARIABLE_{i}", "value": "x" * 40} for i in range(30)]
    container = {"name": "main", "image": "train", "env": environment, "resources": {"requests": requests}}
    spec = {"nodeName": f"n{number % NODES:04d}", "containers": [container], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number:05d}"}, "spec": spec}


if __name__ == "__main__":
    for line in slow_rows():
        print(line)
