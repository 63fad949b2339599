"""`ObjectTable`: objects by identity with a log of their changes, the part that all stores have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workbench.control.kinds import Ref, key_of
from workbench.control.store import Object, StoreChange
from workbench.errors import StoreError
from workbench.model.value import Working

__all__ = ["ObjectTable"]


class ObjectTable(Working):
    """Objects as one reader last knew them, and what changed since.

    The methods are those of `workbench.control.store.Store` that read, and `put` and `remove` for its owner.
    """

    def __init__(self) -> None:
        self._objects: dict[str, dict[Ref, Object]] = {}
        self._log: list[StoreChange] = []
        self._version = 0
        #: Version before the oldest change in the log.
        self._forgotten = 0

    def _kept(self) -> dict[str, Any]:
        return {**super()._kept(), "_objects": {kind: dict(found) for kind, found in self._objects.items()}}

    @property
    def version(self) -> int:
        """Version of the newest change."""
        return self._version

    def __len__(self) -> int:
        return sum(map(len, self._objects.values()))

    def get(self, key: Ref) -> Object | None:
        """The object with identity `key`; None if it does not exist."""
        return self._objects.get(key.kind, {}).get(key)

    def list(self, kind: str, namespace: str | None = None) -> Sequence[Object]:
        """The objects of a kind in all namespaces or in one, sorted by namespace and name."""
        found = self._objects.get(kind, {})
        return [found[key] for key in sorted(found, key=_in_order) if namespace in (None, key.namespace)]

    def contents(self) -> Sequence[Object]:
        """Every object, sorted by kind, namespace and name."""
        return [each for kind in sorted(self._objects) for each in self.list(kind)]

    def watch(self, since: int) -> Sequence[StoreChange]:
        """The changes after version `since`, oldest first; `StoreError` (``Expired``) if they are no longer kept."""
        if since < self._forgotten:
            raise StoreError("Expired", f"too old resource version: {since} ({self._forgotten})")
        if since >= self._version:
            return []
        # Every version is one change.
        return self._log[since - self._forgotten :]

    def forget(self, version: int) -> None:
        """Drop the changes up to `version`; a later `watch` from an earlier version fails."""
        del self._log[: max(version - self._forgotten, 0)]
        self._forgotten = max(self._forgotten, version)

    def put(self, key: Ref, data: Object) -> None:
        """Add or replace an object, and log the change."""
        kept = self._objects.setdefault(key.kind, {})
        before = kept.get(key)
        kept[key] = data
        self._note(key, before, data)

    def remove(self, key: Ref) -> None:
        """Remove an object that is in the table, and log the change."""
        before = self._objects[key.kind].pop(key)
        self._note(key, before, None)

    def replace_all(self, objects: Iterable[Object], version: int) -> None:
        """Replace all objects and the version of the table; a later `watch` from an earlier version fails."""
        self._objects = {}
        for data in objects:
            key = key_of(data)
            self._objects.setdefault(key.kind, {})[key] = data
        self._version = self._forgotten = version
        self._log = []

    def _note(self, key: Ref, before: Object | None, after: Object | None) -> None:
        self._version += 1
        self._log.append(StoreChange(self._version, key, before, after))


def _in_order(key: Ref) -> tuple[bytes, bytes]:
    return key.namespace.encode(), key.name.encode()
