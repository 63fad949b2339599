"""`check_stored`: the form of an object that another cluster stored, which no admission has looked at; its identity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.control.kinds import key_of
from workbench.objects.fields import child, get_map, get_maps, get_text, wrong
from workbench.objects.metadata import read_metadata

__all__ = ["check_identity", "check_stored"]

#: Kinds that controllers read the spec of.
_WITH_SPEC = frozenset({"Pod", "Job", "PodGroup", "HyperJob", "HyperNode", "Deployment", "ReplicaSet", "StatefulSet"})


def check_identity(data: Mapping[str, Any], where: str = "") -> Mapping[str, Any]:
    """Check that name and namespace are texts, before anything is looked up by them; returns the metadata.

    The `InputError` where one is no text names its path, which begins with `where`.
    """
    metadata = get_map(data, "metadata", where)
    for name in ("name", "namespace"):
        get_text(metadata, name, child(where, "metadata"))
    return metadata


def check_stored(data: Mapping[str, Any], where: str = "") -> None:
    """Check what controllers read of every object, and kubelets of pods; as `check_identity` for their types."""
    metadata = check_identity(data, where)
    for name in ("uid", "resourceVersion"):
        get_text(metadata, name, child(where, "metadata"))
    for name in ("spec", "status"):
        get_map(data, name, where)
    for path, owner in get_maps(metadata, "ownerReferences", child(where, "metadata")):
        for name in ("kind", "name"):
            if not get_text(owner, name, path):
                raise wrong(child(path, name), None, "that of the owner")
        get_text(owner, "uid", path)
    read_metadata(data, namespaced=False)
    kind = key_of(data).kind
    if "spec" not in data and kind in _WITH_SPEC:
        raise wrong(child(where, "spec"), None, f"what a {data['kind']} is to be")
    if kind != "Pod":
        return
    for path, container in get_maps(get_map(data, "spec", where), "containers", child(where, "spec")):
        get_text(container, "name", path)
        for place, variable in get_maps(container, "env", path):
            get_text(variable, "name", place)
            source = get_map(variable, "valueFrom", place)
            for name in ("configMapKeyRef", "fieldRef"):
                get_map(source, name, child(place, "valueFrom"))
