"""Pods and objects without what the design document adds to upstream: exactly what `Addition` names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from workbench.objects.frameworks import FRAMEWORKS, Addition

__all__ = ["added_config_maps", "without_additions"]


def without_additions(
    pod: Mapping[str, Any], before: Mapping[str, Any], job: str, plugins: Iterable[str]
) -> dict[str, Any]:
    """The pod of a Job without the names that its plugins add; a name that the pod had before the hook stays."""
    ours = _of(plugins)
    spec, old = dict(pod.get("spec") or {}), before.get("spec") or {}
    volumes = {each.volume.format(job=job) for each in ours} - _names(old.get("volumes"))
    init = {each.init_container for each in ours} - _names(old.get("initContainers"))
    mounts = {each.mount for each in ours}
    env = {name for each in ours for name in each.env.values()}
    _drop(spec, "volumes", lambda volume: volume["name"] in volumes)
    _drop(spec, "initContainers", lambda container: container["name"] in init)
    for field in ("containers", "initContainers"):
        known = {each.get("name"): each for each in old.get(field) or ()}
        if field in spec:
            spec[field] = [
                _container(each, known.get(each.get("name"), {}), env, volumes, mounts) for each in spec[field]
            ]
    return {**pod, "spec": spec}


def _container(
    container: Mapping[str, Any],
    before: Mapping[str, Any],
    env: Collection[str],
    volumes: Collection[str],
    mounts: Collection[str],
) -> dict[str, Any]:
    found = {**container}
    own = _names(before.get("env"))
    _drop(found, "env", lambda each: each["name"] in env and each["name"] not in own)
    _drop(found, "volumeMounts", lambda each: each["name"] in volumes and each["mountPath"] in mounts)
    return found


def added_config_maps(job: str, plugins: Iterable[str]) -> set[str]:
    """Names of the ConfigMaps that the plugins of a Job add."""
    return {each.config_map.format(job=job) for each in _of(plugins) if each.config_map}


def _of(plugins: Iterable[str]) -> list[Addition]:
    return [FRAMEWORKS[plugin].additions for plugin in plugins if plugin in FRAMEWORKS]


def _names(entries: Iterable[Mapping[str, Any]] | None) -> set[str]:
    return {each.get("name", "") for each in entries or ()}


def _drop(holder: dict[str, Any], field: str, ours: Any) -> None:
    if field in holder:
        holder[field] = [each for each in holder[field] if not ours(each)]
