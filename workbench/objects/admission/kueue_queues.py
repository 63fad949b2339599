"""Admission of Kueue's queues: ClusterQueue, Cohort, LocalQueue, AdmissionCheck, and the nodes of a ResourceFlavor.

Source: Kueue 0.19, the rules in the CustomResourceDefinitions (apis/kueue/v1beta2) and the webhooks (pkg/webhooks).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.errors import InputError
from workbench.objects.admission.schema import Fault
from workbench.objects.fields import child, get_list, get_map, get_maps, get_text, get_texts
from workbench.objects.quantity import parse_quantity

__all__ = [
    "admission_check_faults",
    "cluster_queue_faults",
    "cohort_faults",
    "flavor_change_faults",
    "flavor_node_faults",
    "local_queue_faults",
    "schema_fault",
]

_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LONGEST_NAME, _MOST_TAINTS, _MOST_GROUPS, _MOST_IN_GROUP, _MOST_IN_QUEUE = 253, 8, 16, 64, 256

#: Fields of a ClusterQueue with the values that the schema knows.
_CHOICES = (
    ("spec", "queueingStrategy", ("StrictFIFO", "BestEffortFIFO")),
    ("spec", "stopPolicy", ("None", "Hold", "HoldAndDrain")),
    ("spec.preemption", "reclaimWithinCohort", ("Never", "LowerPriority", "Any")),
    ("spec.preemption", "withinClusterQueue", ("Never", "LowerPriority", "LowerOrNewerEqualPriority")),
    ("spec.preemption.borrowWithinCohort", "policy", ("Never", "LowerPriority")),
    # Borrow and Preempt are the names of MayStopSearch in v1beta1.
    ("spec.flavorFungibility", "whenCanBorrow", ("MayStopSearch", "TryNextFlavor", "Borrow")),
    ("spec.flavorFungibility", "whenCanPreempt", ("MayStopSearch", "TryNextFlavor", "Preempt")),
    ("spec.flavorFungibility", "preference", ("BorrowingOverPreemption", "PreemptionOverBorrowing")),
)


def schema_fault(path: str, text: str) -> Fault:
    """A violation of the schema of a kind."""
    return Fault(path, f"{path}: Invalid value: {text}", by_schema=True)


def _invalid(path: str, value: str, text: str) -> Fault:
    return Fault(path, f"{path}: Invalid value: {json.dumps(value)}: {text}")


def _duplicate(path: str, value: str) -> Fault:
    return Fault(path, f"{path}: Duplicate value: {json.dumps(value)}")


def _unsupported(path: str, value: str, known: Iterable[str], *, by_schema: bool) -> Fault:
    values = ", ".join(map(json.dumps, known))
    text = f"{path}: Unsupported value: {json.dumps(value)}: supported values: {values}"
    return Fault(path, text, by_schema=by_schema)


def _name_faults(data: Mapping[str, Any], key: str, path: str) -> Iterator[Fault]:
    """Faults of a field that names another object; an empty field names none."""
    name, where = get_text(data, key, path), child(path, key)
    if len(name) > _LONGEST_NAME:
        yield Fault(where, f"{where}: Too long: may not be more than {_LONGEST_NAME} bytes", by_schema=True)
    elif name and re.fullmatch(_NAME, name, re.ASCII) is None:
        yield schema_fault(where, f"{json.dumps(name)}: {where} in body should match '{_NAME}'")


def cluster_queue_faults(spec: Mapping[str, Any]) -> list[Fault]:
    """Violations in a ClusterQueue: unknown values, quotas against each other, and flavors of admission checks.

    Raises InputError: a field of the wrong type.
    """
    cohort_key = "cohortName" if "cohortName" in spec else "cohort"
    found = [*_name_faults(spec, cohort_key, "spec")]
    for path, key, known in _CHOICES:
        holder = spec
        for step in path.split(".")[1:]:
            holder = get_map(holder, step, path.rpartition(".")[0])
        value = get_text(holder, key, path)
        if value and value not in known:
            found.append(_unsupported(child(path, key), value, known, by_schema=True))
    preemption = get_map(spec, "preemption", "spec")
    borrowing = get_text(get_map(preemption, "borrowWithinCohort", "spec.preemption"), "policy", "spec.preemption")
    reclaim = get_text(preemption, "reclaimWithinCohort", "spec.preemption") or "Never"
    if reclaim == "Never" and borrowing not in ("", "Never"):
        found.append(schema_fault("spec.preemption", "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"))
    found += _weight_faults(spec)
    found += _group_faults(spec, "cohort", bool(get_text(spec, cohort_key, "spec")), lends_at_most_nominal=True)
    return found + list(_check_faults(spec))


def _weight_faults(spec: Mapping[str, Any]) -> list[Fault]:
    path, given = "spec.fairSharing", get_map(spec, "fairSharing", "spec").get("weight")
    if given is None:
        return []
    try:
        weight = parse_quantity(str(given))
    except InputError as error:
        raise error.at(where=f"{path}.weight") from None
    if weight < 0:
        return [_invalid(path, str(given), "must be greater than or equal to 0")]
    return [_invalid(path, str(given), "When not 0, weight must be > 10e-9")] if 0 < weight <= 1e-9 else []


def cohort_faults(spec: Mapping[str, Any]) -> list[Fault]:
    """Violations in a Cohort; its quotas as those of a ClusterQueue, but it may lend more than it has.

    Raises InputError: a field of the wrong type.
    """
    key = "parentName" if "parentName" in spec else "parent"
    found = [*_name_faults(spec, key, "spec"), *_weight_faults(spec)]
    return found + _group_faults(spec, "parent", bool(get_text(spec, key, "spec")), lends_at_most_nominal=False)


def local_queue_faults(spec: Mapping[str, Any]) -> list[Fault]:
    """Violations in a LocalQueue; raises InputError for a field of the wrong type."""
    found = [*_name_faults(spec, "clusterQueue", "spec")]
    stop, known = get_text(spec, "stopPolicy", "spec"), ("None", "Hold", "HoldAndDrain")
    if stop and stop not in known:
        found.append(_unsupported("spec.stopPolicy", stop, known, by_schema=True))
    return found


def admission_check_faults(spec: Mapping[str, Any]) -> list[Fault]:
    """Violations in an AdmissionCheck; raises InputError for a field of the wrong type."""
    path = "spec.controllerName"
    if get_text(spec, "controllerName", "spec"):
        return []
    return [schema_fault(path, f"{path} in body should be at least 1 chars long")]


def _group_faults(spec: Mapping[str, Any], above: str, has_above: bool, *, lends_at_most_nominal: bool) -> list[Fault]:
    """Violations in the resource groups of a queue or a cohort, whose parent is `above`."""
    path, found, seen_resources, seen_flavors = "spec.resourceGroups", list[Fault](), set[str](), set[str]()
    groups = list(get_maps(spec, "resourceGroups", "spec"))
    if len(groups) > _MOST_GROUPS:
        found.append(schema_fault(path, f"must have at most {_MOST_GROUPS} items"))
    for where, group in groups:
        names = [str(name) for name in get_list(group, "coveredResources", where)]
        flavors = list(get_maps(group, "flavors", where))
        for key, items in (("coveredResources", names), ("flavors", flavors)):
            at = child(where, key)
            if not items:
                found.append(schema_fault(at, f"{at} in body should have at least 1 items"))
            if len(items) > _MOST_IN_GROUP:
                found.append(schema_fault(at, f"must have at most {_MOST_IN_GROUP} items"))
        for i, name in enumerate(names):
            if name in seen_resources:
                found.append(_duplicate(f"{where}.coveredResources[{i}]", name))
            seen_resources.add(name)
        for at, flavor in flavors:
            quotas = list(get_maps(flavor, "resources", at))
            if len(quotas) != len(names):
                text = "flavors must have the same number of resources as the coveredResources"
                found.append(schema_fault(where, text))
            for (quota_path, quota), name in zip(quotas, names, strict=False):
                given = get_text(quota, "name", quota_path)
                if given != name:
                    text = "must match the name in coveredResources"
                    found.append(_invalid(child(quota_path, "name"), given, text))
                found += _quota_faults(quota, quota_path, "" if has_above else above, lends_at_most_nominal)
            named = get_text(flavor, "name", at)
            if named in seen_flavors:
                found.append(_duplicate(child(at, "name"), named))
            seen_flavors.add(named)
    for what, count in (("flavors", len(seen_flavors)), ("covered resources", len(seen_resources))):
        if count > _MOST_IN_QUEUE:
            text = f"total number of {what} across all resourceGroups must be ≤ {_MOST_IN_QUEUE}, got {count}"
            found.append(Fault(path, f"{path}: Invalid value: {count}: {text}"))
    return found


def _quota_faults(quota: Mapping[str, Any], path: str, missing: str, lends_at_most_nominal: bool) -> Iterator[Fault]:
    """Violations in one quota; `missing`: what it would borrow from and lend to, if there is no such thing."""
    amounts = {}
    for key in ("nominalQuota", "borrowingLimit", "lendingLimit"):
        if quota.get(key) is None:
            continue
        where, text = child(path, key), str(quota[key])
        try:
            amounts[key] = parse_quantity(text)
        except InputError as error:
            raise error.at(where=where) from None
        if missing and key != "nominalQuota":
            yield _invalid(where, text, f"must be nil when {missing} is empty")
        if amounts[key] < 0:
            yield _invalid(where, text, "must be greater than or equal to 0")
    lends, nominal = amounts.get("lendingLimit"), amounts.get("nominalQuota", 0)
    if lends_at_most_nominal and lends is not None and lends > nominal:
        where = child(path, "lendingLimit")
        yield _invalid(where, str(quota["lendingLimit"]), "must be less than or equal to the nominalQuota")


def _check_faults(spec: Mapping[str, Any]) -> Iterator[Fault]:
    """Admission checks for flavors that the ClusterQueue does not have."""
    flavors = {
        get_text(flavor, "name", path): None
        for where, group in get_maps(spec, "resourceGroups", "spec")
        for path, flavor in get_maps(group, "flavors", where)
    }
    strategy = get_map(spec, "admissionChecksStrategy", "spec")
    for path, check in get_maps(strategy, "admissionChecks", "spec.admissionChecksStrategy"):
        for i, name in enumerate(get_list(check, "onFlavors", path)):
            if name not in flavors:
                yield _unsupported(f"{path}.onFlavors[{i}]", str(name), sorted(flavors), by_schema=False)


def flavor_node_faults(spec: Mapping[str, Any]) -> list[Fault]:
    """Violations in the labels, taints and tolerations of a ResourceFlavor.

    Raises InputError: a field of the wrong type.
    """
    found, known = [], ", ".join(f"'{effect}'" for effect in _EFFECTS)
    if len(get_texts(spec, "nodeLabels", "spec")) > _MOST_TAINTS:
        found.append(schema_fault("spec.nodeLabels", f"must have at most {_MOST_TAINTS} items"))
    seen: set[tuple[str, str]] = set()
    for key in ("nodeTaints", "tolerations"):
        items, path = list(get_maps(spec, key, "spec")), child("spec", key)
        if len(items) > _MOST_TAINTS:
            found.append(schema_fault(path, f"must have at most {_MOST_TAINTS} items"))
        for where, item in items:
            effect = get_text(item, "effect", where)
            if effect not in _EFFECTS and (effect or key == "nodeTaints"):
                found.append(schema_fault(path, f"supported taint effect values: {known}"))
            if key == "tolerations":
                found += [schema_fault(path, text) for text in _toleration_texts(item, where)]
            elif (pair := (get_text(item, "key", where), effect)) in seen:
                text = (
                    f"{where}: Duplicate value: {json.dumps(dict(item))}: taints must be unique by key and effect pair"
                )
                found.append(Fault(where, text))
            else:
                seen.add(pair)
    return found


def _toleration_texts(item: Mapping[str, Any], path: str) -> Iterator[str]:
    operator = get_text(item, "operator", path)
    if not get_text(item, "key", path) and operator != "Exists":
        yield "operator must be Exists when 'key' is empty, which means 'match all values and all keys'"
    if item.get("tolerationSeconds") is not None and get_text(item, "effect", path) != "NoExecute":
        yield "effect must be 'NoExecute' when 'tolerationSeconds' is set"
    if operator not in ("", "Equal", "Exists"):
        yield "supported toleration values: 'Equal'(default), 'Exists'"
    if operator == "Exists" and get_text(item, "value", path):
        yield "a value must be empty when 'operator' is 'Exists'"


def flavor_change_faults(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Fault]:
    """Violations of a change of a ResourceFlavor: the fields that choose its nodes are fixed if it names a topology.

    Raises InputError: a field of the wrong type.

    `before`, `after`: the spec before and after the change.
    """
    was_named = get_text(before, "topologyName", "spec")
    if not was_named:
        return []
    found = [
        schema_fault(f"spec.{key}", f"{key} are immutable when topologyName is set")
        for key in ("nodeLabels", "tolerations")
        if (before.get(key) or None) != (after.get(key) or None)
    ]
    if get_text(after, "topologyName", "spec") != was_named:
        found.append(schema_fault("spec.topologyName", "topologyName is immutable when topologyName is set"))
    return found
