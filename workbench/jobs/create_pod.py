"""`create_pod`: the pod that Volcano's Job controller makes from a task's template, before job plugins change it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any

from workbench.jobs.frameworks.contract import owner_reference
from workbench.jobs.frameworks.pod_edits import edit_containers, with_mount, with_volume
from workbench.jobs.membership import JOB_LABEL, ROLE_LABEL
from workbench.jobs.sub_groups import PARTITION_LABEL, partition_id
from workbench.jobs.task_pods import (
    DEFAULT_TASK,
    NAMESPACE_LABEL,
    TASK_INDEX,
    annotations_of,
    name_of,
    namespace_of,
    pod_name,
    spec_of,
)
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION

__all__ = ["create_pod", "name_like_random"]

Object = Mapping[str, Any]

_QUEUE = "volcano.sh/queue-name"
_FORWARDING = {"volcano.sh/job-forwarding": "true"}
#: Keys that pods take over from their Job: annotations from annotations, labels from labels.
_BOTH = ("volcano.sh/preemptable", "volcano.sh/cooldown-time")
_REVOCABLE = "volcano.sh/revocable-zone"
_BUDGETS = ("volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable")

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_LONGEST_RANDOM = 12


def create_pod(
    job: Object, template: Object, task: Object, index: int, *, job_forwarding: bool = False
) -> dict[str, Any]:
    """Build the manifest of one pod of a task as Volcano's Job controller does.

    Returns dict: parts of the template are shared with it, not copied. Source: docs/reference/volcano-jobs.md, section
    4.2. The PodGroup is named after the Job's uid; names of volumes, which Volcano draws at random, are derived from
    the claim's name.

    `template`: the task's template; its metadata.name is the name of the task. `task`: the entry of spec.tasks, for
    partitionPolicy and topologyPolicy. `index`: index of the pod in its task. `job_forwarding`: the Job's queue
    forwards its Jobs to other clusters.
    """
    metadata = template.get("metadata") or {}
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(name_of(job), name_of(template), index),
            "namespace": namespace_of(job),
            "labels": {**(metadata.get("labels") or {}), **_labels(job, template, task, index, job_forwarding)},
            "annotations": {**annotations_of(template), **_annotations(job, template, task, index, job_forwarding)},
            "ownerReferences": [owner_reference(job)],
        },
        "spec": {**spec_of(template), **_defaults(job, spec_of(template))},
    }
    return dict(_with_claims(pod, job))


def _common(job: Object, template: Object, index: int) -> dict[str, str]:
    return {
        TASK_INDEX: str(index),
        ROLE_LABEL: name_of(template) or DEFAULT_TASK,
        JOB_LABEL: name_of(job),
        _QUEUE: spec_of(job).get("queue") or "",
    }


def _labels(job: Object, template: Object, task: Object, index: int, forwarding: bool) -> dict[str, str]:
    own = (job.get("metadata") or {}).get("labels") or {}
    found = {**_common(job, template, index), NAMESPACE_LABEL: namespace_of(job)}
    found |= {key: own[key] for key in _BOTH if key in own}
    if task.get("partitionPolicy") is not None:
        found[PARTITION_LABEL] = partition_id(index, task["partitionPolicy"].get("partitionSize") or 0)
    return found | (_FORWARDING if forwarding else {})


def _annotations(job: Object, template: Object, task: Object, index: int, forwarding: bool) -> dict[str, str]:
    own, status = annotations_of(job), job.get("status") or {}
    uid = (job.get("metadata") or {}).get("uid") or ""
    found = {
        **_common(job, template, index),
        GROUP_NAME_ANNOTATION: f"{name_of(job)}-{uid}",
        "volcano.sh/job-version": str(status.get("version") or 0),
        "volcano.sh/template-uid": f"{name_of(job)}-{name_of(template)}",
        "volcano.sh/job-retry-count": str(status.get("retryCount") or 0),
    }
    if task.get("topologyPolicy"):
        found["volcano.sh/numa-topology-policy"] = task["topologyPolicy"]
    budget = next(((key,) for key in _BUDGETS if key in own), ())
    found |= {key: own[key] for key in (*_BOTH, _REVOCABLE, *budget) if key in own}
    return found | (_FORWARDING if forwarding else {})


def _defaults(job: Object, spec: Object) -> dict[str, Any]:
    """Fields of a pod's spec that are taken from the Job's spec because the pod template does not set them."""
    fields = ("schedulerName", "priorityClassName")
    return {name: spec_of(job)[name] for name in fields if not spec.get(name) and spec_of(job).get(name)}


def _with_claims(pod: Object, job: Object) -> Object:
    """The pod with the Job's volumes; an entry whose claim an earlier entry has is left out with its mount path."""
    entries: dict[str, Object] = {}
    for entry in spec_of(job).get("volumes") or ():
        entries.setdefault(entry.get("volumeClaimName") or "", entry)
    for claim, entry in entries.items():
        name = f"{name_of(job)}-{name_like_random(claim)}"
        mount = {"name": name, "mountPath": entry.get("mountPath") or ""}
        pod = with_volume(pod, {"name": name, "persistentVolumeClaim": {"claimName": claim}})
        pod = edit_containers(pod, partial(with_mount, mount=mount))
    return pod


def name_like_random(seed: str) -> str:
    """Twelve digits and lower-case letters derived from `seed`, in place of the random text that Volcano would draw."""
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest())
    letters = []
    for _ in range(_LONGEST_RANDOM):
        number, rest = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rest])
    return "".join(letters)
