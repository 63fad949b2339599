"""Defaults that Volcano's mutating webhook writes into a new Volcano Job.

Source: docs/reference/volcano-jobs.md, section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.objects.admission.plugins import plugin_defaults
from workbench.objects.fields import child, get_bool, get_int, get_map, get_maps, get_text
from workbench.objects.job import DEFAULT_MAX_RETRY, Job

__all__ = ["job_defaults", "task_defaults"]


def job_defaults(data: Mapping[str, Any], job: Job, scheduler: str = "volcano") -> dict[str, Any]:
    """Every default that Volcano's mutating webhook writes into a new Job, by field path, in the webhook's order.

    Parameters
    ----------
    data : mapping
        The parsed manifest.
    job : Job
        The manifest as `read_job` reads it.
    scheduler : str
        Name of the scheduler Volcano; the first one if it has several.
    """
    spec = get_map(data, "spec", "")
    defaults: dict[str, Any] = {}
    for key, value in (("queue", "default"), ("schedulerName", scheduler), ("maxRetry", DEFAULT_MAX_RETRY)):
        if not spec.get(key):
            defaults[f"spec.{key}"] = value
    defaults |= task_defaults(spec, job)
    if not get_int(spec, "minAvailable", "spec"):
        defaults["spec.minAvailable"] = job.min_available
    plugins = None if spec.get("plugins") is None else get_map(spec, "plugins", "spec")
    return defaults | {f"spec.plugins.{name}": arguments for name, arguments in plugin_defaults(plugins).items()}


def task_defaults(spec: Mapping[str, Any], job: Job) -> dict[str, Any]:
    """Defaults that Volcano's mutating webhook writes into the tasks of a Job, by field path.

    `spec` is the Job's spec as parsed, `job` the result of `read_job`.
    """
    defaults: dict[str, Any] = {}
    for (path, item), task in zip(get_maps(spec, "tasks", "spec"), job.tasks, strict=True):
        if not item.get("name"):
            defaults[f"{path}.name"] = task.name
        pod, where = get_map(get_map(item, "template", path), "spec", child(path, "template")), f"{path}.template.spec"
        if get_bool(pod, "hostNetwork", where) and not get_text(pod, "dnsPolicy", where):
            defaults[f"{where}.dnsPolicy"] = "ClusterFirstWithHostNet"
        if task.min_available is None:
            defaults[f"{path}.minAvailable"] = task.minimum
        if not item.get("maxRetry"):
            defaults[f"{path}.maxRetry"] = DEFAULT_MAX_RETRY
    return defaults
