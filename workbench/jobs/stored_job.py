"""A submitted Volcano Job as the cluster stores it, with the defaults of admission and of the Job controller.

Of what the controller fills in, only fields that reach pods. Source: docs/reference/volcano-jobs.md, sections 3.1, 4.2.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from workbench.jobs.create_pod import name_like_random
from workbench.jobs.frameworks.contract import object_of_job
from workbench.jobs.task_pods import namespace_of, spec_of, tasks_of, template_spec_of
from workbench.objects.admission.job import job_defaults
from workbench.objects.admission.known import with_defaults
from workbench.objects.job import read_job

__all__ = ["as_stored", "claims_of"]

Object = Mapping[str, Any]


def as_stored(job: Object) -> dict[str, Any]:
    """The manifest of a Volcano Job with the defaults that admission and the Job controller fill in.

    `job`: a manifest whose fields have the right types. Returns the Job with the defaults of `job_defaults`, a
    namespace, a uid (a missing one is derived from namespace and name), replicas of every task, and names of volume
    claims.
    """
    metadata = {**job["metadata"], "namespace": namespace_of(job) or "default"}
    key = f"batch.volcano.sh/Job/{metadata['namespace']}/{metadata['name']}"
    metadata["uid"] = metadata.get("uid") or str(uuid.uuid5(uuid.NAMESPACE_OID, key))
    filled = with_defaults(job, job_defaults(job, read_job(job)))
    spec = {
        **filled["spec"],
        "tasks": [_task(task) for task in tasks_of(filled)],
        "plugins": spec_of(filled).get("plugins") or {},
        "volumes": [_volume(entry, key, metadata["name"]) for entry in spec_of(job).get("volumes") or ()],
    }
    return {**filled, "metadata": metadata, "spec": spec}


def claims_of(job: Object) -> list[dict[str, Any]]:
    """Manifests of the PersistentVolumeClaims that the Job controller makes for a stored Volcano Job."""
    volumes = [entry for entry in spec_of(job).get("volumes") or () if entry.get("volumeClaim")]
    return [
        object_of_job(job, "v1", "PersistentVolumeClaim", entry["volumeClaimName"], spec=entry["volumeClaim"])
        for entry in volumes
    ]


def _task(task: Object) -> dict[str, Any]:
    template = task.get("template") or {}
    metadata = {**(template.get("metadata") or {}), "name": task["name"]}
    spec = {"metadata": metadata, "spec": template_spec_of(task)}
    return {
        **task,
        "replicas": 1 if task.get("replicas") is None else task["replicas"],
        "template": {**template, **spec},
    }


def _volume(entry: Object, job: str, name: str) -> dict[str, Any]:
    generated = f"{name}-pvc-{name_like_random(job + str(entry.get('mountPath')))}"
    return {**entry, "volumeClaimName": entry.get("volumeClaimName") or generated}
