"""Benchmark of reading a live cluster: 5,000 nodes and 20,000 pods of 3.9 KB on a real API server with etcd.

Goals: 8 s for a snapshot, and a peak of 150 MB above the imports, which the note tells. The baseline lists the same
nodes and pods by the official client, as raw responses that are parsed whole. On the same server: how far a mirror is
behind at 50 changes a second (goal 1 s), and how long 512 pods take from the last event of a watch to the list of
their bindings (goal 15 ms). Needs ``make control-plane``; only
``--full`` runs it, because the API server takes two gigabytes and filling it takes minutes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from measure import row

from tests.controlplane.kubeconfigs import kubeconfig
from tests.controlplane.server import ControlPlane, started
from tests.waiting import until
from workbench.control.event_log import EventLog
from workbench.control.kinds import Ref
from workbench.control.manager import Manager
from workbench.control.scheduler import Scheduler
from workbench.control.store import Binding
from workbench.errors import ClusterError
from workbench.live.kubernetes.api_store import ApiStore
from workbench.live.kubernetes.apply import apply_kinds
from workbench.live.kubernetes.configuration import cluster_of
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.control_plane import missing_programs
from workbench.live.kubernetes.loop import WallClock
from workbench.live.kubernetes.mirror import Mirror
from workbench.live.kubernetes.writer import Writer
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION
from workbench.policies.registry import get_policy

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

#: Changes of pods to be followed, and how many in a second; pods of the gang to be placed, and how many times.
CHANGES, CHANGES_PER_S, GANG, TURNS = 1_000, 50, 512, 7


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
        later = [behind(plane, config), placed(plane, config)]
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
    yield from later
    yield from bindings()


def behind(plane: ControlPlane, config: Path) -> dict[str, object]:
    """One row: how long after the API server's answer to a change a mirror of all nodes and pods shows the change."""
    mirror = Mirror(Connection(cluster_of(kubeconfig=config)), ["Node", "Pod"])
    mirror.start()
    mirror.forget(mirror.version)
    answered: dict[str, float] = {}
    seen: dict[str, float] = {}

    def change() -> None:
        begin = time.perf_counter()
        for i in range(CHANGES):
            time.sleep(max(begin + i / CHANGES_PER_S - time.perf_counter(), 0.0))
            patch = {"metadata": {"labels": {"change": str(i)}}}
            path = f"/api/v1/namespaces/default/pods/pod-{i * 37 % PODS:05d}"
            status, _ = plane.ask("PATCH", path, patch, kind="application/merge-patch+json")
            assert status == 200
            answered[str(i)] = time.perf_counter()

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(change)
        while len(seen) < CHANGES and not (done.done() and done.exception()):
            mirror.wait(1.0)
            for told in mirror.watch(mirror.version):
                assert told.after is not None
                seen[told.after["metadata"]["labels"]["change"]] = time.perf_counter()
            mirror.forget(mirror.version)
        done.result()
    mirror.close()
    # A watch can be faster than the answer to the write.
    lags = [max(seen[name] - at, 0.0) * 1e6 for name, at in answered.items()]
    rate = (CHANGES - 1) / (answered[str(CHANGES - 1)] - answered["0"])
    size = f"{NODES:,} nodes, {PODS:,} pods, {CHANGES} changes"
    return row("live.behind", size, lags, "", None, 1e6, f"{rate:.0f} changes/s; longest {max(lags) / 1e3:.0f} ms")


class _Bound(Exception):
    """The list of bindings is there."""


class _Listing(ApiStore):
    """A store that takes no bindings, and ends the scheduler's step where it is given them."""

    def bind_all(self, bindings: Sequence[Binding]) -> Sequence[ClusterError | None]:
        raise _Bound(len(bindings))


def placed(plane: ControlPlane, config: Path) -> dict[str, object]:
    """One row: from the last watch event of a gang to the list of its bindings, by the operator's scheduler."""
    writer = Writer(cluster_of(kubeconfig=config))
    apply_kinds(writer)
    store = _Listing(Writer(cluster_of(kubeconfig=config)), ["Node", "Pod", "PodGroup"])
    store.start()
    clock = WallClock()
    scheduler = Scheduler(store, clock, EventLog(), get_policy("volcano"), names=("topology-workbench",))
    manager = Manager(store, clock, [[scheduler]])
    times: list[float] = []
    groups = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
    pods = "/api/v1/namespaces/default/pods"
    for turn in range(TURNS):
        name = f"gang-{turn}"
        kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name}}
        plane.create({**kind, "spec": {"minMember": GANG, "queue": "default"}}, groups)
        status = {"status": {"phase": "Inqueue"}}
        plane.ask("PATCH", f"{groups}/{name}/status", status, kind="application/merge-patch+json")
        names = [f"{name}-{i}" for i in range(GANG)]
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(lambda one, name=name: plane.create(waiting(one, name), pods), names[:-1]))
        until(lambda names=names[:-1]: _stepped(manager) and all(_has(store, one) for one in names), "the pods")
        plane.create(waiting(names[-1], name), pods)
        while len(times) == turn:
            # The news may also be the echo of what the scheduler wrote before.
            assert store.wait(60.0)
            begin = time.perf_counter()
            try:
                manager.step()
            except _Bound as bound:
                times.append((time.perf_counter() - begin) * 1e6)
                assert bound.args == (GANG,)
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(lambda one: plane.ask("DELETE", f"{pods}/{one}"), names))
        plane.ask("DELETE", f"{groups}/{name}")
        until(lambda names=names: _stepped(manager) and not any(_has(store, one) for one in names), "no pods")
    store.close()
    writer.close()
    note = f"{NODES:,} nodes, {PODS:,} pods that run; all but the last pod were known"
    return row("live.placed", f"{GANG} pods", times, "", None, 15e3, note, "p50")


def _stepped(manager: Manager) -> bool:
    """Do what is to be done; always true."""
    while manager.step():
        pass
    return True


def _has(store: ApiStore, pod: str) -> bool:
    return store.get(Ref("Pod", "default", pod)) is not None


def waiting(name: str, group: str) -> dict[str, Any]:
    """A pod of a gang with one GPU and no node."""
    made = pod(0)
    container = dict(made["spec"]["containers"][0])
    limits = {"nvidia.com/gpu": "1"}
    container["resources"] = {"requests": {**container["resources"]["requests"], **limits}, "limits": limits}
    spec = {"schedulerName": "topology-workbench", "containers": [container], "terminationGracePeriodSeconds": 0}
    metadata = {"name": name, "annotations": {GROUP_NAME_ANNOTATION: group}}
    return {**made, "metadata": metadata, "spec": spec}


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
