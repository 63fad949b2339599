"""A submitted Job as the cluster stores it, with the defaults of admission and the Job controller.

Only fields that reach pods are filled in. Source: docs/reference/volcano-jobs.md, sections 3.1 and 4.2.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from workbench.jobs.create_pod import name_like_random
from workbench.jobs.frameworks.contract import object_of_job
from workbench.jobs.task_pods import namespace_of, spec_of, tasks_of, template_spec_of

__all__ = ["as_stored", "claims_of"]

Object = Mapping[str, Any]

#: Plugins that admission adds for others, each without arguments.
_NEEDED = {
    "svc": ("tensorflow", "mpi", "pytorch", "ray", "mxnet"),
    "ssh": ("mpi",),
}


def as_stored(job: Object) -> dict[str, Any]:
    """The Job with the defaults that admission and the Job controller fill in.

    Parameters
    ----------
    job : mapping
        A manifest whose fields have the right types.

    Returns
    -------
    dict
        The Job with a namespace, a uid (a missing one is derived from namespace and name), a queue and a
        scheduler, a name and replicas of every task, the plugins that other plugins need, and names of volume claims.
    """
    metadata = {**job["metadata"], "namespace": namespace_of(job) or "default"}
    key = f"batch.volcano.sh/Job/{metadata['namespace']}/{metadata['name']}"
    metadata["uid"] = metadata.get("uid") or str(uuid.uuid5(uuid.NAMESPACE_OID, key))
    spec = {
        **spec_of(job),
        "queue": spec_of(job).get("queue") or "default",
        "schedulerName": spec_of(job).get("schedulerName") or "volcano",
        "tasks": [_task(task, position) for position, task in enumerate(tasks_of(job))],
        "plugins": _plugins(spec_of(job).get("plugins") or {}),
        "volumes": [_volume(entry, key, metadata["name"]) for entry in spec_of(job).get("volumes") or ()],
    }
    return {**job, "metadata": metadata, "spec": spec}


def claims_of(job: Object) -> list[dict[str, Any]]:
    """The PersistentVolumeClaims that the Job controller makes for a stored Job."""
    volumes = [entry for entry in spec_of(job).get("volumes") or () if entry.get("volumeClaim")]
    return [
        object_of_job(job, "v1", "PersistentVolumeClaim", entry["volumeClaimName"], spec=entry["volumeClaim"])
        for entry in volumes
    ]


def _task(task: Object, position: int) -> dict[str, Any]:
    name = task.get("name") or f"default{position}"
    replicas = 1 if task.get("replicas") is None else task["replicas"]
    template, spec = task.get("template") or {}, template_spec_of(task)
    if spec.get("hostNetwork") and not spec.get("dnsPolicy"):
        spec = {**spec, "dnsPolicy": "ClusterFirstWithHostNet"}
    metadata = {**(template.get("metadata") or {}), "name": name}
    return {**task, "name": name, "replicas": replicas, "template": {**template, "metadata": metadata, "spec": spec}}


def _plugins(plugins: Object) -> dict[str, Any]:
    needed = [name for name, users in _NEEDED.items() if any(user in plugins for user in users)]
    return {**plugins, **{name: [] for name in needed if name not in plugins}}


def _volume(entry: Object, job: str, name: str) -> dict[str, Any]:
    generated = f"{name}-pvc-{name_like_random(job + str(entry.get('mountPath')))}"
    return {**entry, "volumeClaimName": entry.get("volumeClaimName") or generated}
