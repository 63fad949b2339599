"""`unmatched_notices`: names in the arguments of framework plugins that no task or container of the Job has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.jobs.create_pod import create_pod
from workbench.jobs.frameworks.contract import Object
from workbench.jobs.frameworks.registry import arguments_of, on_pod_create
from workbench.jobs.task_pods import spec_of, task_named, tasks_of
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.objects.frameworks import FRAMEWORKS

__all__ = ["unmatched_notices"]

#: How the description of a flag that names a task begins.
_TASK_FLAG = "task of"
#: What a flag that names a container has behind the name of the flag for the container's task.
_CONTAINER = "Container"


def unmatched_notices(job: Object) -> Iterator[Notice]:
    """Notices about framework plugins that leave pods as they are because a name in their arguments is not there.

    `job`: the manifest of a Volcano Job as stored, which its plugins can serve.

    Yields Notice: about a plugin of which no pod of the Job takes anything, and about a container that the plugin does
    not find in a task that it finds. The code is ``plugin-without-effect``.
    """
    for plugin in spec_of(job)["plugins"]:
        if plugin not in FRAMEWORKS:
            continue
        values = arguments_of(plugin, spec_of(job)["plugins"][plugin]).values
        roles = {
            flag.name: str(values[flag.name])
            for flag in FRAMEWORKS[plugin].flags
            if flag.meaning.startswith(_TASK_FLAG)
        }
        containers = list(_unmatched_containers(job, plugin, roles, values))
        yield from containers or _unmatched_tasks(job, plugin, roles)


def _unmatched_tasks(job: Object, plugin: str, roles: Mapping[str, str]) -> Iterator[Notice]:
    names = [str(task.get("name")) for task in tasks_of(job)]
    found = [flag for flag, name in roles.items() if name in names]
    if len(found) == len(roles) or (found and not _leaves_all_pods(job, plugin)):
        return
    wanted = " or ".join(f"{name} (--{flag})" for flag, name in roles.items() if flag not in found)
    text = (
        f"the plugin {plugin} does nothing for the pods of the Job: no task is called {wanted}; the Job has "
        f"{counted(len(names), 'task')} ({', '.join(names)}): name the right ones in the arguments of the plugin"
    )
    yield Notice("plugin-without-effect", text, f"spec.plugins.{plugin}")


def _leaves_all_pods(job: Object, plugin: str) -> bool:
    """Whether a plugin changes no pod; False for a Job of one pod, which needs no rendezvous."""
    tasks = [task for task in tasks_of(job) if task.get("replicas")]
    if sum(task["replicas"] for task in tasks) < 2:
        return False
    alone = {plugin: spec_of(job)["plugins"][plugin]}
    for task in tasks:
        pod = create_pod(job, task["template"], task, 0)
        if on_pod_create(pod, job, alone) != on_pod_create(pod, job, {}):
            return False
    return True


def _unmatched_containers(
    job: Object, plugin: str, roles: Mapping[str, str], values: Mapping[str, Any]
) -> Iterator[Notice]:
    for flag in (name for name in values if name.endswith(_CONTAINER)):
        task_name = roles.get(flag.removesuffix(_CONTAINER), "")
        task = task_named(job, task_name)
        if task is None or not task.get("replicas"):
            continue
        containers = _container_names(task)
        if not containers or values[flag] in containers:
            continue
        name = containers[0] if len(containers) == 1 else "NAME"
        text = (
            f"task {task_name}: the plugin {plugin} finds no container {values[flag]} among "
            f"{', '.join(containers)} and starts nothing there: write --{flag}={name}, or rename the container"
        )
        yield Notice("plugin-without-effect", text, f"spec.plugins.{plugin}")


def _container_names(task: Object) -> Sequence[str]:
    containers = ((task.get("template") or {}).get("spec") or {}).get("containers") or ()
    return [str(one.get("name")) for one in containers]
