"""Random clusters with a pending job, as Kubernetes objects: small, but with every kind of obstacle."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

import workbench as wb
from tests.reference.pending import Case
from workbench.formats.scheduler_conf import parse_config
from workbench.policies import Policy, get_policy

Json = dict[str, Any]

POLICIES = ("volcano-1.13", "volcano-1.15", "gang", "binpack")
GPU = "nvidia.com/gpu"
TAINT = {"key": "team", "value": "inference", "effect": "NoSchedule"}
UNREACHABLE = "node.kubernetes.io/unreachable"


@dataclass(frozen=True)
class Draw:
    """A drawn case: the objects of the cluster, the policy with its configuration, and the job that was made to wait.

    Attributes
    ----------
    objects : list of dict
        Kubernetes objects; the pending job is the last one that can wait.
    policy : str
    config : dict or None
        ``volcano-scheduler.conf``; None: the policy's default.
    job : str
        ``namespace/name``.
    """

    objects: list[Json]
    policy: str
    config: Json | None
    job: str

    def made_policy(self) -> Policy:
        """The policy as a user names it."""
        parameters = {} if self.config is None else {"config": parse_config(json.dumps(self.config).encode(), "config")}
        return get_policy(self.policy, **parameters)

    def load(self) -> wb.Scenario:
        """The objects, read as a user's file is."""
        return wb.load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": self.objects}).encode())


def case_of(draw: Draw) -> Case | None:
    """The drawn job in its session; None if the policy places it, or admission refuses it."""
    scenario, policy = draw.load(), draw.made_policy()
    waiting = [
        decision
        for decision in policy.schedule(scenario.gangs, scenario.snapshot)
        if decision.gang.key == draw.job and not decision.placed
    ]
    return Case(policy, scenario.gangs, scenario.snapshot, draw.job) if waiting else None


def draw_case(rng: random.Random, policy: str | None = None) -> Draw:
    """Draw a case; equal choices give equal cases."""
    return _Writer(rng, policy or rng.choice(POLICIES)).draw()


def _object(kind: str, name: str, spec: Json, version: str = "v1", **more: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **more}, "spec": spec}


class _Writer:
    """Writes the objects of one case."""

    def __init__(self, rng: random.Random, policy: str) -> None:
        self.rng, self.policy = rng, policy
        self.objects: list[Json] = []
        self.gpus = rng.choice([2, 4, 8])
        self.names = [f"n{i}" for i in range(rng.randint(2, 8))]
        self.free = dict.fromkeys(self.names, self.gpus)
        self.queues = ["default", "a", "b"][: rng.randint(1, 3)]
        self.tiers: list[int] = []

    def draw(self) -> Draw:
        rng = self.rng
        # What keeps the job waiting: most often one or two obstacles, besides running jobs.
        kinds = (
            ["tier"] * 3
            + ["queue"] * 3
            + ["taint", "cordon", "broken", "selector", "affinity", "big", "busy", "others"]
        )
        self.obstacles = set(rng.sample(kinds, rng.choice([1, 2, 2, 3])))
        self._nodes()
        self._tree()
        config = self._queues()
        for number in range(rng.randint(2, 4) if "busy" in self.obstacles else rng.randint(0, 2)):
            self._running(f"r{number}")
        self.objects += [
            _object("PriorityClass", name, {}, "scheduling.k8s.io/v1") | {"value": value}
            for name, value in (("high", 1000), ("low", 10))
        ]
        for number in range(rng.randint(1, 2) if "others" in self.obstacles else rng.choice([0, 0, 1])):
            self._job(f"other-{number}", None if rng.random() < 0.5 else "high", plain=True)
        job = self._pending()
        return Draw(self.objects, self.policy, config, job)

    def _nodes(self) -> None:
        rng, names = self.rng, self.names
        tainted = set(rng.sample(names, rng.randint(1, len(names)))) if "taint" in self.obstacles else set()
        cordoned = set(rng.sample(names, rng.randint(1, len(names)))) if "cordon" in self.obstacles else set()
        broken = set(rng.sample(names, rng.randint(1, len(names)))) if "broken" in self.obstacles else set()
        for name in names:
            taints = [TAINT] if name in tainted else []
            spec: Json = {}
            if name in cordoned:
                spec["unschedulable"] = True
                taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
            if name in broken:
                taints += [{"key": UNREACHABLE, "effect": effect} for effect in ("NoSchedule", "NoExecute")]
            labels = {"kubernetes.io/hostname": name, "zone": rng.choice("xy"), "model": rng.choice(["h100", "a100"])}
            status = {
                "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(self.gpus)},
                "conditions": [{"type": "Ready", "status": "Unknown" if name in broken else "True"}],
            }
            spec |= {"taints": taints} if taints else {}
            self.objects.append(_object("Node", name, spec, labels=labels) | {"status": status})

    def _tree(self) -> None:
        rng = self.rng
        if rng.random() < 0.1 and self.policy not in ("volcano-1.13", "volcano-1.15"):
            return
        parts, kind = [(name,) for name in self.names], "Node"
        members = list(self.names)
        for tier in range(1, rng.randint(1, 3) + 1):
            size = rng.choice([1, 2, 2, 3])
            parts = [tuple(members[i : i + size]) for i in range(0, len(members), size)]
            members = []
            for part in parts:
                members.append(f"t{tier}-{len(members)}")
                selectors = [{"type": kind, "selector": {"exactMatch": {"name": name}}} for name in part]
                spec: Json = {"tier": tier, "members": selectors}
                self.objects.append(_object("HyperNode", members[-1], spec, "topology.volcano.sh/v1alpha1"))
            self.tiers.append(tier)
            kind = "HyperNode"
            if len(members) == 1:
                return
        if rng.random() < 0.7:
            selectors = [{"type": kind, "selector": {"exactMatch": {"name": name}}} for name in members]
            top = len(self.tiers) + 1
            self.objects.append(
                _object("HyperNode", "top", {"tier": top, "members": selectors}, "topology.volcano.sh/v1alpha1")
            )
            self.tiers.append(top)

    def _queues(self) -> Json | None:
        rng, whole = self.rng, self.gpus * len(self.names)
        limited = "queue" in self.obstacles
        for name in self.queues:
            spec: Json = {"weight": rng.choice([1, 1, 2, 4])}
            if limited:
                # A guarantee of one queue takes from the others, so there are few.
                if rng.random() < 0.65:
                    spec["capability"] = {GPU: str(rng.randint(1, max(1, whole // 2)))}
                if rng.random() < 0.4:
                    spec["deserved"] = {GPU: str(rng.randint(1, whole // 2 + 1))}
                if rng.random() < 0.2:
                    spec["guarantee"] = {"resource": {GPU: str(rng.randint(1, whole // 2 + 1))}}
                if "capability" in spec and "guarantee" in spec:
                    del spec["guarantee"]
            self.objects.append(_object("Queue", name, spec, "scheduling.volcano.sh/v1beta1"))
        if not self.policy.startswith("volcano") or not (limited or rng.random() < 0.2):
            return None
        plugins = ["priority", "gang", rng.choice(["proportion", "capacity"]), "predicates", "nodeorder", "binpack"]
        if rng.random() < 0.3:
            plugins.insert(2, "overcommit")
        plugins.append("network-topology-aware")
        actions = rng.choice(["enqueue, allocate, backfill", "allocate, backfill"])
        return {"actions": actions, "tiers": [{"plugins": [{"name": name} for name in plugins]}]}

    def _template(self, gpus: int, job: bool = True) -> Json:
        requests = {"cpu": "1", "memory": "1Gi", **({GPU: str(gpus)} if gpus else {})}
        spec: Json = {
            "schedulerName": "volcano",
            "containers": [{"name": "c", "image": "train", "resources": {"requests": requests, "limits": requests}}],
        }
        if job:
            spec["restartPolicy"] = "OnFailure"
        return spec

    def _pod(self, name: str, node: str, gpus: int, job: str = "", terminating: bool = False, **labels: str) -> None:
        spec = self._template(gpus) | {"nodeName": node}
        meta: Json = {"namespace": "ns", "labels": labels}
        if job:
            labels |= {"volcano.sh/job-name": job, "volcano.sh/job-namespace": "ns"}
            meta["ownerReferences"] = [
                {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": job, "uid": f"uid-{job}"}
            ]
            notes = {"volcano.sh/task-spec": "worker", "volcano.sh/job-name": job}
            meta["annotations"] = notes
        if terminating:
            meta["deletionTimestamp"] = "2026-11-26T09:00:00Z"
        self.free[node] -= gpus
        self.objects.append(_object("Pod", name, spec, **meta) | {"status": {"phase": "Running"}})

    def _room(self, gpus: int) -> list[str]:
        return [name for name in self.names if self.free[name] >= gpus]

    def _running(self, name: str) -> None:
        rng = self.rng
        gpus = rng.choice([1, self.gpus // 2, self.gpus, self.gpus])
        pods = []
        for number in range(rng.choice([1, 1, 2, 3])):
            room = self._room(gpus)
            if room:
                pods.append((number, rng.choice(room)))
                self.free[pods[-1][1]] -= gpus
        for _, node in pods:
            self.free[node] += gpus
        if rng.random() < 0.2:
            for number, node in pods:
                self._pod(f"{name}-lone-{number}", node, gpus)
            return
        ending = rng.random() < 0.15
        # The Job of terminating pods is gone: it would make new ones.
        if pods and not ending:
            job = self._volcano_job(name, [("worker", len(pods), gpus)], len(pods), None, rng.choice(self.queues), None)
            self.objects.append(job)
        for number, node in pods:
            self._pod(f"{name}-worker-{number}", node, gpus, name, ending)

    def _volcano_job(
        self, name: str, tasks: list[tuple[str, int, int]], minimum: int, topology: Json | None, queue: str, prio: Any
    ) -> Json:
        spec: Json = {"schedulerName": "volcano", "minAvailable": minimum, "queue": queue, "tasks": []}
        if topology:
            spec["networkTopology"] = topology
        if prio:
            spec["priorityClassName"] = prio
        for task, replicas, gpus in tasks:
            spec["tasks"].append({"name": task, "replicas": replicas, "template": {"spec": self._template(gpus)}})
        return _object("Job", name, spec, "batch.volcano.sh/v1alpha1", namespace="ns", uid=f"uid-{name}")

    def _topology(self) -> Json | None:
        rng = self.rng
        if not self.tiers or ("tier" not in self.obstacles and rng.random() < 0.5):
            return None
        if rng.random() < 0.1:
            return {"mode": "soft"}
        return {"mode": "hard", "highestTierAllowed": 1 if rng.random() < 0.7 else rng.choice(self.tiers)}

    def _tasks(self, plain: bool) -> list[tuple[str, int, int]]:
        rng, n = self.rng, len(self.names)
        most = 2 * n if "big" in self.obstacles and not plain else max(2, n // 2)
        gpus = rng.choice([1, self.gpus // 2, self.gpus, self.gpus, self.gpus])
        if "big" in self.obstacles and not plain and rng.random() < 0.15:
            gpus = 2 * self.gpus  # more than any node has
        least = 2 if "tier" in self.obstacles and not plain else 1
        tasks = [("worker", rng.randint(least, most), gpus)]
        for extra in ("master", "eval")[: 0 if plain else rng.choice([0, 0, 1, 2])]:
            tasks.append((extra, rng.randint(1, 2), rng.choice([0, 1, self.gpus])))
        return tasks

    def _job(self, name: str, prio: str | None, plain: bool = False) -> Json:
        rng = self.rng
        tasks = self._tasks(plain)
        total = sum(replicas for _, replicas, _ in tasks)
        minimum = total if rng.random() < 0.7 else rng.randint(1, total)
        job = self._volcano_job(name, tasks, minimum, self._topology(), rng.choice(self.queues), prio)
        self._conditions([task["template"]["spec"] for task in job["spec"]["tasks"]], plain)
        self.objects.append(job)
        return job

    def _conditions(self, specs: list[Json], plain: bool = False) -> None:
        rng = self.rng
        if plain:
            return
        key = rng.choice(["zone", "model"])
        value = {"zone": rng.choice(["x", "y", "z"]), "model": rng.choice(["h100", "a100", "h200"])}[key]
        for spec in specs:
            if "selector" in self.obstacles:
                spec["nodeSelector"] = {key: value}
            if "affinity" in self.obstacles:
                term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [rng.choice("xyz")]}]}
                required = {"nodeSelectorTerms": [term]}
                spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
            if "taint" in self.obstacles and rng.random() < 0.2:
                spec["tolerations"] = [{"key": "team", "operator": "Exists"}]

    def _pending(self) -> str:
        rng = self.rng
        kind = rng.choice(["Job"] * 8 + ["HyperJob", "Deployment", "Pod", "partly", "partition", "depends"])
        prio = rng.choice([None, None, "low"])
        if kind == "HyperJob":
            return self._hyper_job()
        if kind == "Deployment":
            return self._deployment()
        if kind == "Pod":
            pod = _object("Pod", "job", self._template(self.rng.choice([1, self.gpus])), namespace="ns")
            self._conditions([pod["spec"]])
            self.objects.append(pod | {"status": {"phase": "Pending"}})
            return "ns/job"
        job = self._job("job", prio)
        task = job["spec"]["tasks"][0]
        if kind == "partly":
            gpus = int(task["template"]["spec"]["containers"][0]["resources"]["requests"].get(GPU, 0))
            for number in range(rng.randint(1, task["replicas"])):
                if room := self._room(gpus):
                    self._pod(f"job-worker-{number}", rng.choice(room), gpus, "job")
            for number in range(task["replicas"]):
                if all(o["metadata"]["name"] != f"job-worker-{number}" for o in self.objects):
                    return "ns/job"
            task["replicas"] += 1
            job["spec"]["minAvailable"] += 1
        if kind == "partition":
            parts = rng.randint(1, 3)
            task["replicas"] = parts * rng.choice([1, 2])
            task["partitionPolicy"] = {
                "totalPartitions": parts,
                "partitionSize": task["replicas"] // parts,
                "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            }
            job["spec"]["minAvailable"] = sum(each["replicas"] for each in job["spec"]["tasks"])
        if kind == "depends" and len(job["spec"]["tasks"]) > 1:
            job["spec"]["tasks"][1]["dependsOn"] = {"name": ["worker"]}
        return "ns/job"

    def _deployment(self) -> str:
        rng = self.rng
        template = {
            "metadata": {"labels": {"app": "job"}},
            "spec": self._template(rng.choice([1, self.gpus]), job=False),
        }
        self._conditions([template["spec"]])
        spec = {"replicas": rng.randint(1, 3), "selector": {"matchLabels": {"app": "job"}}, "template": template}
        self.objects.append(_object("Deployment", "job", spec, "apps/v1", namespace="ns"))
        return "ns/job"

    def _hyper_job(self) -> str:
        rng = self.rng
        gpus = rng.choice([self.gpus // 2, self.gpus])
        jobs = rng.randint(1, 3)
        inner: Json = {
            "minAvailable": 2,
            "tasks": [{"name": "worker", "replicas": 2, "template": {"spec": self._template(gpus)}}],
        }
        if self.tiers:
            inner["networkTopology"] = {"mode": "hard", "highestTierAllowed": rng.choice([1, *self.tiers])}
        self._conditions([inner["tasks"][0]["template"]["spec"]])
        spec = {
            "minAvailable": rng.randint(1, jobs),
            "replicatedJobs": [{"name": "member", "replicas": jobs, "templateSpec": inner}],
        }
        self.objects.append(_object("HyperJob", "job", spec, "training.volcano.sh/v1alpha1", namespace="ns"))
        return "ns/job"
