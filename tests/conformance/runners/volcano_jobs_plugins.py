"""The job plugins: `cases/volcano-jobs/plugin-*.json`."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners.volcano_jobs_additions import added_config_maps, without_additions
from tests.conformance.runners.volcano_jobs_asserts import assert_error, assert_holds, assert_same
from workbench.errors import InputError
from workbench.jobs.frameworks.contract import Action
from workbench.jobs.frameworks.registry import (
    JobOutcome,
    arguments_of,
    on_job_add,
    on_job_delete,
    on_job_update,
    on_pod_create,
)
from workbench.jobs.frameworks.ssh import client_config, effective_port
from workbench.jobs.frameworks.svc import hosts_config_map
from workbench.jobs.frameworks.variables import first_env_value

_FILES = tuple(
    f"plugin-{name}"
    for name in "args dispatch env hcclrank mpi mxnet pytorch ray ssh svc tensorflow".split()  # noqa: SIM905
)
_HOOKS = {"OnJobAdd": on_job_add, "OnJobUpdate": on_job_update, "OnJobDelete": on_job_delete}
_KINDS = {"configMap": "ConfigMap", "service": "Service", "networkPolicy": "NetworkPolicy", "secret": "Secret"}

Objects = dict[tuple[str, str], Mapping[str, Any]]


def register(runners: Runners) -> None:
    """Add the operations of plugin-*.json to the area's runners."""
    who = ("plugin", "args", "plugins")
    after = ("error", "assert", "created", "controlledResources", *_KINDS)
    for file in _FILES:
        pod = ("error", "podAfter", "assert", "onJobAdd", "onJobDelete")
        runners.op(file, "OnPodCreate", (*who, "job", "pod"), pod)(pod_create)
        for hook in _HOOKS:
            runners.op(file, hook, (*who, "job", "objects"), after)(_job_hook(hook))
        runners.op(file, "hooks", ("plugin", "hooks", "controlledResources"), ("controlledResourcesAfter",))(hooks)
        runners.op(file, "parse-args", ("plugin", "args"), ("values", "parseErrorLoggedOnly"))(parse_args)
        runners.op(file, "effective-port", ("plugin", "args"), ("value",))(port)
        runners.op(file, "ssh-config", ("plugin", "job", "port"), ("text",))(ssh_config)
        runners.op(file, "svc-configmap", ("plugin", "job"), ("configMap",))(svc_config_map)
        runners.op(file, "first-env-value", ("pod", "env"), ("value",))(env_value)


def plugins_of(given: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    return given["plugins"] if "plugins" in given else {given["plugin"]: given.get("args") or []}


def pod_create(given: dict[str, Any], want: dict[str, Any]) -> None:
    job, before, plugins = given["job"] or {}, given["pod"], plugins_of(given)
    pod, error = None, None
    try:
        pod = on_pod_create(before, job, plugins)
    except InputError as refused:
        error = refused
    assert_error(error, want.get("error"))
    if pod is not None:
        pod = without_additions(pod, before, job["metadata"]["name"] if job else "", plugins)
        assert_holds({"pod": pod}, want.get("assert") or ())
        if "podAfter" in want:
            assert_pod(pod, before, want["podAfter"])
    if "onJobAdd" in want or "onJobDelete" in want:
        around(job, plugins, want)


def assert_pod(pod: Mapping[str, Any], before: Mapping[str, Any], want: Mapping[str, Any]) -> None:
    """`podAfter`; whatever it does not speak of is as it was."""
    metadata, spec = dict(pod["metadata"]), dict(pod.get("spec") or {})
    old, old_spec = dict(before["metadata"]), dict(before.get("spec") or {})
    for field, now, then in (
        ("annotations", metadata, old),
        ("hostname", spec, old_spec),
        ("subdomain", spec, old_spec),
        ("volumes", spec, old_spec),
    ):
        found, kept = now.pop(field, None), then.pop(field, None)
        assert_same(found, want["pod"].get(field, kept), field)
    for field in ("containers", "initContainers"):
        found, kept = spec.pop(field, None) or [], old_spec.pop(field, None) or []
        assert [each.get("name") for each in found] == [each["name"] for each in want[field]]
        known = {each.get("name"): each for each in kept}
        for container, wanted in zip(found, want[field], strict=True):
            assert_container(container, known.get(container.get("name"), {}), wanted)
    assert_same({**metadata, "spec": spec}, {**old, "spec": old_spec}, "the rest of the pod")


def assert_container(found: Mapping[str, Any], before: Mapping[str, Any], want: Mapping[str, Any]) -> None:
    kept = {field: before.get(field) for field in ("image", "command")}
    exact = {"env", "ports", "command", "image", "volumeMounts"}
    if want.keys() - exact - {"name"}:
        raise NotUnderstood(f"container {want!r}")
    for field in exact:
        assert_same(found.get(field), want.get(field, kept.get(field)), f"{want['name']}: {field}")
    rest = {key: value for key, value in found.items() if key not in exact}
    assert_same(rest, {"name": want["name"], **{k: v for k, v in before.items() if k not in exact}}, want["name"])


def around(job: Mapping[str, Any], plugins: Mapping[str, Sequence[str]], want: Mapping[str, Any]) -> None:
    """What OnJobAdd makes and OnJobDelete takes away again."""
    added = on_job_add(job, plugins, {})
    objects = done({}, added.actions)
    held = {**job, "status": {"controlledResources": added.controlled}}
    deleted = on_job_delete(held, plugins, objects)
    for key, expected in want.get("onJobAdd", {}).items():
        if key == "controlledResources":
            assert_same(added.controlled, expected, key)
        else:
            assert_object(changed(added, job, plugins, objects), key, expected)
    for key, expected in want.get("onJobDelete", {}).items():
        if key == "controlledResources":
            assert_same(deleted.controlled, expected, key)
        elif key == "deleted":
            gone = [action for action in deleted.actions if action.verb == "delete"]
            assert {(each.kind, each.name) for each in gone} == {
                (kind, name) for kind, names in expected.items() for name in names
            }
        else:
            raise NotUnderstood(f"onJobDelete.{key}")


def _job_hook(name: str) -> Any:
    def run(given: dict[str, Any], want: dict[str, Any]) -> None:
        job, plugins = given["job"], plugins_of(given)
        stored = {
            (kind, each): {"kind": kind, "metadata": {"name": each}}
            for kind, names in (given.get("objects") or {}).items()
            for each in names
        }
        outcome, error = JobOutcome((), (job.get("status") or {}).get("controlledResources") or {}), None
        try:
            outcome = _HOOKS[name](job, plugins, stored)
        except InputError as refused:
            error = refused
        assert_error(error, want.get("error"))
        objects = done(stored, outcome.actions)
        by_kind: dict[str, dict[str, Any]] = {}
        for (kind, each), manifest in objects.items():
            by_kind.setdefault(kind, {})[each] = manifest
        after = {**job, "status": {**(job.get("status") or {}), "controlledResources": outcome.controlled}}
        assert_holds({"job": after, "objects": by_kind}, want.get("assert") or ())
        touched = changed(outcome, job, plugins, objects)
        if "created" in want:
            made = {(action.kind, action.name) for action in outcome.actions if action.verb == "create"}
            assert sorted(each for key, each in touched if (key, each) in made) == sorted(want["created"])
        if "controlledResources" in want:
            assert_same(outcome.controlled, want["controlledResources"], "controlledResources")
        for key in _KINDS:
            if key in want:
                assert_object(touched, key, want[key])

    return run


def done(stored: Objects, actions: Sequence[Action]) -> Objects:
    """The objects after the actions, each of which must be possible."""
    objects = dict(stored)
    for action in actions:
        key = (action.kind, action.name)
        assert (key in objects) is (action.verb != "create"), action
        if action.verb == "delete":
            del objects[key]
        else:
            objects[key] = action.manifest
    return objects


def changed(
    outcome: JobOutcome, job: Mapping[str, Any], plugins: Mapping[str, Sequence[str]], objects: Objects
) -> Objects:
    """Objects that a hook created or updated, without those of the design document."""
    ours = added_config_maps(job["metadata"]["name"], plugins)
    keys = [(each.kind, each.name) for each in outcome.actions if each.verb != "delete"]
    return {key: objects[key] for key in keys if key not in {("ConfigMap", name) for name in ours}}


def assert_object(objects: Objects, key: str, want: Mapping[str, Any] | None) -> None:
    """The only object of a kind, flattened; null for none."""
    found = [manifest for (kind, _), manifest in objects.items() if kind == _KINDS[key]]
    if want is None:
        assert found == []
        return
    (manifest,) = found
    data = manifest.get("data")
    if key == "secret":
        data = {name: base64.b64decode(text).decode() for name, text in data.items()}
    flat = {**manifest["metadata"], **manifest.get("spec", {}), "data": data}
    for field, value in want.items():
        assert_same(flat.get(field), value, f"{key}.{field}")


def hooks(given: dict[str, Any], want: dict[str, Any]) -> None:
    job: dict[str, Any] = {"metadata": {"name": "job", "namespace": "default"}, "spec": {}}
    controlled, objects, found = given["controlledResources"] or {}, dict[tuple[str, str], Any](), []
    for hook in given["hooks"]:
        job = {**job, "status": {"controlledResources": controlled}}
        outcome = _HOOKS[hook](job, {given["plugin"]: []}, objects)
        controlled, objects = outcome.controlled, done(objects, outcome.actions)
        found.append(controlled)
    assert found == want["controlledResourcesAfter"]


def parse_args(given: dict[str, Any], want: dict[str, Any]) -> None:
    arguments = arguments_of(given["plugin"], given["args"])
    assert {name: arguments.values[name] for name in want["values"]} == want["values"]
    if "parseErrorLoggedOnly" in want:
        assert bool(arguments.error) is bool(want["parseErrorLoggedOnly"]), arguments.error


def port(given: dict[str, Any], want: dict[str, Any]) -> None:
    value = arguments_of(given["plugin"], given["args"]).values["ssh-port"]
    assert effective_port(int(value)) == want["value"]


def ssh_config(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert client_config(given["job"], given["port"]) == want["text"]


def svc_config_map(given: dict[str, Any], want: dict[str, Any]) -> None:
    found = hosts_config_map(given["job"])
    assert_object({("ConfigMap", ""): found}, "configMap", want["configMap"])


def env_value(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert first_env_value(given["pod"], given["env"]) == want["value"]
