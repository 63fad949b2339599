"""`ManifestSet`: manifests that are being changed; what changes is copied first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any

from workbench.errors import InputError
from workbench.formats.manifests import unpacked
from workbench.jobs.membership import Membership, sort_pods
from workbench.jobs.roles import Priorities
from workbench.objects.fields import copied
from workbench.objects.kinds import ClusterObjects
from workbench.objects.pod_group import KOORDINATOR_GROUPS
from workbench.objects.top_owner import TOP_OWNERS, top_kind

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
    "PodGroup": ("scheduling.volcano.sh", *KOORDINATOR_GROUPS),
    "PriorityClass": ("scheduling.k8s.io",),
    "Job": ("batch.volcano.sh",),
    "HyperJob": ("training.volcano.sh", "topology.volcano.sh"),
    "Deployment": ("apps",),
    "ReplicaSet": ("apps",),
    "StatefulSet": ("apps",),
    **{top_kind(*names): (names[0],) for names in TOP_OWNERS},
}

#: Kinds whose keys have no namespace.
_CLUSTER_SCOPED = frozenset({"Node", "HyperNode", "Device", "Queue", "PriorityClass"})

#: Kinds that make up jobs.
_OF_JOBS = frozenset({"Pod", "PodGroup", "Job", "HyperJob", "Deployment", "PriorityClass"}) | {
    kind for _, kind in TOP_OWNERS
}


class _Jobs:
    """The jobs of manifests, each part read when first asked for; `cluster`: their objects, if read before."""

    def __init__(self, manifests: Iterable[Manifest], cluster: ClusterObjects | None) -> None:
        self._manifests = manifests
        self._cluster = cluster

    @cached_property
    def cluster(self) -> ClusterObjects:
        if self._cluster is not None:
            return self._cluster
        cluster = ClusterObjects()
        for data in self._manifests:
            if data.get("kind") in _OF_JOBS:
                cluster.add(data)
        return cluster

    @cached_property
    def members(self) -> Membership:
        return sort_pods(self.cluster)

    @cached_property
    def priorities(self) -> Priorities:
        return Priorities(self.cluster.priority_classes)


class ManifestSet:
    """Manifests with an index by kind and key; each is copied before its first change.

    `manifests`: lists are taken apart. `cluster`: the objects of these manifests; None: those of jobs are read when an
    edit needs them.
    """

    # A position is the index of a manifest, original or added. `find`, `need` and `each` answer positions; `read`,
    # `change` and `remove` take them. `change` copies a manifest before its first change, so `fork` and `changes` know
    # the original.

    def __init__(self, manifests: Iterable[Mapping[str, Any]], cluster: ClusterObjects | None = None) -> None:
        self._original: list[Manifest] = [one for manifest in manifests for one in unpacked(manifest)]
        self._jobs = _Jobs(self._original, cluster)
        self._positions: dict[tuple[str, str], int] = {}
        self._data: list[Manifest | None] = []
        self._copied: set[int] = set()
        for data in self._original:
            self._append(data)

    def fork(self) -> ManifestSet:
        """The manifests as they were before any change, to be changed on their own; nothing is read again."""
        other = copy(self)
        other._positions = {key: i for key, i in self._positions.items() if i < len(self._original)}
        other._data = list(self._original)
        other._copied = set()
        return other

    def _append(self, data: Manifest) -> None:
        kind, version = data.get("kind"), data.get("apiVersion")
        if type(kind) is not str or type(version) is not str:
            self._data.append(data)
            return
        group = version.rpartition("/")[0]
        kind = top_kind(group, kind)
        if group in GROUPS.get(kind, ()):
            self._positions.setdefault((kind, _key(kind, data)), len(self._data))
        self._data.append(data)

    @property
    def cluster(self) -> ClusterObjects:
        """Jobs, pods, PodGroups, Deployments and PriorityClasses as they were before any change."""
        return self._jobs.cluster

    @property
    def members(self) -> Membership:
        """The pods of each job, before any change."""
        return self._jobs.members

    @property
    def priorities(self) -> Priorities:
        """Values of the PriorityClasses, before any change."""
        return self._jobs.priorities

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
            self._data[position] = copied(self.read(position))
            self._copied.add(position)
        return self.read(position)

    def remove(self, position: int | None) -> None:
        """Remove the manifest at a position; None: nothing."""
        if position is not None:
            self._data[position] = None

    def add(self, data: Manifest) -> None:
        """Add a manifest at the end, as a copy."""
        self._copied.add(len(self._data))
        self._append(copied(data))

    def changes(self) -> Iterator[tuple[Manifest | None, Manifest | None]]:
        """Each manifest that is no longer as it was, before and after; None: it was not there, or it is gone."""
        for before, after in self.states():
            if before is not after and before != after:
                yield before, after

    def states(self) -> list[tuple[Manifest | None, Manifest | None]]:
        """Every manifest before and after all changes, in order; None: it was not there, or it is gone."""
        return [(self._original[i] if i < len(self._original) else None, after) for i, after in enumerate(self._data)]

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
