"""`plugin_notices`: what job plugins do to the pods of a Volcano Job that its author may not expect.

Every notice is read from the pods that the plugins of this package make, so it holds for each plugin alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from workbench.errors import InputError
from workbench.jobs.create_pod import create_pod
from workbench.jobs.frameworks.contract import Object
from workbench.jobs.frameworks.registry import PLUGINS, arguments_of, on_job_add, on_pod_create
from workbench.jobs.frameworks.unmatched_names import unmatched_notices
from workbench.jobs.stored_job import as_stored
from workbench.jobs.task_pods import name_of, spec_of, tasks_of
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.objects.frameworks import FRAMEWORKS

__all__ = ["may_have_notices", "plugin_notices"]

#: Largest environment string ``NAME=value`` with the zero byte at its end: MAX_ARG_STRLEN of the Linux kernel.
LARGEST_STRING = 128 * 1024
#: Most bytes of a ConfigMap's values that the API server stores.
LARGEST_CONFIG_MAP = 1024 * 1024

#: Plugins that replace commands of containers.
COMMAND_PLUGINS = frozenset(plugin.name for plugin in PLUGINS if plugin.sets_commands)

#: What the flag that names a container has behind the name of the flag for the container's task.
_CONTAINER = "Container"

#: A string of `LARGEST_STRING` bytes needs more hosts than this: a host name has at most 127 bytes, and what a plugin
#: writes around it fewer than 64.
_FEW_PODS = 600
#: Replicas of one task beyond which strings are not made: any list of so many names is too long.
_MOST_REPLICAS = 50_000


def plugin_notices(job: Object) -> list[Notice]:
    """Notices about a Job that its plugins refuse or do nothing for, replaced commands and lists of hosts too long.

    `job`: the manifest of a Volcano Job that admission accepts, as submitted or as stored.

    Returns notices task by task; one alone where a plugin refuses the Job.
    """
    try:
        stored = as_stored(job)
        found = [*unmatched_notices(stored), *_replaced_commands(stored)]
        if sum(task["replicas"] for task in tasks_of(stored)) > _FEW_PODS:
            found += [*_long_strings(stored), *_long_config_maps(stored)]
    except InputError as error:
        text = f"a job plugin refuses the Job, so that no pod of it is created: {error.message}"
        return [Notice("plugin-refuses", text, "spec.plugins")]
    return found


def may_have_notices(job: Object) -> bool:
    """Whether `plugin_notices` may say anything about a Job: a cheap test for Jobs with few pods and other plugins."""
    plugins, tasks = spec_of(job).get("plugins") or (), spec_of(job).get("tasks") or ()
    if any(name in FRAMEWORKS for name in plugins):
        return True
    return bool(plugins) and sum(int(task.get("replicas") or 0) for task in tasks) > _FEW_PODS


def _replaced_commands(job: Object) -> Iterator[Notice]:
    if COMMAND_PLUGINS.isdisjoint(spec_of(job)["plugins"]):
        return
    for i, task in enumerate(tasks_of(job)):
        if not task.get("replicas"):
            continue
        before, after = _first_pod(job, task, {}), _first_pod(job, task, spec_of(job)["plugins"])
        for j, (old, new) in enumerate(zip(_containers(before), _containers(after), strict=False)):
            written = [field for field in ("command", "args") if old.get(field)]
            if not written or (old.get("command") or []) == (new.get("command") or []):
                continue
            plugin = next(
                name for name in spec_of(job)["plugins"] if _command_after(job, task, name, j) == new.get("command")
            )
            text = (
                f"task {task.get('name')}: the plugin {plugin} replaces the command of container {old.get('name')} by "
                f"“{' '.join(map(str, new.get('command') or ()))}”; the {' and '.join(written)} written there never "
                f"run{'' if len(written) > 1 or written == ['args'] else 's'}: leave the plugin out"
            )
            if flag := _container_flag(job, plugin, task.get("name") or ""):
                text += f", or name another container by --{flag}"
            path = f"spec.tasks[{i}].template.spec.containers[{j}].{written[0]}"
            yield Notice("command-replaced", text, path)


def _container_flag(job: Object, plugin: str, task: str) -> str:
    """The plugin's flag that names the container it changes in the pods of a task; empty if there is none."""
    values = arguments_of(plugin, spec_of(job)["plugins"][plugin]).values
    roles = (name.removesuffix(_CONTAINER) for name in values if name.endswith(_CONTAINER))
    return next((role + _CONTAINER for role in roles if values.get(role) == task), "")


def _command_after(job: Object, task: Object, plugin: str, container: int) -> Any:
    pod = _first_pod(job, task, {plugin: spec_of(job)["plugins"][plugin]})
    return _containers(pod)[container].get("command")


def _long_strings(job: Object) -> Iterator[Notice]:
    for name, (plugin, size) in _strings(_smaller(job, _MOST_REPLICAS)).items():
        if size <= LARGEST_STRING:
            continue
        pods = _largest(partial(_string_fits, job, name))
        text = (
            f"the plugin {plugin} gives containers the variable {name} of {size - len(name) - 2:,} bytes; Linux "
            f"refuses an environment string above {LARGEST_STRING:,} bytes, so they do not start when a task has "
            f"more than {counted(pods, 'pod', form=',')}: "
        )
        text += (
            'write svc: ["--inject-hosts-env=false"] (since Volcano 1.16) and read the hosts from /etc/volcano'
            if plugin == "svc"
            else "use fewer pods, or leave the plugin out"
        )
        yield Notice("environment-too-long", text, f"spec.plugins.{plugin}", {"bytes": size, "pods": pods})


def _long_config_maps(job: Object) -> Iterator[Notice]:
    for name, size in _config_maps(_smaller(job, _MOST_REPLICAS)).items():
        if size <= LARGEST_CONFIG_MAP:
            continue
        pods = _largest(partial(_config_map_fits, job, name))
        text = (
            f"the ConfigMap {name} of the Job's plugins has {size:,} bytes; the API server "
            f"refuses more than {LARGEST_CONFIG_MAP:,}, so no pod starts when a task has more than "
            f"{counted(pods, 'pod', form=',')}: use fewer pods or shorter names"
        )
        yield Notice("config-map-too-large", text, "spec.plugins", {"bytes": size, "pods": pods})


def _string_fits(job: Object, name: str, most: int) -> bool:
    return _strings(_smaller(job, most)).get(name, ("", 0))[1] <= LARGEST_STRING


def _config_map_fits(job: Object, name: str, most: int) -> bool:
    return _config_maps(_smaller(job, most)).get(name, 0) <= LARGEST_CONFIG_MAP


def _smaller(job: Object, most: int) -> Object:
    """The Job with at most so many replicas of each task."""
    tasks = [{**task, "replicas": min(task["replicas"], most)} for task in tasks_of(job)]
    return {**job, "spec": {**spec_of(job), "tasks": tasks}}


def _largest(fits: Callable[[int], bool]) -> int:
    """The largest number of replicas that fits, by bisection."""
    low, high = 0, _MOST_REPLICAS
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _strings(job: Object) -> dict[str, tuple[str, int]]:
    """Plugin and size of each environment string that plugins add to pods of the Job, by name; the largest counts.

    A value from a ConfigMap of the plugins counts with the text that it has there.
    """
    found: dict[str, tuple[str, int]] = {}
    for plugin, arguments in spec_of(job)["plugins"].items():
        values = {
            (name_of(action.manifest), key): str(value)
            for action in on_job_add(job, {plugin: arguments}).actions
            for key, value in (action.manifest.get("data") or {}).items()
            if action.kind == "ConfigMap"
        }
        for task in tasks_of(job):
            if not task["replicas"]:
                continue
            written = {
                one.get("name") for container in _containers(_first_pod(job, task, {})) for one in _env(container)
            }
            for container in _containers(_first_pod(job, task, {plugin: arguments})):
                for one in _env(container):
                    name = str(one.get("name"))
                    reference = (one.get("valueFrom") or {}).get("configMapKeyRef") or {}
                    value = one.get("value") or values.get((str(reference.get("name")), str(reference.get("key"))), "")
                    size = len(f"{name}={value}".encode()) + 1
                    if name not in written and size > found.get(name, ("", 0))[1]:
                        found[name] = plugin, size
    return found


def _config_maps(job: Object) -> dict[str, int]:
    """Bytes of the values in each ConfigMap that the plugins of a Job make."""
    return {
        name_of(action.manifest): sum(len(str(value).encode()) for value in action.manifest["data"].values())
        for action in on_job_add(job, spec_of(job)["plugins"]).actions
        if action.kind == "ConfigMap"
    }


def _first_pod(job: Object, task: Object, plugins: Mapping[str, Any]) -> Object:
    return on_pod_create(create_pod(job, task["template"], task, 0), job, plugins)


def _containers(pod: Object) -> list[Object]:
    return list(spec_of(pod).get("containers") or ())


def _env(container: Object) -> list[Object]:
    return list(container.get("env") or ())
