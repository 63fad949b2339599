"""Job plugins that only write variables or an annotation into pods: tensorflow, mxnet, env and hcclrank.

Sources: docs/reference/volcano-jobs.md, sections 2.1 (env), 2.4 (tensorflow) and 2.8 (hcclrank). Volcano has no plugin
mxnet: its variables are those of the design document's table and of Volcano's example Job (section 2.9; `Addition`).
"""

from __future__ import annotations

import json
from typing import Any

from workbench.jobs.frameworks.contract import Object, Plugin, PluginCall
from workbench.jobs.frameworks.pod_edits import (
    edit_containers,
    edit_init_containers,
    variable,
    with_annotation,
    with_env,
    with_missing_env,
)
from workbench.jobs.task_pods import (
    annotations_of,
    domain_name,
    index_from_label,
    index_in_name,
    number_in_name,
    replicas_of_task,
    spec_of,
    task_key,
    task_named,
    tasks_of,
)
from workbench.objects.flags import Flag
from workbench.objects.frameworks import FRAMEWORKS

__all__ = ["ENV", "HCCLRANK", "MXNET", "TENSORFLOW", "first_env_value"]

#: Roles in the order in which they stand in TF_CONFIG, and in which the role of a pod is looked up.
_IN_CLUSTER = ("ps", "worker", "chief", "evaluator")
_OF_POD = ("chief", "worker", "ps", "evaluator")


def _inject(pod: Object, call: PluginCall) -> Object:
    tasks = tasks_of(call.job)
    if len(tasks) == 1 and tasks[0].get("replicas") == 1:
        return pod
    index = number_in_name(pod)
    task = task_key(pod)
    role = next((role for role in _OF_POD if call.text(role) == task), task)
    config = {"cluster": _cluster(call), "task": {"type": role, "index": index}}
    text = json.dumps(config, separators=(",", ":"), ensure_ascii=False)
    return edit_containers(pod, lambda container: with_env(container, [variable("TF_CONFIG", text)]))


def _cluster(call: PluginCall) -> dict[str, Any]:
    """The part ``cluster`` of TF_CONFIG: addresses of the pods, ``hostname.subdomain:port``, by role.

    A host name that the template fixes is repeated for each replica, unlike in the other plugins.
    """
    hosts: dict[str, list[str]] = {}
    for task in tasks_of(call.job):
        role = next((role for role in _IN_CLUSTER if call.text(role) == (task.get("name") or "")), None)
        if role is not None:
            names = [domain_name(call.job, task, index) for index in range(task.get("replicas") or 0)]
            hosts[role] = [f"{name}:{call.number('port')}" for name in names]
    return {role: hosts[role] for role in _IN_CLUSTER if hosts.get(role)}


TENSORFLOW = Plugin("tensorflow", FRAMEWORKS["tensorflow"].flags, inject=_inject)


_MXNET_ENV = FRAMEWORKS["mxnet"].additions.env
_ROLES = ("scheduler", "server", "worker")


def _extend_pod(pod: Object, call: PluginCall) -> Object:
    """A scheduler, server or worker with MXNet's variables that its containers do not have yet."""
    scheduler = task_named(call.job, call.text("scheduler"))
    role = next((role for role in _ROLES if call.text(role) == task_key(pod)), None)
    if scheduler is None or role is None:
        return pod
    tasks = tasks_of(call.job)
    values = {
        _MXNET_ENV["host"]: domain_name(call.job, scheduler, 0),
        _MXNET_ENV["port"]: str(call.number("port")),
        _MXNET_ENV["servers"]: str(replicas_of_task(tasks, call.text("server"))),
        _MXNET_ENV["workers"]: str(replicas_of_task(tasks, call.text("worker"))),
        _MXNET_ENV["role"]: role,
        _MXNET_ENV["kubernetes"]: "1",
    }
    return edit_containers(pod, lambda each: with_missing_env(each, values))


MXNET = Plugin("mxnet", FRAMEWORKS["mxnet"].flags, extend_pod=_extend_pod)


_INDEX_NAMES = ("VK_TASK_INDEX", "VC_TASK_INDEX")


def _inject_index(pod: Object, call: PluginCall) -> Object:
    index = index_in_name(pod)
    variables = [variable(name, index) for name in _INDEX_NAMES]
    pod = edit_containers(pod, lambda container: with_env(container, variables))
    return edit_init_containers(pod, lambda container: with_env(container, variables))


ENV = Plugin("env", inject=_inject_index)


_RANK_ANNOTATION = "hccl/rankIndex"
_RANK_VARIABLE = "RANK"

_RANK_FLAGS = (Flag("master", "master", "task of the masters"), Flag("worker", "worker", "task of the workers"))


def first_env_value(pod: Object, name: str) -> str:
    """Literal value of the environment variable `name` in the first container that has it; empty if none has."""
    variables = [each for container in spec_of(pod).get("containers") or () for each in container.get("env") or ()]
    return next((each.get("value") or "" for each in variables if each.get("name") == name), "")


def _inject_rank(pod: Object, call: PluginCall) -> Object:
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


HCCLRANK = Plugin("hcclrank", _RANK_FLAGS, inject=_inject_rank, marked=False)
