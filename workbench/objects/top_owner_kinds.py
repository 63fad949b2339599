"""`TOP_OWNERS`: the table of functions that read each kind of top owner, by API group and kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.model.deferred import Deferred
from workbench.objects.top_owner import KUBEFLOW_KINDS, TopOwner

__all__ = ["TOP_OWNERS", "top_kind", "top_owner_reader"]

_Read = Callable[[Mapping[str, Any]], TopOwner]

TOP_OWNERS: Mapping[tuple[str, str], _Read] = {
    ("batch", "Job"): Deferred("workbench.objects.batch_job:read_batch_job"),
    ("jobset.x-k8s.io", "JobSet"): Deferred("workbench.objects.job_set:read_job_set"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): Deferred(
        "workbench.objects.leader_worker_set:read_leader_worker_set"
    ),
    ("ray.io", "RayCluster"): Deferred("workbench.objects.ray_cluster:read_ray_cluster"),
    ("ray.io", "RayJob"): Deferred("workbench.objects.ray_cluster:read_ray_job"),
    **{("kubeflow.org", kind): Deferred("workbench.objects.kubeflow_job:read_kubeflow_job") for kind in KUBEFLOW_KINDS},
}


def top_kind(group: str, kind: str) -> str:
    """Kind of an object by its API group, where ``Job`` is Volcano's and ``BatchJob`` the Job of Kubernetes."""
    return "BatchJob" if (group, kind) == ("batch", "Job") else kind


def top_owner_reader(data: Mapping[str, Any]) -> _Read | None:
    """The function that reads a parsed manifest as a top owner; None if it is an object of another kind."""
    return TOP_OWNERS.get((str(data.get("apiVersion")).rpartition("/")[0], str(data.get("kind"))))
