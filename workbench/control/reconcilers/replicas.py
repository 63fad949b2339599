"""The controller of Deployments, ReplicaSets and StatefulSets: creates and deletes pods to match their replicas."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from typing import Any

from workbench.control.kinds import Ref
from workbench.control.reconciler import Owned, Reconciler, controller_of
from workbench.control.store import ENDED, Object, StoreChange, phase_of
from workbench.jobs.create_pod import name_like_random

__all__ = ["ReplicaReconciler"]

_SUFFIX = 5
_HASH = "pod-template-hash"


class ReplicaReconciler(Reconciler):
    """Keeps the pods of ReplicaSets and StatefulSets, and the ReplicaSet of each Deployment.

    Notes
    -----
    Names that Kubernetes draws at random are derived from the owner's name. A Deployment whose template changed deletes
    its old pods at once (as with the strategy Recreate). Pods that finished are replaced; a StatefulSet does not wait
    for one pod before it creates the next.
    """

    kinds = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "Pod"})

    def _begin(self) -> None:
        self._owned = Owned()

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Return the changed object, unless it is a pod or was deleted, and the owner, if any, that controls it."""
        self._owned.observe(change)
        data = change.after or change.before
        assert data is not None
        owner = controller_of(data)
        keys = [] if change.key.kind == "Pod" or change.after is None else [change.key]
        if owner is not None and owner.get("kind") in self.kinds:
            keys.append(Ref(owner["kind"], change.key.namespace, str(owner.get("name") or "")))
        return keys

    def reconcile(self, key: Hashable) -> float | None:
        """Create what an owner lacks, delete what it has too many of, and count its pods."""
        assert isinstance(key, Ref)
        owner = self.store.get(key)
        if owner is None or owner["metadata"].get("deletionTimestamp"):
            return None
        if key.kind == "Deployment":
            self._deployment(key, owner)
        else:
            self._pods(key, owner)
        return None

    def _deployment(self, key: Ref, owner: Object) -> None:
        template = _template(owner)
        code = name_like_random(json.dumps(template, sort_keys=True))[:10]
        current = Ref("ReplicaSet", key.namespace, f"{key.name}-{code}")
        for one, found in self._objects_of(owner).items():
            if one != current and (found.get("spec") or {}).get("replicas"):
                self.store.patch(one, {"spec": {"replicas": 0}})
        replicas = _replicas(owner)
        stored = self.store.get(current)
        if stored is not None:
            if (stored.get("spec") or {}).get("replicas") != replicas:
                self.store.patch(current, {"spec": {"replicas": replicas}})
            return
        labels = {**(template.get("metadata", {}).get("labels") or {}), _HASH: code}
        made = {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}}
        selector = dict((owner.get("spec") or {}).get("selector") or {})
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), _HASH: code}
        metadata = {
            "name": current.name,
            "namespace": key.namespace,
            "labels": labels,
            "annotations": dict(owner["metadata"].get("annotations") or {}),
            "ownerReferences": [_reference(owner)],
        }
        spec = {"replicas": replicas, "selector": selector, "template": made}
        self.store.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec})

    def _pods(self, key: Ref, owner: Object) -> None:
        mine = {one.name: pod for one, pod in self._objects_of(owner).items()}
        wanted = [_pod_name(key, index) for index in range(_replicas(owner))]
        for name, pod in mine.items():
            finished = phase_of(pod) in ENDED
            if (name not in wanted or finished) and not pod["metadata"].get("deletionTimestamp"):
                self.store.delete(Ref("Pod", key.namespace, name), now=finished)
        for index, name in enumerate(wanted):
            if self.store.get(Ref("Pod", key.namespace, name)) is None:
                self.store.create(_pod(key, owner, name, index))
        alive = [pod for name, pod in mine.items() if name in wanted]
        running = sum(phase_of(pod) == "Running" for pod in alive)
        status: dict[str, Any] = {
            "replicas": len(alive) or None,
            "readyReplicas": running or None,
            "availableReplicas": running or None,
        }
        if key.kind == "StatefulSet":
            status["updateRevision"] = _revision(owner)
        self.store.patch_status(key, status)

    def _objects_of(self, owner: Object) -> dict[Ref, Object]:
        """The existing objects of an owner, by identity."""
        found = ((key, self.store.get(key)) for key in self._owned.of(owner["metadata"]["uid"]))
        return {key: data for key, data in found if data is not None}


def _pod(key: Ref, owner: Object, name: str, index: int) -> dict[str, Any]:
    template = _template(owner)
    metadata = template.get("metadata") or {}
    labels = dict(metadata.get("labels") or {})
    if key.kind == "StatefulSet":
        labels |= {
            "controller-revision-hash": _revision(owner),
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": str(index),
        }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": key.namespace,
            "labels": labels,
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [_reference(owner)],
        },
        "spec": template.get("spec") or {},
    }


def _pod_name(key: Ref, index: int) -> str:
    if key.kind == "StatefulSet":
        return f"{key.name}-{index}"
    return f"{key.name}-{name_like_random(f'{key.namespace}/{key.name}/{index}')[:_SUFFIX]}"


def _revision(owner: Object) -> str:
    code = name_like_random(json.dumps(_template(owner), sort_keys=True))[:10]
    return f"{owner['metadata']['name']}-{code}"


def _template(owner: Object) -> dict[str, Any]:
    return dict((owner.get("spec") or {}).get("template") or {})


def _replicas(owner: Object) -> int:
    found = (owner.get("spec") or {}).get("replicas")
    return 1 if found is None else int(found)


def _reference(owner: Object) -> dict[str, Any]:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
