"""The contract of a store of Kubernetes objects, through which reconcilers see a cluster.

Objects are parsed manifests. Callers must not change them: a store returns the objects that it keeps, not copies. Two
stores keep this contract: `workbench.control.memory_store.MemoryStore`, and a real API server in the room ``live``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from workbench.control.kinds import Ref, key_of
from workbench.errors import ClusterError

__all__ = ["ENDED", "Binding", "InNamespace", "Object", "ReadStore", "Store", "StoreChange", "job_phase", "phase_of"]

#: A parsed manifest.
Object = Mapping[str, Any]

#: Phases of pods that have ended.
ENDED = ("Succeeded", "Failed")


def phase_of(data: Object) -> str:
    """Phase of a pod or a PodGroup: status.phase, "Pending" where nobody has written it."""
    return str((data.get("status") or {}).get("phase") or "Pending")


def job_phase(job: Object) -> str:
    """Phase of a Volcano Job: status.state.phase, empty where nobody has written it."""
    return str(((job.get("status") or {}).get("state") or {}).get("phase") or "")


class StoreChange(NamedTuple):
    """One change of an object, as a watch reports it.

    `version`: version of the store after the change. `before`: the object before the change; None: it was created.
    `after`: the object after the change; None: it is gone. `existing`: True: nothing changed; the watch reports an
    object that existed when the watch began.
    """

    version: int
    key: Ref
    before: Object | None
    after: Object | None
    existing: bool = False

    @classmethod
    def of_existing(cls, data: Object, version: int) -> StoreChange:
        """The change that stands for an object that was there before the watch began."""
        return cls(version, key_of(data), None, data, existing=True)


class Binding(NamedTuple):
    """A pod, the name of its node, and the annotations that it gets with it."""

    pod: Ref
    node: str
    annotations: Mapping[str, str]


class ReadStore(Protocol):
    """What of a `Store` reads."""

    @property
    def version(self) -> int:
        """Version of the newest change, counted by the store."""

    def __len__(self) -> int:
        """Number of objects."""

    def get(self, key: Ref) -> Object | None:
        """The object with identity `key`; None if it does not exist."""

    def list(self, kind: str, namespace: str | None = None) -> Sequence[Object]:
        """The objects of a kind in all namespaces or in one, sorted by namespace and name."""

    def contents(self) -> Sequence[Object]:
        """Every object, sorted by kind, namespace and name."""

    def watch(self, since: int) -> Sequence[StoreChange]:
        """The changes after version `since`, oldest first; `StoreError` (``Expired``) if they are no longer kept."""

    def forget(self, version: int) -> None:
        """Drop the changes up to `version`; a later `watch` from an earlier version fails."""


class Store(ReadStore, Protocol):
    """Objects by identity, with versions and a watch.

    Every method that writes returns the object as stored and raises `StoreError` where the cluster refuses. An object
    with metadata.resourceVersion is written only if that is still its version (reason ``Conflict``). Writing an
    object that equals the stored one changes nothing and reports no change.
    """

    def latest(self, key: Ref) -> Object | None:
        """The object as the cluster has it at this moment, where `get` may lag behind; None if it does not exist."""

    def create(self, data: Object) -> Object:
        """Store a new object after admission has filled in its defaults."""

    def update(self, data: Object) -> Object:
        """Replace an object by `data`, except its status, uid and time of creation, which stay."""

    def patch(self, key: Ref, change: Object) -> Object:
        """Change an object by a JSON merge patch (RFC 7396), which leaves status alone."""

    def patch_status(self, key: Ref, status: Object) -> Object:
        """Replace fields of an object's status; a field set to None is removed."""

    def bind(self, key: Ref, node: str, annotations: Mapping[str, str]) -> Object:
        """Give a pod its node, and write annotations on it; ``Conflict`` if it has a node already.

        `node`: name of its node. `annotations`: added to those that the pod has.
        """

    def bind_all(self, bindings: Sequence[Binding]) -> Sequence[ClusterError | None]:
        """Bind pods as `bind` does, each on its own; returns for each why it was not bound, or None."""

    def delete(self, key: Ref, *, now: bool = False) -> None:
        """Delete an object.

        A pod that has a node and has not finished, and an object with finalizers, is only marked
        (metadata.deletionTimestamp); it goes when its kubelet deletes it with `now`, or when the last finalizer is
        removed. `now` does not override finalizers.
        """


class InNamespace(Mapping[tuple[str, str], Object]):
    """The objects of one namespace by (kind, name), each looked up in the store only when it is read."""

    def __init__(self, store: Store, namespace: str) -> None:
        self._store = store
        self._namespace = namespace

    def __getitem__(self, key: tuple[str, str]) -> Object:
        found = self._store.get(Ref(key[0], self._namespace, key[1]))
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[tuple[str, str]]:
        raise NotImplementedError("objects are looked up one by one")

    def __len__(self) -> int:
        raise NotImplementedError("objects are looked up one by one")
