"""Functions that add something to a pod or container manifest and return a new one; the argument is never changed.

Unchanged parts are shared between the old and the new manifest. `accelerators_of` counts what a pod requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workbench.jobs.task_pods import annotations_of, spec_of
from workbench.objects.pod import read_pod_spec

__all__ = [
    "accelerators_of",
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
    """A copy of the pod in which the given fields of the spec are replaced."""
    return {**pod, "spec": {**spec_of(pod), **fields}}


def edit_containers(pod: Object, edit: Edit) -> Object:
    """A copy of the pod in which `edit` has been applied to each container."""
    return _edit(pod, "containers", edit)


def edit_init_containers(pod: Object, edit: Edit) -> Object:
    """A copy of the pod in which `edit` has been applied to each init container."""
    return _edit(pod, "initContainers", edit)


def _edit(pod: Object, field: str, edit: Edit) -> Object:
    containers = spec_of(pod).get(field)
    return with_spec(pod, **{field: [edit(each) for each in containers]}) if containers else pod


def container_names(pod: Object, field: str) -> list[str]:
    """Names of the entries in the pod's ``containers`` or ``initContainers``, whichever `field` says."""
    return [each.get("name") or "" for each in spec_of(pod).get(field) or ()]


def variable(name: str, value: str) -> dict[str, str]:
    """An entry of a container's ``env`` with a literal value."""
    return {"name": name, "value": value}


def with_env(container: Object, variables: Iterable[Object]) -> dict[str, Any]:
    """A copy of the container with entries appended to its ``env``."""
    return _appended(container, "env", *variables)


def with_missing_env(container: Object, values: Mapping[str, str]) -> dict[str, Any]:
    """A copy of the container with those of the given environment variables that it does not have yet."""
    known = {each.get("name") for each in container.get("env") or ()}
    return with_env(container, [variable(name, value) for name, value in values.items() if name not in known])


def with_port(container: Object, name: str, number: int) -> Object:
    """A copy of the container with one more port; the container itself if it already declares that number.

    `container`: the manifest to copy; it is not changed.
    """
    if any(each.get("containerPort") == number for each in container.get("ports") or ()):
        return container
    return _appended(container, "ports", {"name": name, "containerPort": number})


def with_mount(container: Object, mount: Object) -> dict[str, Any]:
    """A copy of the container with the volume mount `mount` appended."""
    return _appended(container, "volumeMounts", mount)


def with_volume(pod: Object, volume: Object) -> dict[str, Any]:
    """A copy of the pod with `volume` appended to spec.volumes."""
    return with_spec(pod, volumes=[*(spec_of(pod).get("volumes") or ()), volume])


def config_map_volume(name: str) -> dict[str, Any]:
    """An entry of spec.volumes, called `name`, for the ConfigMap of that name."""
    return {"name": name, "configMap": {"name": name}}


def with_init_container(pod: Object, container: Object) -> Object:
    """A copy of the pod with an init container appended; the pod itself if it has one of that name."""
    if container["name"] in container_names(pod, "initContainers"):
        return pod
    return with_spec(pod, initContainers=[*(spec_of(pod).get("initContainers") or ()), container])


def with_annotation(pod: Object, key: str, value: str) -> dict[str, Any]:
    """A copy of the pod with one annotation set. `pod`: the manifest to copy; it is not changed."""
    metadata = pod.get("metadata") or {}
    return {**pod, "metadata": {**metadata, "annotations": {**annotations_of(pod), key: value}}}


def _appended(container: Object, field: str, *more: Object) -> dict[str, Any]:
    return {**container, field: [*(container.get(field) or ()), *more]} if more else dict(container)


def accelerators_of(spec: Mapping[str, Any]) -> int:
    """Number of whole GPUs or NPUs that a pod's containers request together; 1 if they request none.

    `spec` is the pod's.
    """
    return sum(read_pod_spec(spec, "spec").container_gpus) or 1
