"""Job plugin tensorflow: describes the cluster and the pod's role in the environment variable TF_CONFIG.

Source: docs/reference/volcano-jobs.md, section 2.4.
"""

from __future__ import annotations

import json
from typing import Any

from workbench.jobs.frameworks.contract import Object, Plugin, PluginCall
from workbench.jobs.frameworks.pod_edits import edit_containers, variable, with_env
from workbench.jobs.task_pods import domain_name, number_in_name, task_key, tasks_of
from workbench.objects.frameworks import FRAMEWORKS

__all__ = ["PLUGIN"]

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


PLUGIN = Plugin("tensorflow", FRAMEWORKS["tensorflow"].flags, inject=_inject)
