"""How the containers of a bound pod learn their GPUs on a real cluster.

The environment of a pod cannot be changed once the pod exists. So admission adds variables that refer to annotations of
the pod, and the scheduler writes these annotations with the binding; the kubelet reads them when it starts containers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from workbench.control.store import Object
from workbench.model.gpu_annotation import GPU_ANNOTATION, container_environment

__all__ = ["device_annotations", "with_device_variables", "with_node_agent_variables"]

_PREFIX = "topology-workbench/"
_VARIABLES = ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def _annotation(variable: str, container: int) -> str:
    return f"{_PREFIX}{variable.lower().replace('_', '-')}-{container}"


def device_annotations(annotations: Mapping[str, str], containers: int) -> dict[str, str]:
    """The annotations that the variables of `with_device_variables` refer to.

    `annotations` is what the scheduler writes on a pod of so many containers. One for each variable of each container
    with GPUs; empty without a GPU annotation.
    """
    chosen = annotations.get(GPU_ANNOTATION)
    return {} if chosen is None else dict(_of_choice(chosen, containers))


@lru_cache(maxsize=4096)
def _of_choice(chosen: str, containers: int) -> tuple[tuple[str, str], ...]:
    """Names and values of the annotations; kept, because most pods of a gang have their GPUs in common."""
    return tuple(
        (_annotation(variable, position), value)
        for position in range(containers)
        for variable, value in container_environment(chosen, position).items()
    )


def with_node_agent_variables(pod: Object) -> Object:
    """A pod with the variables that Koordinator's node agent (koordlet) gives its containers when it starts them.

    The agent sets them in the container, not in the stored object, so that they are shown and not stored. Beside
    CUDA_VISIBLE_DEVICES, which counts positions among the visible GPUs, an annotation of each container has the numbers
    of its GPUs on the host.

    `pod`: returned as it is without a GPU annotation. A variable that a container has already stays as it is.
    """
    chosen = (pod["metadata"].get("annotations") or {}).get(GPU_ANNOTATION)
    if pod.get("kind") != "Pod" or chosen is None:
        return pod
    containers, annotations = [], dict(pod["metadata"]["annotations"])
    for position, container in enumerate(pod["spec"].get("containers") or ()):
        has = {one["name"] for one in container.get("env") or ()}
        variables = container_environment(chosen, position)
        added = [{"name": name, "value": value} for name, value in variables.items() if name not in has]
        containers.append({**container, "env": [*(container.get("env") or ()), *added]} if added else container)
        if variables:
            host = container_environment(chosen, position, "host")["CUDA_VISIBLE_DEVICES"]
            annotations[f"{_PREFIX}host-gpus-{position}"] = host
    metadata = {**pod["metadata"], "annotations": annotations}
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "containers": containers}}


def with_device_variables(pod: Object, resource: str = "nvidia.com/gpu") -> Object:
    """The pod with NVIDIA_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES in each container that asks for GPUs.

    A variable that a container has already stays as it is; `pod` itself is returned where nothing is to be added.
    `resource` counts GPUs.
    """
    containers = pod["spec"].get("containers") or ()
    made = [_with_variables(one, position, resource) for position, one in enumerate(containers)]
    if all(new is old for new, old in zip(made, containers, strict=True)):
        return pod
    return {**pod, "spec": {**pod["spec"], "containers": made}}


def _with_variables(container: Mapping[str, Any], position: int, resource: str) -> Mapping[str, Any]:
    resources = container.get("resources") or {}
    if not any((resources.get(part) or {}).get(resource) for part in ("limits", "requests")):
        return container
    has = {one["name"] for one in container.get("env") or ()}
    fields = {name: f"metadata.annotations['{_annotation(name, position)}']" for name in _VARIABLES if name not in has}
    added = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]
    return {**container, "env": [*(container.get("env") or ()), *added]} if added else container
