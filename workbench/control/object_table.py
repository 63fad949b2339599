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
        #: Changes after version `_forgotten`, oldest first. Every version is one change; the version is read off the
        #: log, so that an interrupt between two statements leaves no version without its change.
        self._log: list[StoreChange] = []
        self._forgotten = 0

    def _kept(self) -> dict[str, Any]:
        return {**super()._kept(), "_objects": {kind: dict(found) for kind, found in self._objects.items()}}

    @property
    def version(self) -> int:
        """Version of the newest change."""
        return self._log[-1].version if self._log else self._forgotten

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
        if since >= self.version:
            return []
        return self._log[since + 1 - self._log[0].version :]

    def forget(self, version: int) -> None:
        """Drop the changes up to `version`; a later `watch` from an earlier version fails."""
        if self._log:
            dropped = max(min(version, self.version) + 1 - self._log[0].version, 0)
            self._forgotten = max(self._forgotten, min(version, self.version))
            del self._log[:dropped]

    def put(self, key: Ref, data: Object) -> None:
        """Add or replace an object, and log the change."""
        self._make(StoreChange(self.version + 1, key, self.get(key), data))

    def remove(self, key: Ref) -> None:
        """Remove an object that is in the table, and log the change."""
        self._make(StoreChange(self.version + 1, key, self._objects[key.kind][key], None))

    def rewind(self, version: int) -> Sequence[StoreChange]:
        """Undo the changes after `version`, newest first.

        `version`: not before the changes that were dropped by `forget`. Returns the undone changes, oldest first;
        `redo` makes them again.
        """
        undone = list(self.watch(version))
        while self.version > version:
            last = self._log[-1]
            self._set(last.key, last.before)
            self._log.pop()
        return undone

    def redo(self, changes: Iterable[StoreChange]) -> None:
        """Make changes again that `rewind` has undone."""
        for change in changes:
            self._make(change)

    def replace_all(self, objects: Iterable[Object], version: int) -> None:
        """Replace all objects and the version of the table; a later `watch` from an earlier version fails."""
        self._objects = {}
        for data in objects:
            key = key_of(data)
            self._objects.setdefault(key.kind, {})[key] = data
        self._forgotten = version
        self._log = []

    def _make(self, change: StoreChange) -> None:
        # Logged before it is made: `rewind` may undo a change that an interrupt kept from being made.
        self._log.append(change)
        self._set(change.key, change.after)

    def _set(self, key: Ref, data: Object | None) -> None:
        kept = self._objects.setdefault(key.kind, {})
        if data is None:
            kept.pop(key, None)
        else:
            kept[key] = data


def _in_order(key: Ref) -> tuple[bytes, bytes]:
    return key.namespace.encode(), key.name.encode()
