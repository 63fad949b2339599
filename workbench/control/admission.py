"""Admission in the write path of a store: what the API server and Volcano's webhooks do with an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from workbench.control.kinds import Ref, key_of, resource_of
from workbench.control.memory_store import MemoryStore
from workbench.control.store import Object
from workbench.errors import CapacityError, InputError, StoreError
from workbench.jobs.expand import check_job
from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.model.value import Working
from workbench.objects.admission import REVIEWED_KINDS, Known, notes_of, review
from workbench.objects.admission.gpu_group import refuse_gpu_group
from workbench.objects.admission.job import job_queue_findings
from workbench.objects.admission.job_update import refuse_job_update
from workbench.objects.admission.known import KnownQueue, with_defaults
from workbench.objects.admission.kueue import is_kueue_kind, kueue_change_findings
from workbench.objects.deployment import read_replica_owner
from workbench.objects.fields import get_map, get_text
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import read_metadata
from workbench.objects.pod import read_template

__all__ = ["Webhooks"]

#: Queues that Volcano makes itself.
_ALWAYS = {"default": KnownQueue(), "root": KnownQueue()}


class Webhooks(Working):
    """Mutating and validating webhooks of Volcano 1.15, and the parts of the API server before them.

    `warnings`: the object and the warning for each field that was accepted although it has no effect or will cause
    trouble, in the order of the writes.

    Notes
    -----
    A field that a kind does not have is dropped with a warning, as the API server does for a client that does not ask
    for strict validation. A pod with an owner is only checked for GPU groups: its template was admitted with the owner.
    """

    def __init__(self) -> None:
        self.warnings: list[tuple[Ref, Notice]] = []

    def __call__(self, store: MemoryStore, before: Object | None, after: Object) -> Object:
        """Return the object to store, which is `after` with its defaults; raises `StoreError` if `after` is refused."""
        group, _, _ = str(after.get("apiVersion") or "").rpartition("/")
        kind = str(after.get("kind"))
        key = key_of(after)
        try:
            _check_form(key, after)
            if (group, kind) not in REVIEWED_KINDS:
                if before is None:
                    self.warnings += [(key, notice) for notice in notes_of(after)]
                return after
            if before is not None:
                return self._changed(key, before, after)
            if kind == "Pod" and (after["metadata"].get("ownerReferences")):
                return _owned_pod(key, after)
            return self._new(store, key, after)
        except (InputError, CapacityError) as error:
            _refuse("Invalid", key, str(error))

    def _new(self, store: MemoryStore, key: Ref, data: Object) -> Object:
        queues = _queues(store)
        verdict = review(data, Release.V1_15, _known(store, queues), strict=False)
        if verdict.refusal:
            reason = "Invalid" if any(one.by_schema for one in verdict.findings) else "Denied"
            _refuse(reason, key, "; ".join(one.sentence for one in verdict.findings))
        stored = with_defaults(data, verdict.defaults)
        if key.kind == "PodGroup" and (queue := stored["spec"]["queue"]) not in queues:
            _refuse("Denied", key, f'unable to find queue: queue.scheduling.volcano.sh "{queue}" not found')
        if key.kind == "Job":
            check_job(stored)
            missing = job_queue_findings(stored["spec"]["queue"], queues)
            if missing:
                _refuse("Denied", key, " ".join(one.text.strip() for one in missing))
        self.warnings += [(key, notice) for notice in verdict.warnings if notice.code != "unknown-queue"]
        return stored

    def _changed(self, key: Ref, before: Object, after: Object) -> Object:
        same_spec = before.get("spec") == after.get("spec")
        if is_kueue_kind(after):
            if not same_spec and (found := kueue_change_findings(before, after)):
                _refuse("Invalid", key, "; ".join(one.sentence for one in found))
            return after
        if key.kind == "Job" and not same_spec and (text := refuse_job_update(after, before=before)):
            _refuse("Denied", key, text)
        if key.kind in ("HyperNode", "Queue", "HyperJob") and not same_spec:
            verdict = review(after, Release.V1_15, strict=False)
            if verdict.refusal:
                _refuse("Denied", key, verdict.refusal)
            self.warnings += [(key, notice) for notice in verdict.warnings]
            return with_defaults(after, verdict.defaults)
        return after


def _check_form(key: Ref, data: Object) -> None:
    """Raise InputError for an object that has the wrong type in a field that a controller reads."""
    metadata = data["metadata"]
    if key.kind == "Pod" and type(metadata.get("ownerReferences")) is list:
        # Thousands are made of one template, which was checked.
        return
    read_metadata(data, namespaced=False)
    get_map(data, "spec", "")
    match key.kind:
        case "ReplicaSet" | "StatefulSet":
            read_replica_owner(data)
            read_template(get_map(data, "spec", ""), "spec")
        case "Command":
            get_text(get_map(data, "target", ""), "name", "target")
            get_text(data, "action", "")
        case "Node" | "Device" | "PriorityClass" | "Deployment":
            ClusterObjects().add(data)


def _owned_pod(key: Ref, data: Object) -> Object:
    metadata = data["metadata"]
    text = refuse_gpu_group(metadata.get("labels") or {}, metadata.get("annotations") or {})
    if text:
        _refuse("Denied", key, text)
    return data


def _queues(store: MemoryStore) -> dict[str, KnownQueue]:
    found = dict(_ALWAYS)
    for queue in store.list("Queue"):
        state = (queue.get("status") or {}).get("state") or "Open"
        found[queue["metadata"]["name"]] = KnownQueue(state, (queue.get("spec") or {}).get("parent") or "")
    return found


def _known(store: MemoryStore, queues: Mapping[str, KnownQueue]) -> Known:
    hypernodes = store.list("HyperNode")
    tier_names = {str((one.get("spec") or {}).get("tierName") or "") for one in hypernodes}
    namespaces = {one["metadata"]["name"]: one["metadata"].get("annotations") or {} for one in store.list("Namespace")}
    return Known(queues, tier_names if hypernodes else None, namespaces)


def _refuse(reason: str, key: Ref, text: str) -> NoReturn:
    raise StoreError(reason, f'{resource_of(key.kind)} "{key.name}" is refused: {text.strip().rstrip(";")}')
