"""The garbage collector: deletes objects whose owners are all gone, and pods whose node is gone."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from workbench.control.kinds import Ref, is_known, owner_key
from workbench.control.reconciler import Owned, Reconciler, owner_uids
from workbench.control.store import Object, StoreChange

__all__ = ["GarbageCollector"]


class GarbageCollector(Reconciler):
    """Deletes objects whose owners are all gone; owners are identified by uid, as in Kubernetes.

    An object that names an owner which never existed is deleted as well, and so is a pod bound to a Node that was
    deleted, which then counts as evicted. Watches of two kinds are not ordered, so an object may be seen before its
    owner: before anything is deleted, the store is asked for the owner as it is at this moment. An owner of a kind
    that the workbench does not know counts as existing.
    """

    kinds = frozenset(
        {
            "Pod",
            "Node",
            "Job",
            "PodGroup",
            "HyperJob",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
            "Service",
            "ConfigMap",
            "Secret",
            "NetworkPolicy",
            "PersistentVolumeClaim",
        }
    )

    def _begin(self) -> None:
        self._alive: set[str] = set()
        self._owned = Owned()
        self._on_node: dict[str, dict[Ref, None]] = {}

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Remember the owners and the node of the changed object; return the objects that may have to be deleted.

        These are the objects that a deleted one owned, the pods on a deleted Node, and a new object that names an owner
        or a node.
        """
        key, before, after = change.key, change.before, change.after
        self._owned.observe(change)
        if after is None:
            assert before is not None
            uid = before["metadata"].get("uid") or ""
            self._alive.discard(uid)
            self._on_node.get(_node(before), {}).pop(key, None)
            return [*self._owned.of(uid), *sorted(self._on_node.get(key.name, ()) if key.kind == "Node" else ())]
        node = _node(after)
        if node and (before is None or not _node(before)):
            self._on_node.setdefault(node, {})[key] = None
        if before is not None:
            return []
        self._alive.add(after["metadata"].get("uid") or "")
        return [key] if node or owner_uids(after) else []

    def reconcile(self, key: Hashable) -> float | None:
        """Delete an object if all its owners are gone, or its node."""
        assert isinstance(key, Ref)
        found = self.store.get(key)
        if found is None:
            return None
        owners = owner_uids(found)
        if owners and not self._alive.intersection(owners) and not self._owner_exists(key, found):
            self.log.say(self.clock.now, key, "Deleted", "its owner is gone")
            self.store.delete(key)
            return None
        node = _node(found)
        if node and self.store.latest(Ref("Node", "", node)) is None:
            self.log.say(self.clock.now, key, "NodeLost", f"its node {node} is gone", warning=True)
            self.store.delete(key, now=True)
        return None

    def _owner_exists(self, key: Ref, data: Object) -> bool:
        """Whether the store has an owner that the changes seen so far have not told of; it counts as alive then."""
        for owner in data["metadata"]["ownerReferences"]:
            named, uid = owner_key(owner, key.namespace), owner.get("uid") or ""
            stored = self.store.latest(named) if is_known(named.kind) else None
            if not is_known(named.kind) or (stored is not None and stored["metadata"].get("uid") == uid):
                self._alive.add(uid)
                return True
        return False


def _node(data: Object) -> str:
    return str((data.get("spec") or {}).get("nodeName") or "") if data.get("kind") == "Pod" else ""
