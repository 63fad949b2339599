"""`projected`: of an object of a cluster, what a scheduler looks at; the rest may be large or secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.live.kubernetes.shapes import mapping

__all__ = ["projected"]

_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
    "finalizers",
)
#: kubectl keeps the whole manifest here, with the environment of every container.
_DROPPED_ANNOTATIONS = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})
_CONTAINER = ("name", "resources", "restartPolicy", "ports")
_CLAIM = ("name", "persistentVolumeClaim")
#: Fields of a pod's spec that carry programs, credentials or files.
_NOT_OF_A_POD = frozenset({"ephemeralContainers", "imagePullSecrets", "securityContext", "hostAliases", "dnsConfig"})
#: Fields of Ray's objects that carry programs or credentials.
_OF_RAY = frozenset({"entrypoint", "runtimeEnvYAML", "rayStartParams", "gcsFaultToleranceOptions", "autoscalerOptions"})
_POD_STATUS = ("phase", "conditions", "nominatedNodeName", "reason", "startTime", "resourceClaimStatuses")
_EVENT = ("involvedObject", "reason", "message", "type", "count", "series", "lastTimestamp", "eventTime")
_ABOUT = ("kind", "namespace", "name", "uid")
_NODE_SPEC = ("taints", "unschedulable")
_NODE_STATUS = ("allocatable", "capacity", "addresses")


def projected(kind: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an object that a snapshot keeps.

    `kind`: ``Pod``, ``Node`` and so on; the items of a list may not say it. `item`: the object as the API server gives
    it. The result is without managed fields, last applied configurations, and of containers everything but names,
    resources, ports and restart policies: environment, commands and mounted files stay in the cluster.
    """
    if kind == "Event":
        kept = {**_some(item, _EVENT), "involvedObject": _some(item.get("involvedObject"), _ABOUT)}
    else:
        kept = {key: _without_programs(value) for key, value in item.items() if key != "metadata"}
    kept["metadata"] = _metadata(mapping(item.get("metadata")))
    if kind == "Pod":
        kept["status"] = _some(item.get("status"), _POD_STATUS)
    elif kind == "Node":
        kept["spec"] = _some(item.get("spec"), _NODE_SPEC)
        kept["status"] = {**_some(item.get("status"), _NODE_STATUS), **_readiness(item.get("status"))}
    return kept


def _readiness(status: Any) -> dict[str, Any]:
    """The condition Ready of a node's status, without its heartbeat, which changes all the time."""
    listed = status.get("conditions") if isinstance(status, Mapping) else None
    if not isinstance(listed, list):
        return {}
    ready = [
        _some(one, ("type", "status")) for one in listed if isinstance(one, Mapping) and one.get("type") == "Ready"
    ]
    return {"conditions": ready} if ready else {}


def _some(value: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value[key] for key in keys if key in value} if isinstance(value, Mapping) else {}


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kept = _some(metadata, _METADATA)
    annotations = kept.get("annotations")
    if isinstance(annotations, Mapping):
        kept["annotations"] = {key: text for key, text in annotations.items() if key not in _DROPPED_ANNOTATIONS}
    return kept


def _without_programs(value: Any) -> Any:
    """A value with the same cut in each pod spec inside it: that of a pod, and those of templates."""
    if isinstance(value, list):
        return [_without_programs(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    if not isinstance(value.get("containers"), list):
        return {key: _part(key, each) for key, each in value.items() if key not in _OF_RAY}
    kept = {key: each for key, each in value.items() if key not in _NOT_OF_A_POD}
    for key in ("containers", "initContainers"):
        if isinstance(kept.get(key), list):
            kept[key] = [_some(container, _CONTAINER) for container in kept[key]]
    if isinstance(kept.get("volumes"), list):
        # A claim may bind the pod to nodes; other volumes do not.
        kept["volumes"] = [_some(one, _CLAIM) for one in kept["volumes"] if "persistentVolumeClaim" in mapping(one)]
    return kept


def _part(key: str, value: Any) -> Any:
    """One field of an object or of a template."""
    return _metadata(value) if key == "metadata" and isinstance(value, Mapping) else _without_programs(value)
