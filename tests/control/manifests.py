"""Manifests for tests of the embedded cluster."""

from __future__ import annotations

from typing import Any

from workbench.control.cluster import EmbeddedCluster
from workbench.control.kinds import Ref

JOB = Ref("Job", "default", "train")


def node(name: str, gpus: int = 8) -> dict[str, Any]:
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": amounts}}


def hypernode(name: str, tier: int, members: list[str], kind: str = "Node") -> dict[str, Any]:
    chosen = [{"type": kind, "selector": {"exactMatch": {"name": one}}} for one in members]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "members": chosen},
    }


def small_cluster(n: int = 4) -> list[dict[str, Any]]:
    """Leaves of two nodes each under one spine."""
    nodes = [node(f"n{i}") for i in range(n)]
    leaves = [hypernode(f"leaf{k}", 1, [f"n{2 * k}", f"n{2 * k + 1}"]) for k in range(n // 2)]
    return [*nodes, *leaves, hypernode("spine", 2, [one["metadata"]["name"] for one in leaves], "HyperNode")]


def pod_template(gpus: int = 8, **metadata: Any) -> dict[str, Any]:
    resources = {"limits": {"nvidia.com/gpu": gpus}, "requests": {"nvidia.com/gpu": gpus}} if gpus else {}
    containers = [{"name": "main", "image": "train", "resources": resources}]
    return {"metadata": metadata, "spec": {"containers": containers}}


def task(name: str = "worker", replicas: int = 2, gpus: int = 8, **more: Any) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, "template": pod_template(gpus), **more}


def job(name: str = "train", tasks: list[dict[str, Any]] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"schedulerName": "volcano", "tasks": tasks or [task()], **spec},
    }


def command(name: str, target: str, action: str) -> dict[str, Any]:
    return {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"name": name},
        "action": action,
        "target": {"kind": "Job", "name": target},
    }


def phase_of(cluster: EmbeddedCluster, name: str = "train") -> str:
    found = cluster.store.get(Ref("Job", "default", name))
    return "" if found is None else str(found.get("status", {}).get("state", {}).get("phase", ""))


def pods_of(cluster: EmbeddedCluster, name: str = "train") -> dict[str, str]:
    """Phase of each pod of a Job."""
    label = "volcano.sh/job-name"
    mine = [pod for pod in cluster.store.list("Pod") if (pod["metadata"].get("labels") or {}).get(label) == name]
    return {pod["metadata"]["name"]: (pod.get("status") or {}).get("phase", "Pending") for pod in mine}


def cluster_with(*objects: dict[str, Any], policy: str = "volcano-1.15", **options: Any) -> EmbeddedCluster:
    cluster = EmbeddedCluster(policy, **options)
    cluster.submit(*small_cluster(), *objects)
    cluster.settle()
    return cluster


def status_of(cluster: EmbeddedCluster, key: Ref) -> dict[str, Any]:
    found = cluster.store.get(key)
    assert found is not None
    return dict(found.get("status") or {})


def group_of(cluster: EmbeddedCluster) -> dict[str, Any]:
    (group,) = cluster.store.list("PodGroup")
    return dict(group)


def job_pods(cluster: EmbeddedCluster, name: str) -> list[Any]:
    return [pod for pod in cluster.store.list("Pod") if pod["metadata"]["labels"].get("volcano.sh/job-name") == name]


def hyper_job(name: str = "llm", replicas: int = 2, tasks: list[Any] | None = None, **spec: Any) -> dict[str, Any]:
    members = [{"name": "w", "replicas": replicas, "templateSpec": job(tasks=tasks)["spec"]}]
    return {
        "apiVersion": "training.volcano.sh/v1alpha1",
        "kind": "HyperJob",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": members, **spec},
    }
