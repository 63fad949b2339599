"""Sessions on a real API server: each job placed on what the real scheduler had placed before it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from workbench import load, schedule
from workbench.formats.scheduler_conf import parse_config

__all__ = ["check"]

Json = dict[str, Any]

VOLCANO = "scheduling.volcano.sh/v1beta1"


def check(session: Json, policy: str) -> None:
    """Verdict and number of pods of every job; where the real scheduler placed it decides what the next one finds."""
    config = parse_config(session["config"].encode(), "config")
    running: list[Json] = []
    waiting: list[Json] = []
    found, want = {}, {}
    for job in session["jobs"]:
        name = job["manifest"]["metadata"]["name"]
        objects = [*cluster(session), *running, *waiting, submitted(job, 59)]
        scenario = load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode())
        decisions = schedule(scenario.gangs, scenario.snapshot, policy, config=config)
        decision = next(each for each in decisions if each.gang.name == name)
        found[name] = sum(bool(pod.node) for pod in decision.result.pods()) if decision.placed else 0
        want[name] = sum(node is not None for node in job["pods"].values())
        if want[name]:
            running += bound(job)
        else:
            # What stays pending keeps its place in the queue.
            waiting.append(submitted(job, len(waiting)))
    wrong = {name: f"{found[name]} pods, really {want[name]}" for name in want if found[name] != want[name]}
    assert not wrong, wrong


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
