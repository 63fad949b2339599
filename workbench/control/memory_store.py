"""A store of Kubernetes objects in memory."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.control.kinds import Ref, check_stored, key_of, resource_of
from workbench.control.object_table import ObjectTable
from workbench.control.store import ENDED, Binding, Object, phase_of
from workbench.errors import ClusterError, InputError, StoreError
from workbench.model.clock import Clock

__all__ = ["MemoryStore"]

#: Admission of a new object, or of a change (the object before, and after it): the object to store.
Admit = Callable[["MemoryStore", Object | None, Object], Object]

#: Kinds whose status only a controller writes; one that a manifest brings along is dropped when it is created.
_STATUS_IS_APART = frozenset({"Pod", "Job", "PodGroup", "HyperJob", "HyperNode", "Queue"})

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253

#: Fields of metadata that the store alone writes.
_OWN = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")


def _as_submitted(store: MemoryStore, before: Object | None, after: Object) -> Object:
    return after


class MemoryStore(ObjectTable):
    """Objects in memory, as `workbench.control.store.Store` describes them.

    `clock`: gives the times of creation and deletion. `admit`: called with the store, the object before (None: it is
    new) and after every write of more than status; returns the object to store, or raises `StoreError`. None:
    everything is stored as submitted.
    """

    # `create`, and `update` and `patch` by `_replace`, ask admission; `patch_status` and `bind` do not. All end in
    # `_write`, which gives the object a new version. `adopt` stores objects of another cluster as they are.

    def __init__(self, clock: Clock, admit: Admit = _as_submitted) -> None:
        super().__init__()
        self._clock = clock
        self._admit = admit

    def latest(self, key: Ref) -> Object | None:
        """The object with identity `key`, which is always as new as that of `get`; None if it does not exist."""
        return self.get(key)

    def create(self, data: Object) -> Object:
        """Store a new object after admission has filled in its defaults."""
        key = key_of(data)
        _check_name(key)
        if self.get(key) is not None:
            raise StoreError("AlreadyExists", f'{resource_of(key.kind)} "{key.name}" already exists')
        given = data.get("metadata") or {}
        if given.get("resourceVersion"):
            raise StoreError("Invalid", "resourceVersion should not be set on objects to be created")
        metadata = {name: value for name, value in given.items() if name not in _OWN}
        if key.namespace:
            metadata["namespace"] = key.namespace
        admitted = self._admit(self, None, _without_status(key, {**data, "metadata": metadata}))
        uid = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{key}/{self.version}"))
        own = {"uid": uid, "creationTimestamp": self._clock.stamp, "generation": 1}
        return self._write(key, {**admitted, "metadata": {**admitted["metadata"], **own}})

    def adopt(self, objects: Iterable[Object]) -> None:
        """Add objects as another cluster stored them, keeping their uid, time of creation and status.

        Raises StoreError: an object has another form, or one of its identity exists already; the objects before it in
        `objects` stay in the store.
        """
        for data in objects:
            key = key_of(data)
            if self.get(key) is not None:
                raise StoreError("AlreadyExists", f'{resource_of(key.kind)} "{key.name}" already exists')
            try:
                check_stored(data)
            except InputError as error:
                raise StoreError("Invalid", f'{resource_of(key.kind)} "{key.name}" is invalid: {error}') from None
            self._write(key, data)

    def update(self, data: Object) -> Object:
        """Replace an object by `data`, except its status, uid and time of creation, which stay."""
        key = key_of(data)
        before = self._known(key)
        self._unchanged_since(key, before, data)
        return self._replace(key, before, {**data, "status": before.get("status")})

    def patch(self, key: Ref, change: Object) -> Object:
        """Change an object by a JSON merge patch (RFC 7396), which leaves status alone."""
        before = self._known(key)
        self._unchanged_since(key, before, change)
        return self._replace(key, before, {**_merged(before, change), "status": before.get("status")})

    def patch_status(self, key: Ref, status: Object) -> Object:
        """Replace fields of an object's status; a field set to None is removed."""
        before = self._known(key)
        old = before.get("status") or {}
        new = {name: value for name, value in {**old, **status}.items() if value is not None}
        return before if new == old else self._write(key, {**before, "status": new})

    def bind(self, key: Ref, node: str, annotations: Mapping[str, str]) -> Object:
        """Give a pod its node, and write annotations on it.

        `node`: name of its node. `annotations`: added to those that the pod has.
        """
        before = self._known(key)
        has = before["spec"].get("nodeName")
        if has:
            text = f'Operation cannot be fulfilled on pods/binding "{key.name}": pod {key.name} is already assigned to'
            raise StoreError("Conflict", f'{text} node "{has}"')
        metadata = before["metadata"]
        if annotations:
            metadata = {**metadata, "annotations": {**(metadata.get("annotations") or {}), **annotations}}
        return self._write(key, {**before, "metadata": metadata, "spec": {**before["spec"], "nodeName": node}})

    def bind_all(self, bindings: Sequence[Binding]) -> Sequence[ClusterError | None]:
        """Bind pods as `bind` does, each on its own; returns for each why it was not bound, or None."""
        found: list[ClusterError | None] = []
        for binding in bindings:
            try:
                self.bind(*binding)
                found.append(None)
            except StoreError as error:
                found.append(error)
        return found

    def delete(self, key: Ref, *, now: bool = False) -> None:
        """Delete an object, or mark it as terminating."""
        before = self._known(key)
        metadata = before["metadata"]
        waits = key.kind == "Pod" and not now and _is_alive(before)
        if not waits and not metadata.get("finalizers"):
            self.remove(key)
        elif not metadata.get("deletionTimestamp"):
            marked = {**metadata, "deletionTimestamp": self._clock.stamp}
            self._write(key, {**before, "metadata": marked})

    def _known(self, key: Ref) -> Object:
        found = self.get(key)
        if found is None:
            raise StoreError("NotFound", f'{resource_of(key.kind)} "{key.name}" not found')
        return found

    def _unchanged_since(self, key: Ref, before: Object, data: Object) -> None:
        """Refuse a write whose resourceVersion or uid is given and differs from that of the stored object."""
        given, has = data.get("metadata") or {}, before["metadata"]
        for name in ("resourceVersion", "uid"):
            if given.get(name) and given[name] != has.get(name):
                text = "the object has been modified; please apply your changes to the latest version and try again"
                what = f'Operation cannot be fulfilled on {resource_of(key.kind)} "{key.name}"'
                raise StoreError("Conflict", f"{what}: {text}")

    def _replace(self, key: Ref, before: Object, data: Object) -> Object:
        has = before["metadata"]
        kept = {name: has[name] for name in _OWN if name in has}
        given = {name: value for name, value in (data.get("metadata") or {}).items() if name not in _OWN}
        if key.namespace:
            given["namespace"] = key.namespace
        after = {name: value for name, value in data.items() if value is not None}
        after["metadata"] = {**given, **kept}
        if after == before:
            return before
        after = dict(self._admit(self, before, after))
        if after.get("spec") != before.get("spec"):
            after["metadata"] = {**after["metadata"], "generation": (has.get("generation") or 0) + 1}
        if has.get("deletionTimestamp") and not after["metadata"].get("finalizers") and has.get("finalizers"):
            self.remove(key)
            return after
        return self._write(key, after)

    def _write(self, key: Ref, after: Object) -> Object:
        stored = {**after, "metadata": {**after["metadata"], "resourceVersion": str(self.version + 1)}}
        self.put(key, stored)
        return stored


def _is_alive(pod: Object) -> bool:
    """Whether a kubelet has to stop a pod before the pod can be removed from the store."""
    return bool((pod.get("spec") or {}).get("nodeName")) and phase_of(pod) not in ENDED


def _check_name(key: Ref) -> None:
    if not key.name:
        raise StoreError("Invalid", f"{key.kind}: metadata.name: Required value; generateName is not supported")
    what = f'{resource_of(key.kind)} "{key.name}" is invalid: metadata.name: Invalid value: "{key.name}"'
    if len(key.name) > _LONGEST_NAME:
        raise StoreError("Invalid", f"{what}: must be no more than {_LONGEST_NAME} characters")
    if not _NAME.fullmatch(key.name):
        text = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
        raise StoreError("Invalid", f"{what}: {text} start and end with an alphanumeric character")


def _without_status(key: Ref, data: Object) -> Object:
    if key.kind not in _STATUS_IS_APART or "status" not in data:
        return data
    return {name: value for name, value in data.items() if name != "status"}


def _merged(data: Any, change: Any) -> Any:
    """Return `data` after the JSON merge patch `change` (RFC 7396)."""
    if not isinstance(change, Mapping):
        return change
    whole = dict(data) if isinstance(data, Mapping) else {}
    for name, value in change.items():
        if value is None:
            whole.pop(name, None)
        else:
            whole[name] = _merged(whole.get(name), value)
    return whole
