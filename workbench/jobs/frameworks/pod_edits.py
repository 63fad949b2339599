"""Additions to pods and containers: each function returns a new mapping that shares unchanged parts with the old."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workbench.jobs.task_pods import annotations_of, spec_of

__all__ = [
    "config_map_volume",
    "container_names",
    "edit_containers",
    "edit_init_containers",
    "variable",
    "with_annotation",
    "with_env",
    "with_init_container",
    "with_missing_env",
    "with_mount",
    "with_port",
    "with_spec",
    "with_volume",
]

Object = Mapping[str, Any]
Edit = Callable[[Object], Object]


def with_spec(pod: Object, **fields: Any) -> dict[str, Any]:
    """The pod with other values of some fields of its spec."""
    return {**pod, "spec": {**spec_of(pod), **fields}}


def edit_containers(pod: Object, edit: Edit) -> Object:
    """The pod with each container replaced."""
    return _edit(pod, "containers", edit)


def edit_init_containers(pod: Object, edit: Edit) -> Object:
    """The pod with each init container replaced."""
    return _edit(pod, "initContainers", edit)


def _edit(pod: Object, field: str, edit: Edit) -> Object:
    containers = spec_of(pod).get(field)
    return with_spec(pod, **{field: [edit(each) for each in containers]}) if containers else pod


def container_names(pod: Object, field: str) -> list[str]:
    """The names of the pod's ``containers`` or ``initContainers``."""
    return [each.get("name") or "" for each in spec_of(pod).get(field) or ()]


def variable(name: str, value: str) -> dict[str, str]:
    """An environment variable with a literal value."""
    return {"name": name, "value": value}


def with_env(container: Object, variables: Iterable[Object]) -> dict[str, Any]:
    """The container with environment variables appended."""
    return _appended(container, "env", *variables)


def with_missing_env(container: Object, values: Mapping[str, str]) -> dict[str, Any]:
    """The container with the variables appended that it lacks; existing variables keep their values."""
    known = {each.get("name") for each in container.get("env") or ()}
    return with_env(container, [variable(name, value) for name, value in values.items() if name not in known])


def with_port(container: Object, name: str, number: int) -> Object:
    """The container with one more port, unless it declares that number already.

    Parameters
    ----------
    container : mapping
        Stays as it is; the answer is a copy.
    name : str
        Name of the port.
    number : int
        Number of the port.
    """
    if any(each.get("containerPort") == number for each in container.get("ports") or ()):
        return container
    return _appended(container, "ports", {"name": name, "containerPort": number})


def with_mount(container: Object, mount: Object) -> dict[str, Any]:
    """The container with a volume mounted."""
    return _appended(container, "volumeMounts", mount)


def with_volume(pod: Object, volume: Object) -> dict[str, Any]:
    """The pod with a volume appended."""
    return with_spec(pod, volumes=[*(spec_of(pod).get("volumes") or ()), volume])


def config_map_volume(name: str) -> dict[str, Any]:
    """A volume for a ConfigMap; both have the given name."""
    return {"name": name, "configMap": {"name": name}}


def with_init_container(pod: Object, container: Object) -> Object:
    """The pod with an init container appended, unless it has one of that name."""
    if container["name"] in container_names(pod, "initContainers"):
        return pod
    return with_spec(pod, initContainers=[*(spec_of(pod).get("initContainers") or ()), container])


def with_annotation(pod: Object, key: str, value: str) -> dict[str, Any]:
    """The pod with an annotation set.

    Parameters
    ----------
    pod : mapping
        Stays as it is; the answer is a copy.
    key, value : str
    """
    metadata = pod.get("metadata") or {}
    return {**pod, "metadata": {**metadata, "annotations": {**annotations_of(pod), key: value}}}


def _appended(container: Object, field: str, *more: Object) -> dict[str, Any]:
    return {**container, field: [*(container.get(field) or ()), *more]} if more else dict(container)
