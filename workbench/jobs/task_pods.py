"""Names, indices, host names and order of the pods of a Volcano Job, computed from parsed manifests.

Source: docs/reference/volcano-jobs.md, section 1.2. Names of the pods that wait for a node, as the policies see them,
are in `workbench.model.gang`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import InputError
from workbench.jobs.membership import ROLE_LABEL

__all__ = [
    "DEFAULT_TASK",
    "NAMESPACE_LABEL",
    "OUT_OF_SYNC_ANNOTATION",
    "TASK_INDEX",
    "annotations_of",
    "domain_name",
    "hosts_of_task",
    "index_from_label",
    "index_in_name",
    "is_out_of_sync",
    "name_of",
    "namespace_of",
    "number_in_name",
    "pod_name",
    "pod_names",
    "replicas_of_task",
    "spec_of",
    "task_key",
    "task_named",
    "task_position",
    "tasks_of",
    "template_spec_of",
]

#: Label and annotation of a pod: its index in its task.
TASK_INDEX = "volcano.sh/task-index"
#: Label of a pod: the namespace of its Job.
NAMESPACE_LABEL = "volcano.sh/job-namespace"
#: Task of a pod that names none.
DEFAULT_TASK = "default"

#: Annotation of a pod that the Job controller is about to delete, so that its end is no failure of the Job.
OUT_OF_SYNC_ANNOTATION = "volcano.sh/controller-out-of-sync"

# Go's Atoi, and numbers that surely fit into its 64 bits.
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


def name_of(data: Mapping[str, Any]) -> str:
    """metadata.name of a manifest; empty if absent."""
    return str((data.get("metadata") or {}).get("name") or "")


def namespace_of(data: Mapping[str, Any]) -> str:
    """metadata.namespace of a manifest; empty if absent."""
    return str((data.get("metadata") or {}).get("namespace") or "")


def spec_of(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec of a manifest; empty if absent."""
    return data.get("spec") or {}


def annotations_of(data: Mapping[str, Any]) -> Mapping[str, str]:
    """metadata.annotations of a manifest; empty if absent."""
    return (data.get("metadata") or {}).get("annotations") or {}


def tasks_of(job: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The entries of a Volcano Job's spec.tasks."""
    return spec_of(job).get("tasks") or ()


def template_spec_of(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod spec in the template of a Volcano Job's task."""
    return spec_of(task.get("template") or {})


def pod_name(job: str, task: str, index: int) -> str:
    """The name of a Volcano Job's pod: ``job-task-index``. `index`: number of the pod in its task."""
    return f"{job}-{task}-{index}"


def pod_names(job: str, task: str, replicas: int) -> list[str]:
    """Names of all pods of a Volcano Job's task, in the order of their indices.

    `replicas`: number of pods of the task.
    """
    return [pod_name(job, task, index) for index in range(replicas)]


def index_in_name(pod: Mapping[str, Any]) -> str:
    """The text after the last hyphen of a pod's name, its index in the task.

    Empty if the name has fewer than two hyphens.
    """
    pieces = name_of(pod).split("-")
    return pieces[-1] if len(pieces) > 2 else ""


def number_in_name(pod: Mapping[str, Any]) -> int:
    """The pod's index in its task, from the end of its name; raises InputError if that is no number."""
    text = index_in_name(pod)
    if not _NUMBER.fullmatch(text):
        raise InputError(f"index parse: '{text}'", where="metadata.name", got=repr(name_of(pod)), expected=_POD_NAME)
    return int(text)


_POD_NAME = "JOB-TASK-INDEX"


def index_from_label(pod: Mapping[str, Any]) -> int:
    """The pod's index in its task, from its label `TASK_INDEX`.

    Raises InputError if the label is absent or no number.
    """
    text = ((pod.get("metadata") or {}).get("labels") or {}).get(TASK_INDEX)
    if text is None or not _NUMBER.fullmatch(text):
        message = f"task index label {TASK_INDEX} {'is missing' if text is None else 'is no number'}"
        found = f"pod {name_of(pod)}" if text is None else repr(text)
        raise InputError(message, where="metadata.labels", got=found, expected="the index of the pod in its task")
    return int(text)


def task_key(pod: Mapping[str, Any]) -> str:
    """Name of the pod's task, from its annotation; `DEFAULT_TASK` if the annotation is missing."""
    return annotations_of(pod).get(ROLE_LABEL) or DEFAULT_TASK


def task_position(tasks: Sequence[Mapping[str, Any]], name: str) -> int:
    """Index of the first entry of spec.tasks named `name`; -1 if there is none."""
    return next((i for i, task in enumerate(tasks) if (task.get("name") or "") == name), -1)


def task_named(job: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """The first entry of a Job's spec.tasks named `name`; None if there is none."""
    position = task_position(tasks_of(job), name)
    return None if position < 0 else tasks_of(job)[position]


def replicas_of_task(tasks: Sequence[Mapping[str, Any]], name: str) -> int:
    """Replicas of the first entry of spec.tasks named `name`; 0 if there is none."""
    position = task_position(tasks, name)
    return 0 if position < 0 else tasks[position].get("replicas") or 0


def domain_name(job: Mapping[str, Any], task: Mapping[str, Any], index: int) -> str:
    """The DNS name by which other pods of the Job reach a pod: ``hostname.subdomain``.

    A part that the task does not set is the one that the plugin svc sets.

    `job`, `task`: the Job, and the task of it that the pod belongs to. `index`: number of the pod in its task.
    """
    spec = template_spec_of(task)
    host = spec.get("hostname") or pod_name(name_of(job), task.get("name") or "", index)
    return f"{host}.{spec.get('subdomain') or name_of(job)}"


def hosts_of_task(job: Mapping[str, Any], task: Mapping[str, Any]) -> list[str]:
    """The DNS name of each pod of a Job's task; only one name if the template fixes the host name."""
    count = task.get("replicas") or 0
    if template_spec_of(task).get("hostname"):
        count = min(count, 1)
    return [domain_name(job, task, index) for index in range(count)]


def is_out_of_sync(pod: Mapping[str, Any]) -> bool:
    """Whether the Job controller marked a pod before it deleted it (`OUT_OF_SYNC_ANNOTATION`)."""
    return OUT_OF_SYNC_ANNOTATION in annotations_of(pod)
