"""Job plugin ray: sets the commands and ports of a Ray cluster, and creates the Service of its head.

Source: docs/reference/volcano-jobs.md, section 2.7.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.errors import InputError
from workbench.jobs.frameworks.contract import (
    Action,
    Object,
    Plugin,
    PluginCall,
    created_if_absent,
    deleted_if_there,
    labels_of_pods,
    object_of_job,
)
from workbench.jobs.frameworks.pod_edits import edit_containers
from workbench.jobs.membership import ROLE_LABEL
from workbench.jobs.task_pods import domain_name, name_of, task_key, task_named
from workbench.objects.frameworks import FRAMEWORKS

__all__ = ["PLUGIN"]

#: Names of the head's ports, and the flags with their numbers.
_PORTS = {"gcs": "port", "dashboard": "dashboardPort", "client-server": "clientPort"}


def _inject(pod: Object, call: PluginCall) -> Object:
    head = task_named(call.job, call.text("head"))
    if head is None:
        message = f"job {name_of(call.job)} doesn't have head task {call.text('head')}"
        raise InputError(message, where="spec.tasks", expected="a task of that name, or --head=TASK")
    task = task_key(pod)

    def edit(container: Object) -> Object:
        name = container.get("name") or ""
        if task == call.text("head") and name == call.text("headContainer"):
            container = {**_with_ports(container, call), "command": _shell(_head_command(call))}
        if task == call.text("worker") and name == call.text("workerContainer"):
            address = f"{domain_name(call.job, head, 0)}:{call.number('port')}"
            container = {**container, "command": _shell(f"ray start --block --address={address}")}
        return container

    return edit_containers(pod, edit)


def _head_command(call: PluginCall) -> str:
    options = {
        "dashboard-host": "0.0.0.0",
        "port": call.number("port"),
        "dashboard-port": call.number("dashboardPort"),
        "ray-client-server-port": call.number("clientPort"),
    }
    return " ".join(["ray start --head --block", *(f"--{name}={value}" for name, value in options.items())])


def _with_ports(container: Object, call: PluginCall) -> Object:
    """The container with Ray's ports added unless it declares their numbers; two equal port numbers are both added."""
    declared = {port.get("containerPort") for port in container.get("ports") or ()}
    ports = [{"name": name, "containerPort": call.number(flag)} for name, flag in _PORTS.items()]
    missing = [port for port in ports if port["containerPort"] not in declared]
    return {**container, "ports": [*(container.get("ports") or ()), *missing]}


def _shell(command: str) -> list[str]:
    return ["sh", "-c", command]


def _on_add(call: PluginCall) -> Iterable[Action]:
    ports = [
        {"name": name, "protocol": "TCP", "port": call.number(flag), "targetPort": name}
        for name, flag in _PORTS.items()
    ]
    spec = {"selector": {**labels_of_pods(call.job), ROLE_LABEL: call.text("head")}, "ports": ports}
    return created_if_absent(call, object_of_job(call.job, "v1", "Service", _service_name(call), spec=spec))


def _on_delete(call: PluginCall) -> Iterable[Action]:
    return deleted_if_there(call, "Service", _service_name(call))


def _service_name(call: PluginCall) -> str:
    return f"{name_of(call.job)}-head-svc"


PLUGIN = Plugin(
    "ray", FRAMEWORKS["ray"].flags, inject=_inject, on_add=_on_add, on_delete=_on_delete, sets_commands=True
)
