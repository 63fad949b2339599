"""The table of all job plugins in running order, and functions that run the hooks of all plugins of a Job.

Volcano iterates over a Go map, so its order differs from run to run. Here the framework plugins run first, so that
hcclrank finds pytorch's RANK, and svc, env and ssh also reach the init container of pytorch. What `Addition` names
is added after all plugins have done what Volcano's do (docs/jobs.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.errors import InputError
from workbench.jobs.frameworks import mpi, pytorch, ray, ssh, svc, variables
from workbench.jobs.frameworks.contract import PLACEHOLDER_KEYS, Action, Object, Plugin, PluginCall, SshKeys, Stored
from workbench.objects.flags import Arguments, Flag, parse_arguments

__all__ = [
    "PLUGINS",
    "JobOutcome",
    "arguments_of",
    "flags_of",
    "on_job_add",
    "on_job_delete",
    "on_job_update",
    "on_pod_create",
]

#: In the order in which they run.
PLUGINS: tuple[Plugin, ...] = (
    *(variables.TENSORFLOW, pytorch.PLUGIN, mpi.PLUGIN, variables.MXNET, ray.PLUGIN, variables.HCCLRANK),
    *(svc.PLUGIN, variables.ENV, ssh.PLUGIN),
)

_BY_NAME = {plugin.name: plugin for plugin in PLUGINS}

#: Arguments of each plugin of a Job, as in spec.plugins.
Given = Mapping[str, Sequence[str] | None]


@dataclass(frozen=True)
class JobOutcome:
    """Result of running the hooks of a Job's plugins when the Job was added, updated or deleted.

    `actions`: in the order in which they are to be done. `controlled`: the new ``status.controlledResources``.
    """

    actions: tuple[Action, ...]
    controlled: Mapping[str, str]


def arguments_of(name: str, given: Sequence[str] | None) -> Arguments:
    """Parse the arguments `given` to the job plugin `name`; raises InputError if there is no such plugin."""
    return parse_arguments(_plugin(name).flags, given or ())


def flags_of(name: str) -> tuple[Flag, ...]:
    """The flags of the job plugin `name`; raises InputError if there is no such plugin."""
    return _plugin(name).flags


def on_pod_create(pod: Object, job: Object, plugins: Given) -> Object:
    """The pod after all plugins of its Job have changed it, as when the Job controller creates it.

    Raises InputError: a name that no plugin has, or a pod that a plugin cannot serve.

    `pod`: the pod as `workbench.jobs.create_pod.create_pod` makes it; never changed, but the result shares its
    unchanged parts. `plugins`: usually ``spec.plugins``.
    """
    calls = list(_calls(job, plugins))
    upstream = [(plugin.inject, plugin, call) for plugin, call in calls]
    additions = [(plugin.extend_pod, plugin, call) for plugin, call in calls]
    for hook, plugin, call in (*upstream, *additions):
        try:
            pod = hook(pod, call)
        except InputError as error:
            raise _within(error, plugin.name) from None
    return pod


def on_job_add(
    job: Object, plugins: Given, stored: Stored | None = None, ssh_keys: SshKeys = PLACEHOLDER_KEYS
) -> JobOutcome:
    """Actions of the Job's plugins when the Job is new (phase empty or Pending).

    A plugin whose marker is already in status.controlledResources adds none.

    `stored`: mapping of (kind, name) to mapping; objects in the Job's namespace. `ssh_keys`: keys for a Job with the
    plugin ssh whose arguments contain no keys.
    """

    def actions(plugin: Plugin, call: PluginCall, marked: bool) -> Iterator[Action]:
        if not marked:
            yield from plugin.on_add(call)
        yield from plugin.extend_job(call)

    return _outcome(job, _calls(job, plugins, stored, ssh_keys), actions, _marked)


def on_job_update(job: Object, plugins: Given, stored: Stored | None = None) -> JobOutcome:
    """Actions of the Job's plugins when the Job changes after it was added.

    `plugins`: arguments of each plugin by its name. `stored`: mapping of (kind, name) to mapping; objects in the Job's
    namespace; None: there are none.
    """

    def actions(plugin: Plugin, call: PluginCall, marked: bool) -> Iterator[Action]:
        yield from plugin.on_update(call)
        yield from plugin.extend_job(call)

    return _outcome(job, _calls(job, plugins, stored), actions, lambda plugin, controlled: controlled)


def on_job_delete(job: Object, plugins: Given, stored: Stored | None = None) -> JobOutcome:
    """Actions of the Job's plugins when the Job or some of its pods are killed.

    `plugins`, `stored`: as in `on_job_update`.
    """

    def actions(plugin: Plugin, call: PluginCall, marked: bool) -> Iterable[Action]:
        return plugin.on_delete(call) if marked else ()

    return _outcome(job, _calls(job, plugins, stored), actions, _unmarked)


def _outcome(
    job: Object,
    calls: Iterable[tuple[Plugin, PluginCall]],
    actions: Callable[[Plugin, PluginCall, bool], Iterable[Action]],
    mark: Callable[[Plugin, dict[str, str]], dict[str, str]],
) -> JobOutcome:
    controlled: dict[str, str] = dict((job.get("status") or {}).get("controlledResources") or {})
    found: list[Action] = []
    for plugin, call in calls:
        found += actions(plugin, call, controlled.get(_marker(plugin)) == plugin.name)
        if plugin.marked:
            controlled = mark(plugin, controlled)
    return JobOutcome(tuple(found), controlled)


def _marker(plugin: Plugin) -> str:
    return f"plugin-{plugin.name}"


def _marked(plugin: Plugin, controlled: dict[str, str]) -> dict[str, str]:
    return {**controlled, _marker(plugin): plugin.name}


def _unmarked(plugin: Plugin, controlled: dict[str, str]) -> dict[str, str]:
    marker = _marker(plugin)
    return {key: value for key, value in controlled.items() if (key, value) != (marker, plugin.name)}


def _calls(
    job: Object, plugins: Given, stored: Stored | None = None, ssh_keys: SshKeys = PLACEHOLDER_KEYS
) -> Iterator[tuple[Plugin, PluginCall]]:
    """Each plugin of a Job with the input of its hooks, in running order; raises InputError for an unknown plugin."""
    for name in plugins:
        _plugin(name)
    for plugin in PLUGINS:
        if plugin.name in plugins:
            arguments = arguments_of(plugin.name, plugins[plugin.name])
            yield plugin, PluginCall(job, arguments, {} if stored is None else stored, ssh_keys)


def _plugin(name: str) -> Plugin:
    if name not in _BY_NAME:
        message, known = f"failed to get plugin {name}", ", ".join(sorted(_BY_NAME))
        raise InputError(message, where=f"spec.plugins.{name}", got=repr(name), expected=f"one of {known}")
    return _BY_NAME[name]


def _within(error: InputError, plugin: str) -> InputError:
    """A copy of an InputError raised by a plugin, with the plugin's name and its path in the Job added."""
    where = f"spec.plugins.{plugin}"
    return InputError(f"{error.message} (at {error.where})", where=where, got=error.got, expected=error.expected)
