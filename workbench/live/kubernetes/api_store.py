"""`ApiStore`: a real API server as the store through which reconcilers see a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any, NoReturn

from workbench.control.kinds import Ref, api_path, key_of, resource_of
from workbench.control.store import Binding, Object
from workbench.errors import ClusterError, InternalError, StoreError
from workbench.live.kubernetes.connection import NoSuchApi
from workbench.live.kubernetes.mirror import Mirror
from workbench.live.kubernetes.writer import JSON_PATCH, MERGE_PATCH, Writer

__all__ = ["ApiStore"]

#: Bindings that are sent at a time.
_AT_A_TIME = 8

#: Times that an unconditional write is tried when others write the same object.
_TRIES = 5


class ApiStore(Mirror):
    """The objects of a live cluster, as `workbench.control.store.Store` describes them.

    A `Mirror` that can also write. What is written is in the mirror as soon as the API server has answered, so that a
    reconciler sees its own writes. An object of a kind that is not mirrored is read from the API server at each `get`.

    `kinds`: kinds that are mirrored and watched. Secrets must not be among them: they are read by name only. `keep`: as
    for `Mirror`.
    """

    # Reads are the `Mirror`'s. A write goes to the API server, and its answer into the mirror (`_kept`), so that the
    # next read sees it. Where others write at the same time, a change is made again on the newest state (`_insisting`).

    connection: Writer

    def __init__(
        self,
        connection: Writer,
        kinds: Sequence[str],
        keep: Callable[[str, Object], Object | None] | None = None,
    ) -> None:
        super().__init__(connection, kinds, keep)
        #: Bindings so far: ``bound``, or the reason why not.
        self.bindings: Counter[str] = Counter()
        self._pool = ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="bind")

    def close(self) -> None:
        """Stop to watch, and end all requests; a further one is refused."""
        super().close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    # -----------------------------------------------------------------------------------------------------------------
    # reading
    # -----------------------------------------------------------------------------------------------------------------

    def get(self, key: Ref) -> Object | None:
        """The object with identity `key`; None if it does not exist."""
        return super().get(key) if key.kind in self.kinds else self.latest(key)

    def latest(self, key: Ref) -> Object | None:
        """The object as the API server has it at this moment; None if it does not exist.

        What is read does not enter the mirror.
        """
        try:
            return self.connection.get_object(api_path(*key))
        except NoSuchApi:
            return None

    # -----------------------------------------------------------------------------------------------------------------
    # writing
    # -----------------------------------------------------------------------------------------------------------------

    def create(self, data: Object) -> Object:
        """Store a new object after admission has filled in its defaults."""
        key = key_of(data)
        body = {**data, "metadata": {**(data.get("metadata") or {})}}
        if key.namespace:
            body["metadata"]["namespace"] = key.namespace
        return self.put(self.connection.write("POST", api_path(key.kind, key.namespace), body))

    def update(self, data: Object) -> Object:
        """Replace an object by `data`, except its status, uid and time of creation, which stay."""
        key = key_of(data)
        given = data.get("metadata") or {}
        if given.get("resourceVersion"):
            return self.put(self.connection.write("PUT", api_path(*key), data))

        def attempt(stored: Object) -> Any:
            has = stored["metadata"]
            metadata = {**given, "resourceVersion": has["resourceVersion"]}
            return self.connection.write("PUT", api_path(*key), {**data, "metadata": metadata})

        return self._insisting(key, attempt)

    def patch(self, key: Ref, change: Object) -> Object:
        """Change an object by a JSON merge patch (RFC 7396), which leaves status alone."""
        wanted = (change.get("metadata") or {}).get("uid")
        known = self.get(key)
        if wanted and known is not None and known["metadata"].get("uid") != wanted:
            # The API server would call a change of uid invalid.
            _changed_meanwhile(key)
        after = self.connection.write("PATCH", api_path(*key), change, MERGE_PATCH)
        return self._kept(after)

    def patch_status(self, key: Ref, status: Object) -> Object:
        """Replace fields of an object's status; a field set to None is removed."""

        def attempt(stored: Object) -> Any:
            has = stored.get("status") or {}
            # Only what is there can be removed.
            new = {name: value for name, value in status.items() if value is not None or name in has}
            if all(has.get(name) == value for name, value in new.items()):
                return stored
            steps: list[dict[str, Any]] = [{"op": "test", "path": "/metadata/uid", "value": stored["metadata"]["uid"]}]
            if "status" not in stored:
                steps.append({"op": "add", "path": "/status", "value": {}})
            steps += [_step(name, value) for name, value in sorted(new.items())]
            return self.connection.write("PATCH", f"{api_path(*key)}/status", steps, JSON_PATCH)

        return self._insisting(key, attempt)

    def bind(self, key: Ref, node: str, annotations: Mapping[str, str]) -> Object:
        """Give a pod its node, and write annotations on it; ``Conflict`` if it has a node already.

        `node`: name of its node. `annotations`: added to those that the pod has.
        """
        outcome = self.bind_all([Binding(key, node, annotations)])[0]
        if isinstance(outcome, ClusterError):
            raise outcome
        found = self.get(key)
        assert found is not None
        return found

    def bind_all(self, bindings: Sequence[Binding]) -> Sequence[ClusterError | None]:
        """Bind pods, several at a time; returns for each why it was not bound, or None."""
        uids = [self._uid(one.pod) for one in bindings]
        try:
            found = list(self._pool.map(self._bind_one, bindings, uids))
        except (RuntimeError, CancelledError):
            if not self._stopped.is_set():
                raise
            raise ClusterError("the pods are not bound: the store was closed meanwhile") from None
        for binding, outcome in zip(bindings, found, strict=True):
            self.bindings["bound" if outcome is None else getattr(outcome, "reason", "Unknown")] += 1
            if outcome is None:
                self.bound(*binding)
        return found

    def _bind_one(self, binding: Binding, uid: str) -> ClusterError | None:
        key = binding.pod
        # With the uid, a pod that was deleted and created anew since it was seen is not bound unseen.
        metadata: dict[str, Any] = {"name": key.name, "namespace": key.namespace, "uid": uid}
        if binding.annotations:
            metadata["annotations"] = dict(binding.annotations)
        target = {"apiVersion": "v1", "kind": "Node", "name": binding.node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        try:
            self.connection.write("POST", f"{api_path(*key)}/binding", body)
        except ClusterError as error:
            return error
        return None

    def delete(self, key: Ref, *, now: bool = False) -> None:
        """Delete an object, or mark it as terminating; finalizers hold it back also if `now` is set."""
        known = self.get(key)
        uid = "" if known is None else str(known["metadata"]["uid"])
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if now:
            options["gracePeriodSeconds"] = 0
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            answer = self.connection.write("DELETE", api_path(*key), options)
        except StoreError as error:
            if error.reason != "NotFound" or not uid:
                raise
            # Another client was faster.
            self.removed(key, uid)
            return
        self._kept(answer, key, uid)

    def _kept(self, answer: Object, key: Ref | None = None, uid: str = "") -> Object:
        """Take over the answer to a write after which the object may be gone."""
        if answer.get("kind") == "Status":
            assert key is not None
            self.removed(key, uid)
            return answer
        key = key or key_of(answer)
        metadata = answer["metadata"]
        ends = metadata.get("deletionTimestamp") and not metadata.get("deletionGracePeriodSeconds")
        if ends and not metadata.get("finalizers"):
            self.removed(key, str(metadata["uid"]))
            return answer
        return self.put(answer)

    def _insisting(self, key: Ref, attempt: Any) -> Object:
        """The object after a write that is tried again on its newest state when others change it at the same time."""
        stored = self.get(key)
        for left in reversed(range(_TRIES)):
            if stored is None:
                raise StoreError("NotFound", f'{resource_of(key.kind)} "{key.name}" not found')
            try:
                return self.put(attempt(stored))
            except StoreError as error:
                if not left or error.reason not in ("Conflict", "Invalid"):
                    raise
                newest = self.latest(key)
                if newest is not None and _version(newest) == _version(stored):
                    raise
                stored = newest
        raise InternalError("a write was neither done nor given up")

    def _uid(self, key: Ref) -> str:
        known = self.get(key)
        return "" if known is None else str(known["metadata"]["uid"])


def _version(data: Object) -> str:
    return str(data["metadata"]["resourceVersion"])


def _step(name: str, value: Any) -> dict[str, Any]:
    """The step of a JSON patch (RFC 6902) that writes or removes one field of a status."""
    path = f"/status/{name.replace('~', '~0').replace('/', '~1')}"
    return {"op": "remove", "path": path} if value is None else {"op": "add", "path": path, "value": value}


def _changed_meanwhile(key: Ref) -> NoReturn:
    text = "the object has been modified; please apply your changes to the latest version and try again"
    what = f'Operation cannot be fulfilled on {resource_of(key.kind)} "{key.name}"'
    raise StoreError("Conflict", f"{what}: {text}")
