"""Small clusters as Kubernetes objects, read as users' files are, and the node that each job got."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import workbench as wb
from workbench.formats.scheduler_conf import parse_config

Json = dict[str, Any]

GROUP = "scheduling.k8s.io/group-name"


def _meta(kind: str, name: str, version: str = "v1", **more: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **more}}


def node(name: str, **amounts: str) -> Json:
    """A node; amounts by resource, `gpu` for nvidia.com/gpu."""
    allocatable = {("nvidia.com/gpu" if key == "gpu" else key): amount for key, amount in amounts.items()}
    return {**_meta("Node", name), "status": {"allocatable": {"pods": "110", **allocatable}}}


def hypernode(name: str, tier: int, *members: str, kind: str = "Node", tier_name: str = "") -> Json:
    selectors = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
    spec = {"tier": tier, "members": selectors, **({"tierName": tier_name} if tier_name else {})}
    return {**_meta("HyperNode", name, "topology.volcano.sh/v1alpha1"), "spec": spec}


def pod_group(name: str, minimum: int, topology: Json | None = None, created: int = 0, **spec: Any) -> Json:
    meta = {"namespace": "ns", "creationTimestamp": f"2026-01-01T00:00:{created:02d}Z"}
    found = {**_meta("PodGroup", name, "scheduling.volcano.sh/v1beta1", **meta), "status": {"phase": "Inqueue"}}
    return {**found, "spec": {"minMember": minimum, **({"networkTopology": topology} if topology else {}), **spec}}


def pod(name: str, *containers: Mapping[str, str], at: str = "", group: str = "", **spec: Any) -> Json:
    """A pod of so many containers with these requests; with a node it runs, and needs no group."""
    meta = {"namespace": "ns", **({"annotations": {GROUP: group}} if group else {})}
    named = [{("nvidia.com/gpu" if key == "gpu" else key): amount for key, amount in c.items()} for c in containers]
    listed = [{"name": f"c{i}", "resources": {"requests": requests}} for i, requests in enumerate(named)]
    status = {"phase": "Running" if at else "Pending"}
    bound = {"nodeName": at} if at else {}
    return {
        **_meta("Pod", name, **meta),
        "spec": {"schedulerName": "volcano", "containers": listed, **bound, **spec},
        "status": status,
    }


def job(name: str, count: int, *containers: Mapping[str, str], topology: Json | None = None, **more: Any) -> list[Json]:
    """A PodGroup and its pending pods, all of which are needed."""
    minimum = more.pop("minimum", count)
    pods = [pod(f"{name}-{i}", *containers, group=name) for i in range(count)]
    return [pod_group(name, minimum, topology, **more), *pods]


def loaded(*objects: Json | Iterable[Json]) -> wb.Scenario:
    items = [item for part in objects for item in ([part] if isinstance(part, dict) else part)]
    whole = {"apiVersion": "v1", "kind": "List", "items": items}
    return wb.load("-", stdin=json.dumps(whole).encode())


def config(*plugins: str | Json, actions: str = "allocate, backfill") -> Any:
    """A scheduler configuration of one tier."""
    listed = [{"name": plugin} if isinstance(plugin, str) else plugin for plugin in plugins]
    return parse_config(json.dumps({"actions": actions, "tiers": [{"plugins": listed}]}).encode(), "config")


def decisions(scenario: wb.Scenario, policy: str, config: Any) -> Sequence[wb.Decision]:
    return wb.schedule(scenario.gangs, scenario.snapshot, policy, config=config)


def nodes_of(scenario: wb.Scenario, policy: str, config: Any) -> dict[str, list[str]]:
    """Nodes of each job's pods in one session, in order of their names; none of a job that is pending."""
    return {
        decision.gang.name: [pod.node for pod in decision.result.pods()] if decision.placed else []
        for decision in decisions(scenario, policy, config)
    }
