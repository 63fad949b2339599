"""Runner of recorded sessions on a real API server: each job is explained on the state that the scheduler left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench import load
from workbench.formats.scheduler_conf import parse_config
from workbench.model.explanation import Explanation, Recorder
from workbench.model.gang import Gang
from workbench.model.topology import Topology
from workbench.policies import get_policy
from workbench.policies.volcano.task_order import task_rank

__all__ = ["check"]

Json = dict[str, Any]

VOLCANO = "scheduling.volcano.sh/v1beta1"


def check(session: Json, policy: str) -> None:
    """Verdict, number of pods and HyperNode of every job; what the next one finds is where the real scheduler put them.

    The real scheduler took one of equal HyperNodes at random: it must be one of those that explain our choice.
    """
    scheduler = get_policy(policy, config=parse_config(session["config"].encode(), "config"))
    running: list[Json] = []
    waiting: list[Json] = []
    wrong = {}
    for job in session["jobs"]:
        name = job["manifest"]["metadata"]["name"]
        objects = [*cluster(session), *running, *waiting, submitted(job, 59)]
        scenario = load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode())
        at, recorder = [gang.name for gang in scenario.gangs].index(name), Recorder()
        decision = scheduler.schedule(scenario.gangs, scenario.snapshot, {at: recorder})[at]
        mine = recorder.explanation(decision)
        found = sum(bool(pod.node) for pod in decision.result.pods()) if decision.placed else 0
        want = sum(node is not None for node in job["pods"].values())
        if found != want:
            wrong[name] = f"{found} pods, really {want}"
        elif want and has_topology(decision.gang) and not among_equals(mine, scenario.snapshot.topology, job["pods"]):
            wrong[name] = f"one of {', '.join(mine.equals)}, really {job['pods']}"
        if want:
            running += bound(job)
        else:
            # What stays pending keeps its place in the queue.
            waiting.append(submitted(job, len(waiting)))
    assert not wrong, wrong


def has_topology(gang: Gang) -> bool:
    return gang.constraint is not None or any(group.constraint is not None for group in gang.sub_groups)


def among_equals(told: Explanation, topology: Topology, nodes: dict[str, str | None]) -> bool:
    """Whether the first pods, those that are needed, are inside one of the HyperNodes among which the name decided."""
    gang, number = told.decision.gang, {name: i for i, name in enumerate(topology.node_names)}
    names = [name.rsplit("/", 1)[-1] for name in gang.pod_names(np.arange(gang.n_pods))]
    placed = [node for i in np.argsort(task_rank(gang)) if (node := nodes.get(names[i])) is not None]
    first = {number[node] for node in placed[: max(gang.min_available, 1)]}
    domains = [-1 if name == topology.domain_name(-1) else topology.domain(name) for name in told.equals]
    return any(first <= set(topology.nodes_of(domain).tolist()) for domain in domains)


def cluster(session: Json) -> Iterator[Json]:
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(session["gpus"])}
    for name in session["nodes"]:
        meta = {"name": name, "labels": {"kubernetes.io/hostname": name}}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"allocatable": amounts}}
    for each in session["hypernodes"]:
        members = [{"type": each["type"], "selector": {"exactMatch": {"name": name}}} for name in each["members"]]
        yield {
            "apiVersion": "topology.volcano.sh/v1alpha1",
            "kind": "HyperNode",
            "metadata": {"name": each["name"]},
            "spec": {"tier": each["tier"], "members": members},
        }
    yield {"apiVersion": VOLCANO, "kind": "Queue", "metadata": {"name": "default"}, "spec": {"weight": 1}}


def submitted(job: Json, second: int) -> Json:
    """The Job as the API server stored it, created in that second."""
    created = f"2026-01-01T00:00:{second:02d}Z"
    meta = {**job["manifest"]["metadata"], "namespace": "default", "creationTimestamp": created}
    return {**job["manifest"], "metadata": meta, "spec": job["stored_spec"]}


def bound(job: Json) -> Iterator[Json]:
    """The PodGroup and the pods that have a node, as they run afterwards."""
    name, spec, group = job["manifest"]["metadata"]["name"], job["manifest"]["spec"], job["podgroup"] or {}
    meta = {"name": f"pg-{name}", "namespace": "default", "annotations": group.get("annotations") or {}}
    yield {
        "apiVersion": VOLCANO,
        "kind": "PodGroup",
        "metadata": meta,
        "spec": group.get("spec") or {"minMember": spec["minAvailable"]},
        "status": {"phase": "Running"},
    }
    templates = {task["name"]: task["template"]["spec"] for task in spec["tasks"]}
    for pod, node in job["pods"].items():
        if node is None:
            continue
        role = pod[len(name) + 1 :].rsplit("-", 1)[0]
        annotations = {"scheduling.k8s.io/group-name": f"pg-{name}", "volcano.sh/task-spec": role}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod, "namespace": "default", "annotations": annotations},
            "spec": {**templates[role], "nodeName": node},
            "status": {"phase": "Running"},
        }
