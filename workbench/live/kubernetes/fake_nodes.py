"""`FakeNodes`: kubelets of nodes that do not exist, and what else a bare API server lacks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from datetime import UTC, datetime

from workbench.control.kinds import Ref
from workbench.control.kubelets import Behaviour, Kubelets
from workbench.control.reconciler import Reconciler
from workbench.control.reconcilers.garbage import GarbageCollector
from workbench.control.reconcilers.replicas import ReplicaReconciler
from workbench.control.store import Object, StoreChange
from workbench.errors import StoreError
from workbench.live.kubernetes.api_store import ApiStore
from workbench.live.kubernetes.apply import FAKE_NODE
from workbench.live.kubernetes.loop import KINDS, Loop, Tell
from workbench.live.kubernetes.mirror import without_managed_fields
from workbench.live.kubernetes.writer import Writer

__all__ = ["FakeNodes"]

#: Seconds between two signs of life of a node, and seconds after which a node without one counts as lost.
_BEAT_S, _LEASE_S = 10.0, 40

_LEASES = "kube-node-lease"


class FakeNodes(Loop):
    """Kubelets of the nodes that `workbench.live.kubernetes.apply.apply` made.

    Parameters
    ----------
    behaviour : Behaviour, optional
        How long pods take to start and to run; None: they start at once and run until they are deleted.
    bare : bool
        True: the API server stands alone, so garbage is collected and the replicas of Deployments and StatefulSets are
        made here, too. False: Kubernetes' own controllers run; they take a node for lost that gives no sign of life.
    tell : callable, optional
        Called with each line of the log.
    """

    def __init__(
        self, connection: Writer, behaviour: Behaviour | None = None, *, bare: bool = True, tell: Tell | None = None
    ) -> None:
        self._behaviour = behaviour or Behaviour()
        self._bare = bare
        self._fake: set[str] = set()
        kinds = (*KINDS, "Service", "NetworkPolicy") if bare else ("Node", "Pod")
        super().__init__(ApiStore(connection, kinds, self._kept), tell)

    def _kept(self, kind: str, data: Object) -> Object | None:
        """What the mirror keeps of an object; None for pods on nodes that have a kubelet of their own."""
        metadata = data["metadata"]
        if kind == "Node" and FAKE_NODE in (metadata.get("annotations") or {}):
            self._fake.add(metadata["name"])
        if kind == "Pod" and (node := data["spec"].get("nodeName")) and node not in self._fake:
            return None
        return without_managed_fields(kind, data)

    def _stages(self) -> Sequence[Sequence[Reconciler]]:
        parts = self.store, self.clock, self.log
        kubelets = Kubelets(*parts, behaviour=self._behaviour)
        if not self._bare:
            return ((kubelets,), (Heartbeats(*parts),))
        return ((kubelets,), (GarbageCollector(*parts),), (ReplicaReconciler(*parts),))


class Heartbeats(Reconciler):
    """Renews the Lease of each fake node, by which Kubernetes sees that the node lives."""

    kinds = frozenset({"Node"})

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Return a node that is new and fake."""
        fake = change.after is not None and FAKE_NODE in (change.after["metadata"].get("annotations") or {})
        return [change.key] if fake and change.before is None else []

    def reconcile(self, key: Hashable) -> float | None:
        """Renew the Lease of a node; returns the time at which that is due again."""
        assert isinstance(key, Ref)
        node = self.store.get(key)
        if node is None:
            return None
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": key.name, "leaseDurationSeconds": _LEASE_S, "renewTime": now}
        lease = Ref("Lease", _LEASES, key.name)
        try:
            self.store.patch(lease, {"spec": spec})
        except StoreError as error:
            if error.reason != "NotFound":
                raise
            owner = {"apiVersion": "v1", "kind": "Node", "name": key.name, "uid": node["metadata"]["uid"]}
            metadata = {"name": key.name, "namespace": _LEASES, "ownerReferences": [owner]}
            data = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            self.store.create(data)
        return self.clock.now + _BEAT_S
