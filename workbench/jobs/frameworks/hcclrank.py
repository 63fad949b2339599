"""Job plugin hcclrank: writes the pod's rank for HCCL, Huawei's collective library, as an annotation.

Source: docs/reference/volcano-jobs.md, section 2.8.
"""

from __future__ import annotations

from workbench.jobs.frameworks.contract import Object, Plugin, PluginCall
from workbench.jobs.frameworks.pod_edits import with_annotation
from workbench.jobs.task_pods import annotations_of, index_from_label, replicas_of_task, spec_of, task_key, tasks_of
from workbench.objects.flags import Flag

__all__ = ["PLUGIN", "first_env_value"]

_RANK_ANNOTATION = "hccl/rankIndex"
_RANK_VARIABLE = "RANK"

_FLAGS = (Flag("master", "master", "task of the masters"), Flag("worker", "worker", "task of the workers"))


def first_env_value(pod: Object, name: str) -> str:
    """Literal value of the environment variable `name` in the first container that has it; empty if none has."""
    variables = [each for container in spec_of(pod).get("containers") or () for each in container.get("env") or ()]
    return next((each.get("value") or "" for each in variables if each.get("name") == name), "")


def _inject(pod: Object, call: PluginCall) -> Object:
    if annotations_of(pod).get(_RANK_ANNOTATION) or not call.job:
        return pod
    rank = first_env_value(pod, _RANK_VARIABLE)
    if not rank:
        task, master = task_key(pod), call.text("master")
        if task not in (master, call.text("worker")):
            return pod
        before = 0 if task == master else replicas_of_task(tasks_of(call.job), master)
        rank = str(before + index_from_label(pod))
    return with_annotation(pod, _RANK_ANNOTATION, rank)


PLUGIN = Plugin("hcclrank", _FLAGS, inject=_inject, marked=False)
