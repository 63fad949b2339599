"""Kueue's Workload, read from manifests: pod sets that wait for quota, or that hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.model.clock import seconds_of
from workbench.model.extras import Extra
from workbench.model.gang import Gang, Role
from workbench.model.kueue import PodSet, PreferredTerm, SliceLayer, TopologyRequest
from workbench.model.kueue_queues import PodSetAdmission, QueuedWorkload, WorkloadAdmission
from workbench.model.kueue_request import KueueObjects, KueueRequest, KueueRole
from workbench.model.labels import NodeFilter
from workbench.objects.cluster_part import ClusterPart
from workbench.objects.fields import child, get_bool, get_count, get_int, get_map, get_maps, get_text, get_texts, wrong
from workbench.objects.gang_request import GangRequest
from workbench.objects.kueue.assignment import read_assignment
from workbench.objects.metadata import Metadata, StatusCondition, read_metadata, read_status_conditions
from workbench.objects.node_terms import read_node_term
from workbench.objects.pod import PodTemplate, read_template
from workbench.objects.quantity import read_resources

__all__ = ["KueueWorkload", "read_workload_object"]

_STARTS = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class KueueWorkload(GangRequest, ClusterPart):
    """A Workload: what one job asks of Kueue, and what Kueue admitted it with.

    Its gang is that of the object that owns it, such as a Job; without one in the input, the pending pod sets are a
    gang of their own.

    `templates`: templates of the pod sets, in their order. `queued`: the workload as Kueue's scheduler sees it; its
    ClusterQueue is empty, but for one that holds quota. `active`: whether it may be admitted: it is not deactivated and
    has not finished. `conditions`: what Kueue says about it.
    """

    local_queue: str
    pod_sets: tuple[PodSet, ...]
    templates: tuple[PodTemplate, ...]
    queued: QueuedWorkload
    active: bool
    conditions: tuple[StatusCondition, ...] = ()

    kind: ClassVar[str] = "Workload"
    adds_to: ClassVar[type[Extra]] = KueueObjects

    @property
    def gang(self) -> str:
        owner = self.metadata.controller
        return f"{self.metadata.namespace}/{owner.name}" if owner is not None else self.metadata.key

    @property
    def extra(self) -> KueueRequest:
        roles = tuple(
            KueueRole(each.name, each.topology, each.min_count, each.preferred_affinity)
            for each in self.pod_sets
            if each.topology is not None or each.min_count is not None or each.preferred_affinity
        )
        return KueueRequest(self.local_queue, roles, self.metadata.key)

    @property
    def entries(self) -> Mapping[str, Any]:
        return {"workloads": (self.queued,)} if self.queued.admission is not None else {}

    @property
    def own_gang(self) -> Gang | None:
        if not self.active or self.queued.admission is not None:
            return None
        roles = tuple(
            Role(
                pod_set.name,
                pod_set.count,
                pod_set.requests,
                template.spec.container_gpus,
                filter=template.spec.filter,
                priority=self.queued.priority,
                labels=template.labels,
                annotations=template.annotations,
                assumed=template.spec.assumed,
            )
            for pod_set, template in zip(self.pod_sets, self.templates, strict=True)
        )
        fewest = (each.count if each.min_count is None else each.min_count for each in self.pod_sets)
        return Gang(
            self.metadata.namespace,
            self.metadata.name,
            roles,
            sum(fewest),
            queue=self.local_queue or "default",
            priority=self.queued.priority,
            kind="Workload",
            created=self.metadata.created,
            uid=self.metadata.uid,
            resource_version=self.metadata.resource_version,
        )


def read_workload_object(data: Mapping[str, Any]) -> KueueWorkload:
    """Read a Workload from a parsed manifest.

    Raises InputError: no pod set, two of one name, or a field of the wrong type.
    """
    metadata = read_metadata(data, namespaced=True)
    spec, status = get_map(data, "spec", ""), get_map(data, "status", "")
    sets: list[PodSet] = []
    templates: list[PodTemplate] = []
    for path, item in get_maps(spec, "podSets", "spec"):
        pod_set, template = _pod_set(item, path)
        if pod_set.name in {each.name for each in sets}:
            raise wrong(child(path, "name"), pod_set.name, "a name that no other pod set has")
        sets.append(pod_set)
        templates.append(template)
    if not sets:
        raise wrong("spec.podSets", spec.get("podSets"), "at least one pod set")
    conditions = _conditions(status)
    admission = _admission(status) if "QuotaReserved" in conditions else None
    owners = metadata.owners
    queued = QueuedWorkload(
        metadata.key,
        admission.cluster_queue if admission is not None else "",
        tuple(sets),
        get_int(spec, "priority", "spec") or 0,
        seconds_of(metadata.created),
        metadata.uid,
        conditions.get("QuotaReserved"),
        admission,
        "Admitted" in conditions,
        {get_text(x, "name", p): get_text(x, "state", p) for p, x in get_maps(status, "admissionChecks", "status")},
        tuple(get_text(item, "name", path) for path, item in get_maps(status, "unhealthyNodes", "status")),
        [(owner.kind, owner.api_version) for owner in owners] == [("Pod", "v1")] and not _is_pod_group(metadata),
        "Evicted" in conditions,
    )
    active = get_bool(spec, "active", "spec", True) and "Finished" not in conditions
    queue = get_text(spec, "queueName", "spec")
    said = read_status_conditions(data)
    return KueueWorkload(metadata, queue, tuple(sets), tuple(templates), queued, active, said)


def _is_pod_group(metadata: Metadata) -> bool:
    return "kueue.x-k8s.io/is-group-workload" in metadata.annotations


def _pod_set(item: Mapping[str, Any], path: str) -> tuple[PodSet, PodTemplate]:
    template = read_template(item, path)
    name = get_text(item, "name", path) or "main"
    fewest = get_int(item, "minCount", path)
    given = template.spec.filter
    request = _topology(item, path)
    pod_set = PodSet(
        name,
        get_count(item, "count", path, 1),
        template.spec.requests,
        request,
        _selector(given),
        given.tolerations,
        given.any_of,
        _preferred(get_map(item, "template", path), child(path, "template")),
        min_count=fewest,
    )
    return pod_set, template


def _selector(given: NodeFilter) -> dict[str, str]:
    return {each.key: each.values[0] for each in given.required}


def _topology(item: Mapping[str, Any], path: str) -> TopologyRequest | None:
    if item.get("topologyRequest") is None:
        return None
    where = child(path, "topologyRequest")
    request = get_map(item, "topologyRequest", path)
    layers = tuple(
        SliceLayer(get_text(layer, "topology", at), get_int(layer, "size", at) or 0)
        for at, layer in get_maps(request, "podsetSliceRequiredTopologyConstraints", where)
    )
    level = get_text(request, "podSetSliceRequiredTopology", where)
    if level and not layers:
        layers = (SliceLayer(level, get_int(request, "podSetSliceSize", where) or 0),)
    asked = request.get("unconstrained")
    return TopologyRequest(
        get_text(request, "required", where) or None,
        get_text(request, "preferred", where) or None,
        None if asked is None else get_bool(request, "unconstrained", where),
        layers,
        get_text(request, "podSetGroupName", where) or None,
        get_text(request, "podIndexLabel", where) or None,
        get_text(request, "subGroupIndexLabel", where) or None,
        get_int(request, "subGroupCount", where),
    )


def _preferred(template: Mapping[str, Any], path: str) -> tuple[PreferredTerm, ...]:
    where = child(path, "spec.affinity.nodeAffinity")
    affinity = get_map(get_map(template, "spec", path), "affinity", child(path, "spec"))
    node_affinity = get_map(affinity, "nodeAffinity", child(path, "spec.affinity"))
    return tuple(
        PreferredTerm(
            get_int(item, "weight", at) or 0,
            read_node_term(get_map(item, "preference", at), child(at, "preference")),
        )
        for at, item in get_maps(node_affinity, _STARTS, where)
    )


def _admission(status: Mapping[str, Any]) -> WorkloadAdmission | None:
    admission = get_map(status, "admission", "status")
    if not admission:
        return None
    path = "status.admission"
    sets = []
    for where, item in get_maps(admission, "podSetAssignments", path):
        assignment = get_map(item, "topologyAssignment", where)
        sets.append(
            PodSetAdmission(
                get_text(item, "name", where) or "main",
                get_texts(item, "flavors", where),
                read_resources(item, "resourceUsage", where),
                get_count(item, "count", where, 0),
                read_assignment(assignment, child(where, "topologyAssignment")) if assignment else None,
                get_text(item, "delayedTopologyRequest", where) or None,
            )
        )
    return WorkloadAdmission(get_text(admission, "clusterQueue", path), tuple(sets))


def _conditions(status: Mapping[str, Any]) -> dict[str, float | None]:
    """Seconds at which each condition that holds began to."""
    return {
        get_text(item, "type", path): seconds_of(get_text(item, "lastTransitionTime", path))
        for path, item in get_maps(status, "conditions", "status")
        if get_text(item, "status", path) == "True"
    }
