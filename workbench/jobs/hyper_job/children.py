"""The Jobs of a HyperJob, and the PropagationPolicy that sends each Job to one member cluster.

Source: docs/reference/volcano-jobs.md, section 8.2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench.objects.fields import get_maps, get_text
from workbench.objects.hyper_job import HYPER_JOB_LABEL, ReplicatedJob
from workbench.objects.metadata import Metadata

__all__ = ["HASH_LABEL", "MEMBER_LABEL", "job_of", "kept_defaults", "policy_of", "template_hash"]

MEMBER_LABEL = "volcano.sh/replicatedjob-name"
HASH_LABEL = "volcano.sh/vcjob-template-spec-hash"
_POLICY_HASH_LABEL = "volcano.sh/pp-spec-hash"

#: What the webhook fills in where a template says nothing, of a Job and of each of its tasks.
_JOB_DEFAULTS = ("queue", "schedulerName", "maxRetry", "minAvailable")
_TASK_DEFAULTS = ("maxRetry", "minAvailable")


def template_hash(member: ReplicatedJob) -> str:
    """Hash of the template; a Job with another hash was made from another template."""
    return _hash(member.template)


def job_of(hyper_job: Metadata, member: ReplicatedJob, name: str) -> dict[str, Any]:
    """The manifest of one Job that a HyperJob creates for an entry of replicatedJobs.

    `hyper_job`: metadata of the HyperJob, which becomes the owner.
    """
    owner = {
        "apiVersion": "training.volcano.sh/v1alpha1",
        "kind": "HyperJob",
        "name": hyper_job.name,
        "uid": hyper_job.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {HYPER_JOB_LABEL: hyper_job.name, MEMBER_LABEL: member.name, HASH_LABEL: template_hash(member)}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": hyper_job.namespace,
            "labels": labels,
            "ownerReferences": [owner],
        },
        "spec": dict(member.template),
    }


def policy_of(hyper_job: Metadata, member: ReplicatedJob, name: str) -> dict[str, Any]:
    """The manifest of the PropagationPolicy that sends one Job of a HyperJob, as a whole, to one cluster.

    `hyper_job`, `name`: as in `job_of`.
    """
    placement: dict[str, Any] = {
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    }
    if member.clusters is not None:
        placement["clusterAffinity"] = {"clusterNames": list(member.clusters)}
    selector = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name}
    spec = {"propagateDeps": True, "resourceSelectors": [selector], "placement": placement}
    labels = {HYPER_JOB_LABEL: hyper_job.name, _POLICY_HASH_LABEL: _hash(spec)}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": hyper_job.namespace, "labels": labels},
        "spec": spec,
    }


def kept_defaults(existing: Mapping[str, Any], desired: Mapping[str, Any]) -> dict[str, Any]:
    """The spec with which an existing Job is updated: the new template's, with defaults that the webhook had filled in.

    `existing` is the Job's stored spec, `desired` the spec of the template.
    """
    tasks = {get_text(item, "name", path): item for path, item in get_maps(existing, "tasks", "spec")}
    written = [
        _filled(item, tasks.get(get_text(item, "name", path), {}), _TASK_DEFAULTS)
        for path, item in get_maps(desired, "tasks", "spec")
    ]
    return {**_filled(desired, existing, _JOB_DEFAULTS), "tasks": written}


def _filled(data: Mapping[str, Any], other: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {**data, **{key: other[key] for key in keys if not data.get(key) and other.get(key)}}


def _hash(value: Any) -> str:
    """64-bit FNV-1a of the value as text, in hexadecimal. Upstream hashes another text, so codes differ from its."""
    code = 0xCBF29CE484222325
    for byte in json.dumps(value, sort_keys=True).encode():
        code = (code ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{code:016x}"
