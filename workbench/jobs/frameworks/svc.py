"""Job plugin svc: lets the pods of a Job find each other by name, and only them connect to each other.

Source: docs/reference/volcano-jobs.md, section 2.2.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.jobs.frameworks.contract import (
    Action,
    Object,
    Plugin,
    PluginCall,
    created_if_absent,
    data_written,
    deleted_if_there,
    labels_of_pods,
    object_of_job,
)
from workbench.jobs.frameworks.pod_edits import (
    config_map_volume,
    edit_containers,
    edit_init_containers,
    with_env,
    with_mount,
    with_spec,
    with_volume,
)
from workbench.jobs.task_pods import hosts_of_task, name_of, spec_of, tasks_of
from workbench.objects.flags import Flag

__all__ = ["PLUGIN", "hosts_config_map"]

_FOLDER = "/etc/volcano"

_FLAGS = (
    Flag("publish-not-ready-addresses", False, "the Service also names pods that are not ready"),
    Flag("disable-network-policy", False, "no NetworkPolicy"),
    Flag("inject-hosts-env", True, "variables with the hosts of each task"),
)


def hosts_config_map(job: Object) -> dict[str, object]:
    """The manifest of the ConfigMap with the host names of each task's pods.

    If the names of two tasks differ only in hyphens, the last one counts.
    """
    data = {}
    for task in tasks_of(job):
        hosts, (hosts_key, count_key) = hosts_of_task(job, task), _variables(task)
        data[f"{_as_key(task)}.host"] = "\n".join(hosts)
        data[hosts_key] = ",".join(hosts)
        data[count_key] = str(len(hosts))
    return object_of_job(job, "v1", "ConfigMap", _config_map_name(job), data=data)


def _inject(pod: Object, call: PluginCall) -> Object:
    spec = spec_of(pod)
    name = _config_map_name(call.job)
    pod = with_spec(
        pod,
        hostname=spec.get("hostname") or name_of(pod),
        subdomain=spec.get("subdomain") or name_of(call.job),
    )
    variables = []
    if call.on("inject-hosts-env"):
        keys = [key for task in tasks_of(call.job) for key in _variables(task)]
        variables = [{"name": key, "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}} for key in keys]
    mount = {"name": name, "mountPath": _FOLDER}

    def edit(container: Object) -> Object:
        return with_mount(with_env(container, variables), mount)

    return with_volume(edit_init_containers(edit_containers(pod, edit), edit), config_map_volume(name))


def _on_add(call: PluginCall) -> Iterable[Action]:
    yield from _on_update(call)
    yield from created_if_absent(call, _service(call))
    if not call.on("disable-network-policy"):
        yield from created_if_absent(call, _network_policy(call.job))


def _on_update(call: PluginCall) -> Iterable[Action]:
    return data_written(call, hosts_config_map(call.job))


def _on_delete(call: PluginCall) -> Iterable[Action]:
    yield from deleted_if_there(call, "ConfigMap", _config_map_name(call.job))
    yield from deleted_if_there(call, "Service", name_of(call.job))
    if not call.on("disable-network-policy"):
        yield from deleted_if_there(call, "NetworkPolicy", name_of(call.job))


def _service(call: PluginCall) -> Object:
    job = call.job
    spec = {
        "clusterIP": "None",
        "selector": labels_of_pods(job),
        "publishNotReadyAddresses": call.on("publish-not-ready-addresses"),
    }
    return object_of_job(job, "v1", "Service", name_of(job), spec=spec)


def _network_policy(job: Object) -> Object:
    spec = {
        "podSelector": {"matchLabels": labels_of_pods(job)},
        "ingress": [{"from": [{"podSelector": {"matchLabels": labels_of_pods(job)}}]}],
        "policyTypes": ["Ingress"],
    }
    return object_of_job(job, "networking.k8s.io/v1", "NetworkPolicy", name_of(job), spec=spec)


def _as_key(task: Object) -> str:
    return str(task.get("name") or "").replace("-", "_")


def _variables(task: Object) -> tuple[str, str]:
    key = _as_key(task).upper()
    return f"VC_{key}_HOSTS", f"VC_{key}_NUM"


def _config_map_name(job: Object) -> str:
    return f"{name_of(job)}-svc"


PLUGIN = Plugin("svc", _FLAGS, inject=_inject, on_add=_on_add, on_update=_on_update, on_delete=_on_delete)
