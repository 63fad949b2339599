"""Edits that take pods away: a running job ends or moves, terminating pods are gone, a pending job is withdrawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.errors import InputError
from workbench.formats.edit_manifests.job_objects import JobObjects, pending_job, running_jobs
from workbench.formats.edit_manifests.manifest_set import Manifest, ManifestSet, child_map
from workbench.jobs.hyper_job.gangs import hyper_job_of_jobs
from workbench.jobs.membership import JOB_LABEL, ROLE_LABEL
from workbench.jobs.volcano_job import gang_of_job
from workbench.model.gpu_annotation import GPU_ANNOTATION
from workbench.objects.pod import Pod

__all__ = ["finish_job", "finish_pod", "move_pods", "remove_terminating", "withdraw_job"]

Edit = Mapping[str, Any]

_GATE = {"name": "workbench/held-back"}


def finish_job(manifests: ManifestSet, key: str) -> None:
    """End a running job: its pods and all objects from which new ones would be made are gone.

    Terminating pods stay until they are gone by themselves. A Job of a HyperJob ends alone: its pods have succeeded,
    since the HyperJob would make a missing Job again.
    """
    of_hyper_jobs = hyper_job_of_jobs(manifests.cluster)
    for job in running_jobs(manifests, key):
        owner = of_hyper_jobs.get(job.key) if job.kind == "Job" else None
        if owner is not None and manifests.find("HyperJob", owner) is not None:
            _succeed(manifests, job)
        else:
            _remove(manifests, job)


def finish_pod(manifests: ManifestSet, key: str) -> None:
    """End a pod that belongs to no job."""
    manifests.remove(manifests.need("Pod", key))


def _succeed(manifests: ManifestSet, job: JobObjects) -> None:
    for pod in job.pods:
        if pod.runs or pod.waits:
            data = manifests.change(manifests.need("Pod", pod.metadata.key))
            child_map(data, "status")["phase"] = "Succeeded"


def _remove(manifests: ManifestSet, job: JobObjects) -> None:
    """Remove all objects of a job but its terminating pods."""
    for one in (job, *job.jobs):
        manifests.remove(one.owner)
    for position in job.groups:
        manifests.remove(position)
    for pod in job.pods:
        if not pod.terminating:
            manifests.remove(manifests.find("Pod", pod.metadata.key))
        _remove_replica_owner(manifests, pod)


def _remove_replica_owner(manifests: ManifestSet, pod: Pod) -> None:
    """Remove the ReplicaSet or StatefulSet that controls a pod, and the Deployment of the ReplicaSet."""
    owner = pod.metadata.controller
    if owner is None or owner.kind not in ("ReplicaSet", "StatefulSet"):
        return
    namespace = pod.metadata.namespace
    manifests.remove(manifests.find(owner.kind, f"{namespace}/{owner.name}"))
    if owner.kind == "ReplicaSet":
        # The name of a Deployment's ReplicaSet ends in a hash.
        manifests.remove(manifests.find("Deployment", f"{namespace}/{owner.name.rpartition('-')[0]}"))


def withdraw_job(manifests: ManifestSet, key: str) -> None:
    """Take a pending job out of the session; pods of it that run already stay."""
    job = pending_job(manifests, key)
    if not job.runs:
        _remove(manifests, job)
        return
    for one in job.jobs_that_wait(manifests):
        if one.runs:
            _hold_back(manifests, one)
        else:
            _remove(manifests, one)
    if job.kind == "HyperJob" and job.owner is not None:
        # No further Job is made.
        metadata = child_map(manifests.change(job.owner), "metadata")
        metadata.setdefault("deletionTimestamp", metadata.get("creationTimestamp") or "1970-01-01T00:00:00Z")
    if job.kind == "Deployment" and job.owner is not None:
        child_map(manifests.change(job.owner), "spec")["replicas"] = sum(pod.runs for pod in job.pods)
    if job.kind not in ("Job", "HyperJob"):
        for _, position in list(job.waiting_pods(manifests)):
            manifests.remove(position)


def _hold_back(manifests: ManifestSet, job: JobObjects) -> None:
    """Give every pending pod of a Job a scheduling gate; one that does not exist yet is made."""
    gang = gang_of_job(manifests.cluster.jobs[job.key], job.pods, None, manifests.priorities)
    for ref in gang.pods() if gang is not None else ():
        namespace, _, name = job.key.partition("/")
        position = manifests.find("Pod", f"{namespace}/{ref.name}")
        if position is None:
            labels = {JOB_LABEL: name, ROLE_LABEL: ref.role.name}
            metadata = {"name": ref.name, "namespace": namespace, "labels": labels}
            manifests.add({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})
            position = manifests.need("Pod", f"{namespace}/{ref.name}")
        child_map(manifests.change(position), "spec").setdefault("schedulingGates", []).append(dict(_GATE))


def remove_terminating(manifests: ManifestSet, edit: Edit) -> None:
    """Let terminating pods be gone: they hold nothing any more.

    The pod that a Volcano Job makes in the place of one is held back, as the Job does not ask for it yet.
    """
    of_jobs = {pod.metadata.key for pods in manifests.members.of_job.values() for pod in pods}
    for key in edit.get("pods") or ():
        position = manifests.need("Pod", key)
        if not (manifests.read(position).get("metadata") or {}).get("deletionTimestamp"):
            raise InputError("the pod is not terminating", got=key, expected="a pod with metadata.deletionTimestamp")
        if key not in of_jobs:
            manifests.remove(position)
            continue
        data = manifests.change(position)
        del data["metadata"]["deletionTimestamp"]
        spec = child_map(data, "spec")
        spec.pop("nodeName", None)
        spec["schedulingGates"] = [dict(_GATE)]
        data["status"] = {"phase": "Pending"}
        _forget_gpus(data)


def move_pods(manifests: ManifestSet, key: str, edit: Edit) -> None:
    """Put running pods on other nodes; the GPUs that were recorded for them are forgotten.

    `manifests`: changed in place. `key`: ``namespace/name`` of the running job. `edit`: the key ``to`` has the new node
    of each pod, by the pod's name or ``namespace/name``.
    """
    namespace = key.partition("/")[0]
    running_jobs(manifests, key)
    moves: Mapping[str, str] = edit.get("to") or {}
    for name, node in moves.items():
        manifests.need("Node", node)
        data = manifests.change(manifests.need("Pod", name if "/" in name else f"{namespace}/{name}"))
        child_map(data, "spec")["nodeName"] = node
        _forget_gpus(data)


def _forget_gpus(data: Manifest) -> None:
    (data["metadata"].get("annotations") or {}).pop(GPU_ANNOTATION, None)
