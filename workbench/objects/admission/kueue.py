"""Admission of Kueue's own objects: Topology, ResourceFlavor, Workload, and its queues (`kueue_queues`).

Source: Kueue 0.19, the rules in the CustomResourceDefinitions (apis/kueue/v1beta2) and the webhook of Workloads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.model.kueue_names import TOPOLOGY_ANNOTATIONS
from workbench.model.labels import HOSTNAME_LABEL
from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.objects.admission.kueue_queues import (
    admission_check_faults,
    cluster_queue_faults,
    cohort_faults,
    flavor_change_faults,
    flavor_node_faults,
    local_queue_faults,
    schema_fault,
)
from workbench.objects.admission.schema import Fault
from workbench.objects.fields import child, get_int, get_map, get_maps, get_text, get_texts, group_kind
from workbench.objects.metadata import is_stored
from workbench.objects.pod import PodTemplate, read_template
from workbench.objects.top_owner import KUEUE_QUEUE_LABEL, TopOwner, top_owner_reader

if TYPE_CHECKING:
    from workbench.objects.admission.kueue_annotations import AnnotatedPods

__all__ = [
    "KUEUE_KINDS",
    "is_kueue_kind",
    "judge_of",
    "kueue_change_findings",
    "kueue_findings",
    "owner_annotation_faults",
    "pod_annotation_faults",
    "template_annotation_faults",
    "unknown_levels",
]

#: (API group, kind) of Kueue's objects that are reviewed.
KUEUE_KINDS = frozenset(
    ("kueue.x-k8s.io", kind)
    for kind in ("Topology", "ResourceFlavor", "Workload", "ClusterQueue", "Cohort", "LocalQueue", "AdmissionCheck")
)

_MOST_LEVELS, _LONGEST_LEVEL = 16, 316
_LEVEL = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
_MOST_POD_SETS = 8


def is_kueue_kind(data: Mapping[str, Any]) -> bool:
    """Whether an object is of one of `KUEUE_KINDS`."""
    return group_kind(data) in KUEUE_KINDS


def kueue_findings(data: Mapping[str, Any]) -> list[Fault]:
    """Violations for which a cluster with Kueue refuses a new object of one of `KUEUE_KINDS`, in Kueue's words.

    Raises InputError: a field of the wrong type.
    """
    spec = get_map(data, "spec", "")
    match data.get("kind"):
        case "Topology":
            return _level_faults(_levels(spec))
        case "ResourceFlavor":
            return _flavor_faults(spec)
        case "ClusterQueue":
            return cluster_queue_faults(spec)
        case "Cohort":
            return cohort_faults(spec)
        case "LocalQueue":
            return local_queue_faults(spec)
        case "AdmissionCheck":
            return admission_check_faults(spec)
        case _:
            return _pod_set_faults(spec)


def kueue_change_findings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Fault]:
    """Violations for which a cluster with Kueue refuses a change of an object of one of `KUEUE_KINDS`.

    Raises InputError: a field of the wrong type.

    `before`, `after`: the manifest before and after the change.
    """
    found = kueue_findings(after)
    old, new = get_map(before, "spec", ""), get_map(after, "spec", "")
    if after.get("kind") == "Topology":
        was, now = _levels(old), _levels(new)
        if was != now and (was[-1:] != [HOSTNAME_LABEL] or now[-1:] != [HOSTNAME_LABEL]):
            text = f"levels are mutable only when {HOSTNAME_LABEL} is the lowest level both before and after the change"
            found.append(schema_fault("spec.levels", text))
    if after.get("kind") == "ResourceFlavor":
        found += flavor_change_faults(old, new)
    for kind, key in (("LocalQueue", "clusterQueue"), ("AdmissionCheck", "controllerName")):
        if after.get("kind") == kind and old.get(key) != new.get(key):
            found.append(schema_fault(f"spec.{key}", "field is immutable"))
    return found


def pod_annotation_faults(annotations: Mapping[str, str], path: str, count: int | None = None) -> list[Fault]:
    """Violations that Kueue finds in the annotations of a pod, or of a pod template, that stands by itself.

    `path`: path of the metadata with the annotations. `count`: number of pods made from the template; None: unknown.
    """
    if not any(name in annotations for name in TOPOLOGY_ANNOTATIONS):
        return []
    from workbench.objects.admission.kueue_annotations import AnnotatedPods, annotation_faults

    return [one.fault for one in annotation_faults([AnnotatedPods("main", annotations, count, path)])]


def template_annotation_faults(data: Mapping[str, Any]) -> list[Fault]:
    """Violations of Kueue's annotations in the pod templates of a new Job of Volcano, Deployment or StatefulSet.

    Kueue refuses the pods, so that the object is worth as little as a refused JobSet.
    """
    if is_stored(data):
        return []
    spec = get_map(data, "spec", "")
    holders = get_maps(spec, "tasks", "spec") if data["kind"] == "Job" else [("spec", spec)]
    return [
        fault
        for path, holder in holders
        for fault in pod_annotation_faults(
            read_template(holder, path).annotations, f"{path}.template.metadata", get_int(holder, "replicas", path)
        )
    ]


def owner_annotation_faults(owner: TopOwner) -> list[Fault]:
    """Violations that Kueue finds in the annotations of the pod templates of an object, such as a JobSet."""
    if not _asks(owner.templates):
        return []
    from workbench.objects.admission.kueue_annotations import annotation_faults

    return [one.fault for one in annotation_faults(_annotated(owner))]


def unknown_levels(owner: TopOwner, levels: Collection[str] | None) -> list[Notice]:
    """Warnings about annotations that name a level of no Topology: Kueue accepts the object and never admits it.

    `levels`: node labels that are levels of known Topologies; None: no Topology is known, and there are no warnings.
    """
    if levels is None or not _asks(owner.templates):
        return []
    from workbench.objects.kueue.annotations import topology_request

    found = []
    for each in _annotated(owner):
        with suppress(InputError):
            request = topology_request(each.annotations)
            named = request.levels if request is not None else ()
            for level in sorted({*named}.difference(levels)):
                where = child(each.path, "annotations")
                text = f"{where}: no Topology of the input has the level {level}: Kueue will never admit the pods"
                found.append(Notice("unknown-level", text, where))
    return found


def judge_of(data: Mapping[str, Any], release: Release) -> str:
    """Whose admission `workbench.objects.admission.review` models for a kind of object, for the summary of a review."""
    if is_kueue_kind(data):
        return "Kueue (0.19)"
    read = top_owner_reader(data)
    if read is None and data.get("kind") != "StatefulSet":
        return f"Volcano ({release.value})"
    with suppress(InputError):
        labels = get_texts(get_map(data, "metadata", ""), "labels", "metadata")
        templates = (read_template(get_map(data, "spec", ""), "spec"),) if read is None else read(data).templates
        if _asks(templates) or KUEUE_QUEUE_LABEL in labels:
            return "Kueue (0.19)"
    return "the checks of the fields that are read"


def _asks(templates: Iterable[PodTemplate]) -> bool:
    return any(name in each.annotations for each in templates for name in TOPOLOGY_ANNOTATIONS)


def _annotated(owner: TopOwner) -> list[AnnotatedPods]:
    from workbench.objects.admission.kueue_annotations import AnnotatedPods

    return [
        AnnotatedPods(each.name, each.template.annotations, each.count, child(each.template.path, "metadata"))
        for each in owner.pods
    ]


def _levels(spec: Mapping[str, Any]) -> list[str]:
    return [get_text(item, "nodeLabel", path) for path, item in get_maps(spec, "levels", "spec")]


def _level_faults(levels: list[str]) -> list[Fault]:
    path, found = "spec.levels", []
    if not levels:
        found.append(schema_fault(path, f"{path} in body should have at least 1 items"))
    if len(levels) > _MOST_LEVELS:
        found.append(schema_fault(path, f"must have at most {_MOST_LEVELS} items"))
    for i, level in enumerate(levels):
        where = f"{path}[{i}].nodeLabel"
        if not 1 <= len(level) <= _LONGEST_LEVEL:
            found.append(schema_fault(where, f"{where} in body should have 1 to {_LONGEST_LEVEL} characters"))
        elif re.fullmatch(_LEVEL, level, re.ASCII) is None:
            found.append(schema_fault(where, f"{json.dumps(level)}: {where} in body should match '{_LEVEL}'"))
        if level in levels[:i]:
            found.append(schema_fault(where, f"{json.dumps(level)}: must be unique"))
    if HOSTNAME_LABEL in levels[:-1]:
        where = f"{path}[{levels.index(HOSTNAME_LABEL)}].nodeLabel"
        found.append(
            schema_fault(where, f"the {HOSTNAME_LABEL} label can only be used at the lowest level of topology")
        )
    return found


def _flavor_faults(spec: Mapping[str, Any]) -> list[Fault]:
    found = flavor_node_faults(spec)
    if get_text(spec, "topologyName", "spec") and not get_texts(spec, "nodeLabels", "spec"):
        found.append(schema_fault("spec", "at least one nodeLabel is required when topology is set"))
    return found


def _pod_set_faults(spec: Mapping[str, Any]) -> list[Fault]:
    """What is wrong in the pod sets of a Workload: their number, and sizes of slices without a level or a size."""
    sets = list(get_maps(spec, "podSets", "spec"))
    found = []
    if not sets:
        found.append(schema_fault("spec.podSets", "spec.podSets in body should have at least 1 items"))
    if len(sets) > _MOST_POD_SETS:
        found.append(schema_fault("spec.podSets", f"must have at most {_MOST_POD_SETS} items"))
    for path, item in sets:
        request, where = get_map(item, "topologyRequest", path), child(path, "topologyRequest")
        level = get_text(request, "podSetSliceRequiredTopology", where)
        size = get_int(request, "podSetSliceSize", where)
        size_path = child(where, "podSetSliceSize")
        if level and size is None:
            text = "must be set when 'podSetSliceRequiredTopology' is specified"
            found.append(Fault(size_path, f"{size_path}: Required value: {text}"))
        elif size is not None and not level:
            text = "may not be set when 'podSetSliceRequiredTopology' is not specified"
            found.append(Fault(size_path, f"{size_path}: Forbidden: {text}"))
        if size is not None and size <= 0:
            found.append(Fault(size_path, f"{size_path}: Invalid value: {size}: must be greater than 0"))
        key = "podsetSliceRequiredTopologyConstraints"
        for layer_path, layer in get_maps(request, key, where):
            layer_size = get_int(layer, "size", layer_path) or 0
            if layer_size <= 0:
                at = child(layer_path, "size")
                found.append(Fault(at, f"{at}: Invalid value: {layer_size}: must be greater than 0"))
    return found
