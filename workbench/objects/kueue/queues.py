"""Kueue's ResourceFlavor, ClusterQueue, LocalQueue, Cohort and AdmissionCheck, read from manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.errors import InputError
from workbench.model.extras import Extra
from workbench.model.kueue import Flavor
from workbench.model.kueue_queues import ClusterQueue, Cohort, FlavorQuotas, QueueCheck, Quota
from workbench.model.kueue_request import KueueObjects
from workbench.model.labels import Taint, Toleration
from workbench.model.resources import MAX_AMOUNT
from workbench.objects.cluster_part import ClusterPart
from workbench.objects.fields import (
    child,
    get_int,
    get_list,
    get_map,
    get_maps,
    get_text,
    get_text_list,
    get_texts,
    wrong,
)
from workbench.objects.metadata import Metadata, read_metadata
from workbench.objects.quantity import parse_quantity, to_base_units

__all__ = [
    "AdmissionCheckPart",
    "ClusterQueuePart",
    "CohortPart",
    "FlavorPart",
    "LocalQueuePart",
    "TopologyPart",
    "read_admission_check",
    "read_cluster_queue",
    "read_cohort",
    "read_local_queue",
    "read_resource_flavor",
]

_POLICIES = ("Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any")
_PROVISIONING = "kueue.x-k8s.io/provisioning-request"


@dataclass(frozen=True)
class _Part(ClusterPart):
    metadata: Metadata
    adds_to: ClassVar[type[Extra]] = KueueObjects


@dataclass(frozen=True)
class TopologyPart(_Part):
    """A Topology with its levels, widest first."""

    levels: tuple[str, ...]

    kind: ClassVar[str] = "Topology"

    @property
    def entries(self) -> Mapping[str, Any]:
        return {"topologies": {self.metadata.name: self.levels}}


@dataclass(frozen=True)
class FlavorPart(_Part):
    """A ResourceFlavor."""

    flavor: Flavor

    kind: ClassVar[str] = "ResourceFlavor"

    @property
    def entries(self) -> Mapping[str, Any]:
        return {"flavors": (self.flavor,)}


@dataclass(frozen=True)
class ClusterQueuePart(_Part):
    """A ClusterQueue."""

    queue: ClusterQueue

    kind: ClassVar[str] = "ClusterQueue"

    @property
    def entries(self) -> Mapping[str, Any]:
        return {"cluster_queues": (self.queue,)}


@dataclass(frozen=True)
class LocalQueuePart(_Part):
    """A LocalQueue and the ClusterQueue that it names."""

    cluster_queue: str

    kind: ClassVar[str] = "LocalQueue"

    @property
    def entries(self) -> Mapping[str, Any]:
        return {"local_queues": {self.metadata.key: self.cluster_queue}}


@dataclass(frozen=True)
class CohortPart(_Part):
    """A Cohort."""

    cohort: Cohort

    kind: ClassVar[str] = "Cohort"

    @property
    def entries(self) -> Mapping[str, Any]:
        return {"cohorts": (self.cohort,)}


@dataclass(frozen=True)
class AdmissionCheckPart(_Part):
    """An AdmissionCheck and the name of its controller."""

    controller: str

    kind: ClassVar[str] = "AdmissionCheck"

    @property
    def entries(self) -> Mapping[str, Any]:
        name = (self.metadata.name,)
        return {"checks": name, "provisioning": name if self.controller == _PROVISIONING else ()}


def read_resource_flavor(data: Mapping[str, Any]) -> FlavorPart:
    """Read a ResourceFlavor from a parsed manifest; raises InputError for a field of the wrong type."""
    metadata = read_metadata(data, namespaced=False)
    spec = get_map(data, "spec", "")
    taints = tuple(
        Taint(get_text(item, "key", path), get_text(item, "value", path), get_text(item, "effect", path))
        for path, item in get_maps(spec, "nodeTaints", "spec")
    )
    tolerations = tuple(
        Toleration(
            get_text(item, "key", path),
            get_text(item, "operator", path) or "Equal",
            get_text(item, "value", path),
            get_text(item, "effect", path),
        )
        for path, item in get_maps(spec, "tolerations", "spec")
    )
    topology = get_text(spec, "topologyName", "spec") or None
    labels = get_texts(spec, "nodeLabels", "spec")
    return FlavorPart(metadata, Flavor(metadata.name, topology, labels, tolerations, taints))


def read_cluster_queue(data: Mapping[str, Any]) -> ClusterQueuePart:
    """Read a ClusterQueue from a parsed manifest.

    Raises InputError: a field of the wrong type, an unknown policy, a resource in two groups, or a flavor without quota
    for a resource that its group covers.
    """
    metadata = read_metadata(data, namespaced=False)
    spec = get_map(data, "spec", "")
    preemption = get_map(spec, "preemption", "spec")
    borrowing = get_map(preemption, "borrowWithinCohort", "spec.preemption")
    fungibility = get_map(spec, "flavorFungibility", "spec")
    borrow = get_text(fungibility, "whenCanBorrow", "spec.flavorFungibility")
    preempt = get_text(fungibility, "whenCanPreempt", "spec.flavorFungibility")
    threshold = get_int(borrowing, "maxPriorityThreshold", "spec.preemption.borrowWithinCohort")
    cohort = get_text(spec, "cohortName", "spec") or get_text(spec, "cohort", "spec")
    policy = get_text(borrowing, "policy", "spec.preemption.borrowWithinCohort")
    queue = ClusterQueue(
        metadata.name,
        cohort,
        _groups(spec),
        _policy(preemption, "withinClusterQueue"),
        _policy(preemption, "reclaimWithinCohort"),
        policy == "LowerPriority",
        threshold,
        borrow == "TryNextFlavor",
        preempt in ("", "TryNextFlavor"),
        _checks(spec),
        get_text(spec, "queueingStrategy", "spec") == "StrictFIFO",
        get_text(spec, "stopPolicy", "spec") not in ("", "None"),
        get_text(fungibility, "preference", "spec.flavorFungibility") == "PreemptionOverBorrowing",
        _weight(spec),
    )
    return ClusterQueuePart(metadata, queue)


def read_local_queue(data: Mapping[str, Any]) -> LocalQueuePart:
    """Read a LocalQueue from a parsed manifest; raises InputError without spec.clusterQueue."""
    spec = get_map(data, "spec", "")
    name = get_text(spec, "clusterQueue", "spec")
    if not name:
        raise wrong("spec.clusterQueue", None, "the name of a ClusterQueue")
    return LocalQueuePart(read_metadata(data, namespaced=True), name)


def read_cohort(data: Mapping[str, Any]) -> CohortPart:
    """Read a Cohort from a parsed manifest; raises InputError for a field of the wrong type."""
    metadata, spec = read_metadata(data, namespaced=False), get_map(data, "spec", "")
    parent = get_text(spec, "parentName", "spec") or get_text(spec, "parent", "spec")
    return CohortPart(metadata, Cohort(metadata.name, parent, _groups(spec), _weight(spec)))


def read_admission_check(data: Mapping[str, Any]) -> AdmissionCheckPart:
    """Read an AdmissionCheck from a parsed manifest; raises InputError for a field of the wrong type."""
    spec = get_map(data, "spec", "")
    return AdmissionCheckPart(read_metadata(data, namespaced=False), get_text(spec, "controllerName", "spec"))


def _weight(spec: Mapping[str, Any]) -> float | None:
    given = get_map(spec, "fairSharing", "spec").get("weight")
    if given is None:
        return None
    try:
        weight = parse_quantity(str(given))
        return float(weight if weight < MAX_AMOUNT else MAX_AMOUNT)
    except InputError as error:
        raise error.at(where="spec.fairSharing.weight") from None


def _policy(preemption: Mapping[str, Any], key: str) -> str:
    found = get_text(preemption, key, "spec.preemption") or "Never"
    if found not in _POLICIES:
        raise wrong(child("spec.preemption", key), found, ", ".join(_POLICIES))
    return found


def _groups(spec: Mapping[str, Any]) -> tuple[tuple[FlavorQuotas, ...], ...]:
    groups, covered = [], set[str]()
    for path, item in get_maps(spec, "resourceGroups", "spec"):
        names = get_list(item, "coveredResources", path)
        for name in names:
            if type(name) is not str or name in covered:
                raise wrong(child(path, "coveredResources"), name, "names of resources, each in one group")
            covered.add(name)
        flavors = [_flavor_quotas(flavor, where, names) for where, flavor in get_maps(item, "flavors", path)]
        groups.append(tuple(flavors))
    return tuple(groups)


def _flavor_quotas(item: Mapping[str, Any], path: str, names: list[str]) -> FlavorQuotas:
    flavor = get_text(item, "name", path)
    if not flavor:
        raise wrong(child(path, "name"), None, "the name of a ResourceFlavor")
    quotas = {}
    for where, resource in get_maps(item, "resources", path):
        name = get_text(resource, "name", where)
        amounts = [_amount(name, resource, key, where) for key in ("nominalQuota", "borrowingLimit", "lendingLimit")]
        if amounts[0] is None:
            raise wrong(child(where, "nominalQuota"), None, "a quantity")
        quotas[name] = Quota(amounts[0], amounts[1], amounts[2])
    if list(quotas) != names:
        found, expected = ", ".join(quotas) or "none", ", ".join(names)
        raise InputError(
            "other resources than the group covers", where=child(path, "resources"), got=found, expected=expected
        )
    return FlavorQuotas(flavor, quotas)


def _amount(resource: str, data: Mapping[str, Any], key: str, where: str) -> int | None:
    if data.get(key) is None:
        return None
    try:
        return to_base_units(resource, data[key])
    except InputError as error:
        raise error.at(where=child(where, key)) from None


def _checks(spec: Mapping[str, Any]) -> tuple[QueueCheck, ...]:
    names = get_text_list(spec, "admissionChecks", "spec")
    found = [QueueCheck(name) for name in names]
    where = "spec.admissionChecksStrategy"
    for path, item in get_maps(get_map(spec, "admissionChecksStrategy", "spec"), "admissionChecks", where):
        flavors = get_text_list(item, "onFlavors", path)
        found.append(QueueCheck(get_text(item, "name", path), tuple(flavors)))
    return tuple(found)
