"""Random faults while jobs are submitted to a live cluster, and what must hold in spite of them.

python -m tests.controlplane.faults FIRST COUNT      runs COUNT schedules, from the seed FIRST
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import httpx

from tests.controlplane.live import Live
from tests.controlplane.server import started
from workbench.control.kinds import api_path
from workbench.errors import ClusterError
from workbench.live.kubernetes.apply import apply, apply_kinds
from workbench.topology.presets import generate

__all__ = ["FAULTS", "Schedule", "prepare"]

#: Racks and nodes per rack; GPUs per node.
RACKS, WIDTH, GPUS = 4, 4, 8

FAULTS = (
    "kill the API server",
    "kill the operator",
    "kill the operator at a write",
    "two operators",
    "expire the watches",
    "change a pod meanwhile",
    "delete a node",
    "kill the kubelets",
)


def fabric() -> list[dict[str, Any]]:
    return [dict(one) for one in generate("balanced", sizes=f"{WIDTH},{RACKS}", gpus=GPUS) if one["kind"] != "Job"]


def prepare(live: Live) -> None:
    """Define the kinds, and make the nodes and HyperNodes."""
    apply_kinds(live.writer)
    apply(live.writer, fabric())


def job(name: str, pods: int, gpus: int) -> dict[str, Any]:
    limits = {"cpu": "1", "nvidia.com/gpu": str(gpus)}
    container = {"name": "c", "image": "i", "resources": {"requests": limits, "limits": limits}}
    template = {"spec": {"containers": [container], "restartPolicy": "OnFailure"}}
    policies = [{"event": "PodEvicted", "action": "RestartJob"}, {"event": "PodFailed", "action": "RestartJob"}]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": pods,
            "queue": "default",
            "maxRetry": 30,
            "policies": policies,
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "tasks": [{"name": "worker", "replicas": pods, "template": template}],
        },
    }


class Schedule:
    """One run with faults drawn by a seed; `run` fails where something that must hold does not."""

    def __init__(self, live: Live, seed: int) -> None:
        self.live = live
        self.random = random.Random(seed)
        self.told: list[str] = []
        #: Nodes that each pod (by uid) was seen on.
        self.seen: dict[str, set[str]] = defaultdict(set)
        self.operators: list[Any] = []
        #: Pods when the last Job ran.
        self.pods: list[dict[str, Any]] = []

    def run(self) -> None:
        live, draw = self.live, self.random
        self._clean()
        self.kubelets = live.nodes()
        self.operators = [live.operator()]
        watched = threading.Event()
        watcher = threading.Thread(target=self._look, args=(watched,), daemon=True)
        watcher.start()
        try:
            jobs = [job(f"j{i}", draw.randint(1, WIDTH), draw.choice([4, 8])) for i in range(draw.randint(2, 4))]
            for one in jobs:
                apply(live.writer, [one])
                self._fault()
            live.until(self._settled, "all jobs to run")
        finally:
            watched.set()
            watcher.join()
        self._check()

    def _settled(self) -> bool:
        """Whether every Job runs with all its pods; a phase alone may be from before the last fault."""
        try:
            phases = self.live.job_phases()
            self.pods = self.live.list("Pod")
            wanted = {one["metadata"]["name"]: one["spec"]["tasks"][0]["replicas"] for one in self.live.list("Job")}
        except ClusterError:
            return False
        counts = Counter(pod["metadata"]["labels"]["volcano.sh/job-name"] for pod in self.pods)
        bound = all(pod["spec"].get("nodeName") for pod in self.pods)
        return bool(phases) and set(phases.values()) == {"Running"} and bound and counts == wanted

    def _fault(self) -> None:
        live, draw = self.live, self.random
        what = draw.choice(FAULTS)
        self.told.append(what)
        match what:
            case "kill the API server":
                live.plane.kill_server()
                live.plane.start_server()
            case "kill the operator":
                threading.Event().wait(draw.random() * 0.3)
                self._replace_operator()
            case "kill the operator at a write":
                self.operators[0].store.connection.writes_left = draw.randint(0, 12)
                threading.Event().wait(0.3)
                self._replace_operator()
            case "two operators":
                self.operators.append(live.operator())
            case "expire the watches":
                # The API server ends them, as after a change of its certificates; each is begun anew.
                for operator in self.operators:
                    operator.store.connection.interrupt()
            case "change a pod meanwhile":
                for name in live.nodes_of_pods():
                    change = {"metadata": {"labels": {"changed": str(draw.random())}}}
                    path = f"/api/v1/namespaces/default/pods/{name}"
                    live.plane.ask("PATCH", path, change, kind="application/merge-patch+json")
            case "delete a node":
                nodes = [node for node in live.nodes_of_pods().values() if node]
                if nodes:
                    name = draw.choice(nodes)
                    live.plane.ask("DELETE", f"/api/v1/nodes/{name}")
                    threading.Event().wait(draw.random() * 0.2)
                    apply(live.writer, [one for one in fabric() if one["metadata"]["name"] == name])
            case "kill the kubelets":
                live.kill(self.kubelets)
                self.kubelets = live.nodes()

    def _replace_operator(self) -> None:
        self.live.kill(self.operators[0])
        self.operators[0] = self.live.operator()

    def _look(self, ended: threading.Event) -> None:
        """Note the node of every pod again and again, as a bystander."""
        while not ended.wait(0.02):
            try:
                status, found = self.live.plane.ask("GET", "/api/v1/pods")
            except httpx.TransportError:
                continue
            for pod in (found.get("items") or ()) if status == 200 else ():
                if node := pod["spec"].get("nodeName"):
                    self.seen[pod["metadata"]["uid"]].add(node)

    def _check(self) -> None:
        assert all(len(nodes) == 1 for nodes in self.seen.values()), "a pod had two nodes"
        used: Counter[str] = Counter()
        racks: dict[str, set[str]] = defaultdict(set)
        members = {
            member["selector"]["exactMatch"]["name"]: one["metadata"]["name"]
            for one in self.live.list("HyperNode")
            for member in one["spec"]["members"]
            if member["type"] == "Node"
        }
        for pod in self.pods:
            node = pod["spec"]["nodeName"]
            used[node] += int(pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])
            racks[pod["metadata"]["labels"]["volcano.sh/job-name"]].add(members[node])
        assert max(used.values()) <= GPUS, f"a node has more pods than GPUs: {used}"
        assert all(len(names) == 1 for names in racks.values()), f"a gang is torn apart: {dict(racks)}"

    def _clean(self) -> None:
        live = self.live
        for loop, _ in list(live.running):
            live.stop(loop)
        for kind in ("Job", "PodGroup", "Pod"):
            path = api_path(kind, "default")
            live.plane.ask("DELETE", path, {"gracePeriodSeconds": 0})
        live.until(lambda: not any(map(live.list, ("Job", "PodGroup", "Pod"))), "the cluster to be empty")


def main(first: int, count: int) -> None:
    with tempfile.TemporaryDirectory() as name, started(Path(name) / "server") as plane:
        live = Live(plane, Path(name))
        prepare(live)
        faults: Counter[str] = Counter()
        for seed in range(first, first + count):
            live.lines.clear()
            one = Schedule(live, seed)
            one.run()
            faults.update(one.told)
            print(f"{seed}: {', '.join(one.told)}", flush=True)
        live.close()
        print(f"{count} schedules held: {dict(faults)}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
