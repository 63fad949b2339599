"""The controller of PodGroups: groups for pods that no Job makes, such as bare pods and those of a ReplicaSet."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable

from workbench.control.event_log import EventLog
from workbench.control.kinds import Ref
from workbench.control.reconciler import Owned, Reconciler
from workbench.control.store import Object, Store, StoreChange
from workbench.errors import InputError, StoreError
from workbench.jobs.pod_group_of_pods import group_name
from workbench.jobs.wanted_pod_group import GroupStep, next_pod_group
from workbench.model.clock import Clock
from workbench.objects.metadata import read_metadata
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION

__all__ = ["PodGroupReconciler"]

_OWNERS = ("ReplicaSet", "StatefulSet")


class PodGroupReconciler(Reconciler):
    """Keeps the PodGroup of each pod that has none yet, and of each ReplicaSet and StatefulSet.

    The rules are those of `workbench.jobs.next_pod_group`; a Job's own controller keeps the PodGroup of the Job.

    `store`, `clock`, `log`: as for `workbench.control.reconciler.Reconciler`. `schedulers`: values of schedulerName
    whose pods get a PodGroup; a pod without schedulerName gets one, too.
    """

    kinds = frozenset({"Pod", *_OWNERS})

    def __init__(self, store: Store, clock: Clock, log: EventLog, schedulers: Collection[str] = ("volcano",)) -> None:
        self._schedulers = schedulers
        super().__init__(store, clock, log)

    def _begin(self) -> None:
        self._owned = Owned()

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Return the changed object if it is a pod without group and node, or an owner with new spec or annotations."""
        self._owned.observe(change)
        before, after = change.before, change.after
        if after is None:
            return []
        if change.key.kind == "Pod":
            grouped = GROUP_NAME_ANNOTATION in (after["metadata"].get("annotations") or {})
            return [] if grouped or after["spec"].get("nodeName") else [change.key]
        if (
            before is not None
            and before.get("spec") is after.get("spec")
            and _annotations(before) == _annotations(after)
        ):
            return []
        return [change.key]

    def reconcile(self, key: Hashable) -> float | None:
        """Write the PodGroup of a pod or of an owner of pods, and make the pod a member."""
        assert isinstance(key, Ref)
        item = self.store.get(key)
        if item is None or item["metadata"].get("deletionTimestamp"):
            return None
        try:
            self._carry_out(key.namespace, self._step(key, item))
        except (InputError, StoreError) as error:
            self.log.say(self.clock.now, key, "FailedSync", str(error), warning=True)
        return None

    def _step(self, key: Ref, item: Object) -> GroupStep:
        if key.kind == "Pod":
            metadata = read_metadata(item, namespaced=True)
            controller = metadata.controller
            owner = None if controller is None else self.store.get(Ref(controller.kind, key.namespace, controller.name))
            return next_pod_group(
                item, self._group(key.namespace, group_name(metadata)), schedulers=self._schedulers, owner=owner
            )
        found = [self.store.get(pod) for pod in self._owned.of(item["metadata"]["uid"]) if pod.kind == "Pod"]
        pods = [pod for pod in found if pod is not None]
        stored = self._group(key.namespace, f"podgroup-{item['metadata']['uid']}")
        return next_pod_group(item, stored, schedulers=self._schedulers, pods=pods)

    def _group(self, namespace: str, name: str) -> Object | None:
        return self.store.get(Ref("PodGroup", namespace, name))

    def _carry_out(self, namespace: str, step: GroupStep) -> None:
        if step.write is not None:
            name = step.write["metadata"]["name"]
            stored = self._group(namespace, name)
            if stored is None:
                self.store.create(step.write)
            else:
                self.store.update({**stored, "spec": step.write["spec"]})
            if step.member:
                annotations = {GROUP_NAME_ANNOTATION: name}
                self.store.patch(Ref("Pod", namespace, step.member), {"metadata": {"annotations": annotations}})
        elif step.member:
            pod = self.store.get(Ref("Pod", namespace, step.member))
            if pod is not None and GROUP_NAME_ANNOTATION not in _annotations(pod):
                annotations = {GROUP_NAME_ANNOTATION: group_name(read_metadata(pod, namespaced=True))}
                self.store.patch(Ref("Pod", namespace, step.member), {"metadata": {"annotations": annotations}})
        gone = Ref("PodGroup", namespace, step.delete)
        if step.delete and self.store.get(gone) is not None:
            self.store.delete(gone)


def _annotations(data: Object) -> dict[str, str]:
    return data["metadata"].get("annotations") or {}
