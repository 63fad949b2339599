"""Admission of a Job's plugins: unknown plugins, plugins that the webhook adds, and warnings about missing settings.

Source: docs/reference/volcano-jobs.md, sections 2.9, 3.1 and 3.2; the warnings: design document "Distributed framework
plugins", motivation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.model.notice import Notice
from workbench.objects.admission.schema import Fault
from workbench.objects.fields import child, get_list, get_map, get_maps, get_text, wrong
from workbench.objects.flags import parse_arguments
from workbench.objects.frameworks import FRAMEWORKS
from workbench.objects.job import Job

__all__ = [
    "OWN_PLUGINS",
    "PLUGINS",
    "master_warnings",
    "mpi_master_finding",
    "plugin_defaults",
    "plugin_findings",
    "plugin_warnings",
]

#: Plugins of Volcano, in every release that is followed.
PLUGINS = frozenset({"ssh", "env", "svc", "hcclrank", *(name for name, of in FRAMEWORKS.items() if of.in_volcano)})
#: Plugins that only this project has; Volcano refuses a Job that names one.
OWN_PLUGINS = frozenset(name for name, framework in FRAMEWORKS.items() if not framework.in_volcano)

_NEED_KEYS = tuple(name for name, framework in FRAMEWORKS.items() if framework.needs_keys)


def plugin_defaults(plugins: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """The plugins with their arguments that Volcano's mutating webhook adds to a Job.

    `plugins` is the Job's spec.plugins; None if the Job has no such field.
    """
    if plugins is None:
        return {}
    added: dict[str, list[str]] = {}
    for name, needed_by in (("svc", tuple(FRAMEWORKS)), ("ssh", _NEED_KEYS)):
        if name not in plugins and any(plugin in plugins for plugin in needed_by):
            added[name] = []
    return added


def plugin_findings(spec: Mapping[str, Any], job: Job, own: bool) -> list[Fault]:
    """Violations for plugins in a Job's spec.plugins that do not exist.

    Raises InputError: a plugin's arguments are not a list of strings.

    `job`: the manifest as `read_job` reads it. `own`: whether to accept plugins that only this project has.
    """
    plugins = get_map(spec, "plugins", "spec")
    for name in plugins:
        _arguments(plugins, name)
    known = PLUGINS | OWN_PLUGINS if own else PLUGINS
    return [
        Fault(f"spec.plugins.{name}", f" unable to find job plugin: {name};")
        for name in job.plugins
        if name not in known
    ]


def plugin_warnings(job: Job) -> list[Notice]:
    """Warnings for plugins of a Job that this package accepts although no release of Volcano has them."""
    return [
        Notice(
            "own-plugin", f"spec.plugins.{name} is this project's own: Volcano refuses the Job", f"spec.plugins.{name}"
        )
        for name in job.plugins
        if name in OWN_PLUGINS
    ]


def mpi_master_finding(spec: Mapping[str, Any], job: Job) -> list[Fault]:
    """The violation of a Job with the plugin mpi that lacks the plugin's master task.

    Worker tasks are not checked, as upstream.
    """
    plugins = get_map(spec, "plugins", "spec")
    if "mpi" not in plugins or any(task.name == _master(plugins, "mpi") for task in job.tasks):
        return []
    return [Fault("spec.plugins.mpi", "The specified mpi master task was not found")]


def master_warnings(spec: Mapping[str, Any], job: Job) -> list[Notice]:
    """Warnings about the leading task of a framework plugin (such as the PyTorch master) that lacks recommended
    policies.

    If no plugin fills these in, the leading task should be restarted when it fails, because it starts before its
    workers answer, and the Job should complete when the task completes.
    """
    plugins = get_map(spec, "plugins", "spec")
    found = []
    for (path, item), task in zip(get_maps(spec, "tasks", "spec"), job.tasks, strict=True):
        frameworks = [name for name in FRAMEWORKS if name in plugins and _master(plugins, name) == task.name]
        if not frameworks:
            continue
        who = f"task {task.name} leads the job of the plugin {frameworks[0]}"
        template = get_map(get_map(item, "template", path), "spec", child(path, "template"))
        if get_text(template, "restartPolicy", child(path, "template.spec")) != "OnFailure":
            text = f"{path}.template.spec.restartPolicy: {who} and should say OnFailure"
            found.append(Notice("framework-master-policy", text, path))
        policies = (*task.policies, *job.policies)
        if not any("TaskCompleted" in policy.events and policy.action == "CompleteJob" for policy in policies):
            text = f"{path}.policies: {who} and should have the policy TaskCompleted → CompleteJob"
            found.append(Notice("framework-master-policy", text, path))
    return found


def _master(plugins: Mapping[str, Any], plugin: str) -> str:
    framework = FRAMEWORKS[plugin]
    return str(parse_arguments(framework.flags, _arguments(plugins, plugin)).values[framework.leader])


def _arguments(plugins: Mapping[str, Any], plugin: str) -> list[str]:
    arguments = get_list(plugins, plugin, "spec.plugins")
    if any(type(argument) is not str for argument in arguments):
        raise wrong(f"spec.plugins.{plugin}", arguments, "a list of text")
    return arguments
