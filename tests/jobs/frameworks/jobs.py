"""Volcano Jobs as parsed manifests, and what to look up in what they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["env_of", "job_of", "named", "pods_of", "task_of"]


def task_of(name: str, replicas: int = 1, *, gpus: int = 0, container: str = "main", **spec: Any) -> dict[str, Any]:
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    containers = [{"name": container, "image": "image", "resources": resources}]
    return {"name": name, "replicas": replicas, "template": {"spec": {"containers": containers, **spec}}}


def job_of(
    plugins: Mapping[str, Sequence[str]], *tasks: Mapping[str, Any], name: str = "jobname", **spec: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"plugins": dict(plugins), "tasks": list(tasks), **spec},
    }


def named(objects: Sequence[Mapping[str, Any]], kind: str, name: str) -> Any:
    (found,) = [each for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def pods_of(objects: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [each for each in objects if each["kind"] == "Pod"]


def env_of(pod: Mapping[str, Any], container: int = 0, field: str = "containers") -> dict[str, str]:
    """Literal values by name, the last of equal names as in Kubernetes."""
    return {each["name"]: each.get("value", "") for each in pod["spec"][field][container].get("env", ())}
