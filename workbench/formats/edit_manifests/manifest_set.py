"""`ManifestSet`: manifests that are being changed; what changes is copied first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from workbench.errors import InputError
from workbench.formats.manifests import unpacked
from workbench.jobs.membership import Membership, sort_pods
from workbench.jobs.roles import Priorities
from workbench.objects.kinds import ClusterObjects

__all__ = ["GROUPS", "Manifest", "ManifestSet", "child_map"]

Manifest = dict[str, Any]

#: API groups of the kinds that edits change.
GROUPS: Mapping[str, Sequence[str]] = {
    "Node": ("",),
    "Pod": ("",),
    "ConfigMap": ("",),
    "HyperNode": ("topology.volcano.sh",),
    "Device": ("scheduling.koordinator.sh",),
    "Queue": ("scheduling.volcano.sh",),
    "PodGroup": ("scheduling.volcano.sh",),
    "PriorityClass": ("scheduling.k8s.io",),
    "Job": ("batch.volcano.sh",),
    "HyperJob": ("training.volcano.sh", "topology.volcano.sh"),
    "Deployment": ("apps",),
    "ReplicaSet": ("apps",),
    "StatefulSet": ("apps",),
}

#: Kinds whose keys have no namespace.
_CLUSTER_SCOPED = frozenset({"Node", "HyperNode", "Device", "Queue", "PriorityClass"})

#: Kinds that make up jobs.
_OF_JOBS = frozenset({"Pod", "PodGroup", "Job", "HyperJob", "Deployment", "PriorityClass"})


class ManifestSet:
    """Manifests with an index by kind and key; each is copied before its first change.

    Parameters
    ----------
    manifests : iterable of mapping
        Lists are taken apart.

    Attributes
    ----------
    cluster : ClusterObjects
        Jobs, pods, PodGroups, Deployments and PriorityClasses as they were before any change.
    members : Membership
        The pods of each job, before any change.
    """

    def __init__(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        self._data: list[Manifest | None] = [one for manifest in manifests for one in unpacked(manifest)]
        self._original = list(self._data)
        self._copied: set[int] = set()

    @cached_property
    def _positions(self) -> dict[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for i, data in enumerate(self._data):
            if data is not None:
                self._index(found, i, data)
        return found

    def _index(self, found: dict[tuple[str, str], int], i: int, data: Manifest) -> None:
        kind, version = data.get("kind"), data.get("apiVersion")
        if type(kind) is str and type(version) is str and version.rpartition("/")[0] in GROUPS.get(kind, ()):
            found.setdefault((kind, _key(kind, data)), i)

    @cached_property
    def cluster(self) -> ClusterObjects:
        cluster = ClusterObjects()
        for data in self._original:
            if data is not None and data.get("kind") in _OF_JOBS:
                cluster.add(data)
        return cluster

    @cached_property
    def members(self) -> Membership:
        return sort_pods(self.cluster)

    @cached_property
    def priorities(self) -> Priorities:
        """Values of the PriorityClasses, before any change."""
        return Priorities(self.cluster.priority_classes)

    def find(self, kind: str, key: str) -> int | None:
        """Position of the manifest of an object, by kind and key (``namespace/name``, or the name); None: none."""
        position = self._positions.get((kind, key))
        return None if position is None or self._data[position] is None else position

    def need(self, kind: str, key: str) -> int:
        """Position as `find` returns it; InputError if there is no such manifest."""
        position = self.find(kind, key)
        if position is None:
            raise InputError(f"no {kind} of this name in the manifests", got=key, expected=f"a {kind} of the input")
        return position

    def each(self, kind: str) -> Iterator[int]:
        """Positions of the manifests of a kind, in their order."""
        for (of, _), position in list(self._positions.items()):
            if of == kind and self._data[position] is not None:
                yield position

    def read(self, position: int) -> Manifest:
        """The manifest at a position, not to be changed."""
        data = self._data[position]
        assert data is not None
        return data

    def change(self, position: int) -> Manifest:
        """The manifest at a position, to be changed."""
        if position not in self._copied:
            self._data[position] = _copied(self.read(position))
            self._copied.add(position)
        return self.read(position)

    def remove(self, position: int | None) -> None:
        """Remove the manifest at a position; None: nothing."""
        if position is not None:
            self._data[position] = None

    def add(self, data: Manifest) -> None:
        """Add a manifest at the end, as a copy."""
        data = _copied(data)
        self._data.append(data)
        self._copied.add(len(self._data) - 1)
        self._index(self._positions, len(self._data) - 1, data)

    def changes(self) -> Iterator[tuple[Manifest | None, Manifest | None]]:
        """Each manifest that is no longer as it was, before and after; None: it was not there, or it is gone."""
        for i, after in enumerate(self._data):
            before = self._original[i] if i < len(self._original) else None
            if before is not after and before != after:
                yield before, after

    def manifests(self) -> list[Manifest]:
        """All manifests as they are now."""
        return [data for data in self._data if data is not None]


def child_map(data: Manifest, *path: str) -> Manifest:
    """The mapping at a path of keys below a manifest, made where it is missing."""
    for key in path:
        if data.get(key) is None:
            data[key] = {}
        data = data[key]
    return data


def _key(kind: str, data: Manifest) -> str:
    metadata = data.get("metadata")
    if type(metadata) is not dict:
        return ""
    name = str(metadata.get("name") or "")
    return name if kind in _CLUSTER_SCOPED else f"{metadata.get('namespace') or 'default'}/{name}"


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
